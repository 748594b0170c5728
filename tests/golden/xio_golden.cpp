// SPDX-License-Identifier: MIT
//
// xio-golden FILE...   replays golden files: what the vendors' own drivers stored, rang and reported is compared with
// what
//                      this library does with the same request.
// xio-golden --list-skips
//
// Exit status: 0 all cases passed or were skipped with a reason, 1 a case failed, 2 a file cannot be read or has an
// unknown form. 1 too where what it prints cannot be written.

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "golden.hpp"
#include "skips.hpp"
#include "tester/cli/output.hpp"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_unreadable = 2;

void list_skips() {
  std::printf("| vendor | case or rule | reason |\n|---|---|---|\n");
  for (const auto& skipped : golden::skipped_cases) {
    std::printf("| %s | id `%s` | %s |\n", skipped.vendor, skipped.id, skipped.reason);
  }
  for (const auto& rule : golden::skip_rules) {
    std::printf("| %s | rule `%s` | %s |\n", rule.vendor, rule.name, rule.reason);
  }
  std::printf("| encoders alone | reason |\n|---|---|\n");
  for (const auto& rule : golden::encoders_rules) std::printf("| `%s` | %s |\n", rule.name, rule.reason);
}

int replay(const char* path) {
  std::ifstream stream(path);
  if (!stream) {
    std::fprintf(stderr, "xio-golden: %s: cannot be read\n", path);
    return exit_unreadable;
  }
  try {
    const golden::Json file = golden::Json::parse(stream);
    if (!file.is_object() || !file.contains("vendor") || !file["vendor"].is_string()) {
      throw golden::UnknownForm("it does not name its vendor");
    }
    const auto vendor = file["vendor"].get<std::string>();
    const golden::Handler handler = golden::find_handler(vendor);
    if (!handler) {
      throw golden::UnknownForm("vendor \"" + vendor + "\" has no handler here; known: " + golden::known_vendors());
    }
    golden::Report report(path, vendor);
    handler(file, report);
    report.finish();
    return report.failed() == 0 ? 0 : exit_failed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "xio-golden: %s: %s\n", path, error.what());
    return exit_unreadable;
  }
}

int run(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list-skips") == 0) {
    list_skips();
    return 0;
  }
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: xio-golden FILE...\n       xio-golden --list-skips\n");
    return exit_unreadable;
  }
  int worst = 0;
  for (int i = 1; i < argc; ++i) {
    const int status = replay(argv[i]);
    if (status > worst) worst = status;
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  return tester::with_checked_output("xio-golden", [&] { return run(argc, argv); });
}
