// SPDX-License-Identifier: MIT
#include "tester/report/options.hpp"

#include <limits>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/nvme/target.hpp"
#include "tester/report/plan.hpp"
#include "tester/report/tables.hpp"

namespace tester {

namespace {

void add_work(CLI::App& app, ReportOptions& o) {
  const std::string group = "Workload";
  app.add_option("--controller", o.controllers,
                 std::string(xio::host::nvme_spec_forms) + "; given more than once: stripes over all of them")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->group(group);
  add_number(app, "--namespace", o.nsid, 1, 0xfffffffe, "namespace (default 1)")->group(group);
  add_number(app, "--base-lba", o.base_lba, 0, any_number, "first logical block (default 0)")->group(group);
  add_number(app, "--span", o.span, 4096, any_number, "bytes from there on that rows access (default 64M)")
      ->group(group);
  app.add_flag("--write", o.write, "fill these bytes first, and run the table that writes: destroys their content")
      ->group(group);
  app.add_option_function<std::string>(
         "--tables", [&o](const std::string& text) { o.tables = split_list("--tables", text); },
         "tables by name (default all)")
      ->type_name("NAME,...")
      ->group(group);
  add_seconds(app, "--duration", o.duration, "seconds for each row (default 1)")->group(group);
  app.add_flag("--quick", o.quick, "a tenth of a second for each row")->group(group);
  add_number(app, "--runs", o.runs, 1, 101,
             "runs of each row; the one with the median of the IOPS is shown (default 1)")
      ->group(group);
  add_number(app, "--deadline", o.deadline_ms, 1, 3600000, "milliseconds that one operation may take (default 30000)")
      ->group(group);
  app.add_flag("--cache", o.cache, "the table of a page cache over the controllers too")->group(group);
  add_executor(app, o.executor, o.gpu, group);
}

void add_others(CLI::App& app, ReportOptions& o) {
  const std::string group = "Without a controller";
  const auto name_targets = [&o](const std::string& text) {
    o.rdma = split_list("--rdma", text);
    if (o.rdma == std::vector<std::string>{"all"}) o.rdma = rdma_providers();
  };
  app.add_option_function<std::string>(
         "--rdma", name_targets,
         "the tables of RDMA too, on these: providers of emulated NICs (all: each of them), or soft-RoCE devices")
      ->type_name("NAME,...")
      ->group(group);
  app.add_flag("--test-ep", o.test_ep, "the table of the software endpoint too")->group(group);
  app.add_flag("--client", o.client, "the table of what xio adds to a device's latency too, on models of known latency")
      ->group(group);
}

void add_fio(CLI::App& app, ReportOptions& o) {
  const std::string group = "fio";
  app.add_flag("--fio", o.fio, "rows of fio too; without --controller only these")->group(group);
  app.add_option("--fio-device", o.fio_device, "the kernel's block device of the same namespace")
      ->type_name("/dev/nvmeXnY")
      ->group(group);
  app.add_option("--fio-results", o.fio_results, "rows of fio from the JSON file of an earlier report")
      ->type_name("FILE")
      ->group(group);
}

void add_reporting(CLI::App& app, ReportOptions& o) {
  const std::string group = "Report";
  app.add_option("--note", o.note, "text for the headings")->type_name("TEXT")->group(group);
  app.add_option("--output", o.output, "write report.html, report.md, report.csv, report.json and plots to this folder")
      ->type_name("FOLDER")
      ->group(group);
  add_json(app, o.json)->group(group);
}

}  // namespace

CLI::App* add_report_command(CLI::App& app, ReportOptions& options) {
  CLI::App* const command = app.add_subcommand("report", "tables of a controller's performance, with fio beside it");
  add_examples(
      command,
      {{"every table on the controller in this process, a tenth of a second for each row",
        "xio-tester report --controller emulated --quick --write"},
       {"the same, five kinds of emulated NIC and the software endpoint; report.html has it all with plots",
        "xio-tester report --controller emulated --write --rdma all --test-ep --client --quick --output results"},
       {"a drive bound to vfio-pci: medians of 3 runs, files and plots in the folder results",
        "xio-tester report --controller vfio:0000:04:00.0 --runs 3 --output results"},
       {"fio on a drive of the kernel's driver, and later xio on the same one beside it",
        "xio-tester report --fio --fio-device /dev/nvme1n1 --json fio.json"},
       {"once xio-bind has bound the drive to vfio-pci",
        "xio-tester report --controller vfio:0000:04:00.0 --fio-results fio.json --output results"}});
  when_chosen(command, [command, &options] {
    add_work(*command, options);
    add_others(*command, options);
    add_fio(*command, options);
    add_reporting(*command, options);
  });
  return command;
}

void check(const ReportOptions& o) {
  if (o.quick && o.duration > 0) throw BadInput("--quick and --duration exclude each other; give one of them");
  if (o.fio && !o.fio_results.empty())
    throw BadInput("--fio and --fio-results exclude each other; rows of fio are run, or taken from a file");
  if (o.controllers.empty() && !o.fio && o.rdma.empty() && !o.test_ep && !o.client)
    throw BadInput(
        std::string("nothing to run: give --controller, --rdma, --test-ep, --client, --fio or several of them; ") +
        xio::host::nvme_spec_forms + " are accepted as controllers");
  if (o.fio && o.fio_device.empty())
    throw BadInput("--fio needs --fio-device, the kernel's block device of the same namespace, such as /dev/nvme0n1");
  if (o.controllers.size() > 1 && (o.fio || !o.fio_results.empty()))
    throw BadInput("rows of fio are of one drive; with several --controller leave --fio and --fio-results out");
  if (!o.fio && !o.fio_device.empty()) throw BadInput("--fio-device is for --fio; give both or neither");
  if (o.cache && o.controllers.empty()) throw BadInput("--cache needs --controller: its pages lie there");
  if (o.write && o.controllers.empty()) throw BadInput("--write needs --controller; fio's rows only read");
  std::vector<std::string> ids = table_ids();
  for (const std::string& id : rdma_table_ids()) ids.push_back(id);
  ids.emplace_back(cache_table_id);
  ids.emplace_back(endpoint_table_id);
  ids.emplace_back(client_table_id);
  for (const std::string& wanted : o.tables) {
    std::string known;
    bool found = false;
    for (const std::string& id : ids) {
      found = found || id == wanted;
      known += (known.empty() ? "" : ", ") + id;
    }
    if (!found) throw BadInput("--tables " + wanted + " is not accepted; " + known + " are");
  }
}

}  // namespace tester
