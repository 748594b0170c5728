// SPDX-License-Identifier: MIT

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <xio/host/error.hpp>
#include <xio/host/linux/child_process.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/installed.hpp"
#include "tester/cli/output.hpp"
#include "tester/report/write.hpp"

namespace tester {

namespace {

constexpr const char* endings[] = {"md", "csv", "json", "html"};

/// Draws the plots with an external script; returns false, after a message, if that fails.
bool plot(const std::string& folder) {
  const char* const chosen = std::getenv("XIO_PYTHON");
  const std::string python = chosen == nullptr || *chosen == 0 ? "python3" : chosen;
  const std::string success = "exited with status 0";
  try {
    xio::host::ChildProcess child(
        {python, {data_path("plot_report.py", XIO_PLOT_SCRIPT), folder + "/report.json", folder}, {}});
    if (!child.wait_end(std::chrono::minutes(2))) throw xio::host::Error("the script did not end in time");
    const std::string end = child.summary();
    if (end.compare(0, success.size(), success) != 0) throw xio::host::Error(end);
    return true;
  } catch (const xio::host::Error& failure) {
    std::fprintf(stderr, "xio-tester: no plots: %s\n", one_line(failure.what()).c_str());
    return false;
  }
}

}  // namespace

std::string earlier_report(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path);
  if (!file) throw BadInput("--fio-results " + path + ": " + std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // Validates the file before anything is run.
  Report none;
  add_fio_rows(none, text, true);
  return text;
}

void make_report_folder(const std::string& path) {
  if (path.empty()) return;
  const auto refuse = [&path](const std::string& why) {
    throw BadInput("--output " + path + ": " + why + "; give a folder that can be written");
  };
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) refuse(std::strerror(errno));
  for (const char* const ending : endings) {
    const std::string why = why_not_writable(path + "/report." + ending);
    if (!why.empty()) refuse("report." + std::string(ending) + ": " + why);
  }
}

void write_report_files(const Report& report, const std::string& folder) {
  if (folder.empty()) return;
  write_file("--output", folder + "/report.csv", to_csv(report));
  write_file("--output", folder + "/report.json", to_json(report));
  // Plots of an earlier run may be present.
  const bool drawn = plot(folder);
  const std::string plots = drawn ? folder : "";
  write_file("--output", folder + "/report.md", to_markdown(report, plots));
  write_file("--output", folder + "/report.html", to_html(report, plots));
}

}  // namespace tester
