// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <xio/host/clock.hpp>
#include <xio/host/error.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/version.hpp>

#include "tester/cache/run.hpp"
#include "tester/cli/errors.hpp"
#include "tester/cli/invocation.hpp"
#include "tester/cli/output.hpp"
#include "tester/clock/run.hpp"
#include "tester/doctor/doctor.hpp"
#include "tester/kv/run.hpp"
#include "tester/nvme/endpoint.hpp"
#include "tester/nvme/info.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/run.hpp"
#include "tester/rdma/run.hpp"
#include "tester/report/options.hpp"
#include "tester/tool.hpp"

namespace {

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "xio-tester: %s\n", tester::one_line(message).c_str());
  return status;
}

/// Help command of the given sub-command, for a hint.
std::string help_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return "xio-tester " + (chosen.empty() ? std::string() : chosen.front()->get_name() + " ") + "--help";
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* one : app.get_options([](const CLI::Option*) { return true; }))
    for (const std::string& name : one->get_lnames()) flags.push_back("--" + name);
  return flags;
}

/// The part of a word that is compared.
std::string letters_of(const std::string& word) {
  const size_t begin = std::min(word.find_first_not_of('-'), word.size());
  std::string letters = word.substr(begin, std::min(word.find('='), word.size()) - begin);
  for (char& c : letters) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// Edit distance: insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t differences(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] =
          std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

/// Whether one word is a prefix or a suffix of the other.
bool is_part(const std::string& one, const std::string& other) {
  const std::string& part = one.size() < other.size() ? one : other;
  const std::string& whole = one.size() < other.size() ? other : one;
  if (part.size() < 4) return false;
  return whole.compare(0, part.size(), part) == 0 || whole.compare(whole.size() - part.size(), part.size(), part) == 0;
}

/// The one of `words` closest to `typed`; empty if none is close. Letter case, leading dashes and a value after '=' are
/// ignored. A word is close if at most one in three letters differs (swapped neighbours are one difference), or if one
/// word is a prefix or suffix of the other, with at least four letters.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words) {
  const std::string wanted = letters_of(typed);
  std::string nearest;
  size_t least = wanted.size() / 3 + 1;
  for (const std::string& word : words) {
    const size_t count = differences(wanted, letters_of(word));
    if (count >= least) continue;
    nearest = word;
    least = count;
  }
  if (!nearest.empty()) return nearest;
  const auto part = std::find_if(words.begin(), words.end(),
                                 [&](const std::string& word) { return is_part(letters_of(word), wanted); });
  return part == words.end() ? "" : *part;
}

/// "; did you mean --read-io?" if a similar word exists, else empty.
std::string did_you_mean(const std::string& typed, const std::vector<std::string>& words) {
  const std::string nearest = nearest_word(typed, words);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

/// Error text for a first word that is not a sub-command.
std::string no_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> accepted = commands_of(app);
  std::string list;
  for (const std::string& name : accepted) list += (list.empty() ? "" : ", ") + name;
  for (const std::string& flag : flags_of(app)) accepted.push_back(flag);
  return word + " is no sub-command" + did_you_mean(word, accepted) + "; sub-commands are " + list;
}

/// Error text for an argument that no flag consumed.
std::string not_expected(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  // Arguments before the sub-command remain with the program.
  const CLI::App& command = app.remaining().empty() && !chosen.empty() ? *chosen.front() : app;
  const std::string word = command.remaining().front();
  const std::string kind = word[0] == '-' ? "flag" : "argument";
  return "'" + word + "' is no " + kind + " of " + command.get_name() + did_you_mean(word, flags_of(command)) +
         (&command == &app ? "; the flags of a sub-command follow it" : "");
}

void remember_flags(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options([](const CLI::Option* one) { return one->count() != 0; })) {
    const bool takes_value = option->get_expected_max() != 0;
    if (!takes_value) tester::given_flags().emplace_back(option->get_name(), "");
    // Of a flag that is given more than once, the last value counts, unless it takes a list.
    const auto& values = option->results();
    const bool all = option->get_items_expected_max() > 1;
    for (size_t i = all || !takes_value ? 0 : values.size() - 1; takes_value && i < values.size(); ++i)
      tester::given_flags().emplace_back(option->get_name(), values[i]);
  }
}

int run(int argc, const char* const* argv) {
  CLI::App app{"Drives I/O queues from kernels, as a GPU does: measures and verifies.", "xio-tester"};
  app.set_version_flag("--version", "xio-tester " + std::to_string(XIO_VERSION_MAJOR) + "." +
                                        std::to_string(XIO_VERSION_MINOR) + "." + std::to_string(XIO_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer("`xio-tester COMMAND --help` lists the flags of a command and shows examples.");
  tester::NvmeOptions nvme;
  tester::KvOptions kv;
  tester::TesterCacheOptions cache;
  tester::RdmaOptions rdma;
  tester::EndpointOptions endpoint;
  tester::ReportOptions report;
  tester::InfoOptions info;
  tester::ListOptions list;
  tester::DoctorOptions doctor;
  tester::ClockOptions clock;
  const CLI::App* const nvme_command = tester::add_nvme_command(app, nvme);
  const CLI::App* const kv_command = tester::add_kv_command(app, kv);
  const CLI::App* const cache_command = tester::add_cache_command(app, cache);
  const CLI::App* const rdma_command = tester::add_rdma_command(app, rdma);
  const CLI::App* const endpoint_command = tester::add_endpoint_command(app, endpoint);
  const CLI::App* const report_command = tester::add_report_command(app, report);
  const CLI::App* const info_command = tester::add_info_command(app, info);
  tester::add_list_command(app, list);
  const CLI::App* const doctor_command = tester::add_doctor_command(app, doctor);
  const CLI::App* const clock_command = tester::add_clock_command(app, clock);
  const std::string first = argc > 1 ? argv[1] : "";
  const std::vector<std::string> commands = commands_of(app);
  if (!first.empty() && first[0] != '-' && std::find(commands.begin(), commands.end(), first) == commands.end())
    return complain(no_command(app, first), tester::exit_bad_input);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const bool left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           (app.get_subcommands().empty() && !app.remaining().empty());
    return complain(
        (left_over ? not_expected(app) : std::string(error.what())) + "; " + help_of(app) + " lists what is accepted",
        tester::exit_bad_input);
  }
  remember_flags(*app.get_subcommands().front());
  // clock-test compares what the operating system says.
  if (!clock_command->parsed()) xio::host::use_time_stamp_counter();
  if (nvme_command->parsed()) return tester::run_nvme(nvme);
  if (kv_command->parsed()) return tester::run_kv(kv);
  if (cache_command->parsed()) return tester::run_cache(cache);
  if (rdma_command->parsed()) return tester::run_rdma(rdma);
  if (endpoint_command->parsed()) return tester::run_endpoint(endpoint);
  if (clock_command->parsed()) return tester::run_clock_test(clock);
  if (doctor_command->parsed()) return tester::run_doctor(doctor);
  if (report_command->parsed()) return tester::run_report(report);
  return info_command->parsed() ? tester::run_info(info) : tester::run_list(list);
}

}  // namespace

namespace tester {

int run_tool(int argc, const char* const* argv) {
  return with_checked_output("xio-tester", [&] {
    try {
      return run(argc, argv);
    } catch (const CannotRun& reason) {
      return complain(reason.what(), exit_cannot_run);
    } catch (const xio::host::Unavailable& reason) {
      return complain(reason.what(), exit_cannot_run);
    } catch (const Failed& failure) {
      return complain(failure.what(), exit_failed);
    } catch (const xio::host::ControllerFailure& failure) {
      return complain(failure.what(), exit_failed);
    } catch (const std::bad_alloc&) {
      return complain("out of memory; ask for fewer queues, a smaller depth or smaller operations", exit_bad_input);
    } catch (const std::exception& error) {
      return complain(error.what(), exit_bad_input);
    }
  });
}

}  // namespace tester
