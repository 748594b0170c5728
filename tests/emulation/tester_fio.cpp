// SPDX-License-Identifier: MIT
/// @file
/// @brief fio beside us: its arguments, a recorded output of it, its device in sysfs; and reports of it read back.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <xio/host/linux/child_process.hpp>

#include "catch.hpp"
#include "tester/cli/errors.hpp"
#include "tester/report/fio.hpp"
#include "tester/report/plan.hpp"
#include "tester/report/write.hpp"

using namespace tester;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string recorded() { return contents(XIO_TESTS_DIR "/emulation/tester_fio.json"); }

/// A folder that goes away.
struct Folder {
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { REQUIRE(std::system(("rm -rf '" + path + "'").c_str()) == 0); }
  void put(const std::string& name, const std::string& text) const {
    REQUIRE(std::system(("mkdir -p '" + path + "/" + name.substr(0, name.rfind('/')) + "'").c_str()) == 0);
    std::ofstream(path + "/" + name) << text;
  }
  std::string path = "/tmp/xio-fio-test-XXXXXX";
};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

FioJob small_job() {
  FioJob job;
  job.shape.submitter = "fio psync";
  job.shape.bytes = 4096;
  job.shape.random = true;
  job.span = 65536;
  job.duration = 0.1;
  return job;
}

}  // namespace

TEST_CASE("fio's recorded output becomes figures", "[tester]") {
  ReportRow row;
  read_fio_output("fio: a warning\n" + recorded(), row);
  REQUIRE(row.figures);
  const Figures& f = *row.figures;
  CHECK(f.operations == 12362);
  CHECK(f.seconds == Approx(0.381));
  CHECK(f.iops == Approx(32446.194226));
  CHECK(f.mb_per_s == Approx(132.899611));
  CHECK(f.min == Approx(0.383));
  CHECK(f.mean == Approx(30.546993933));
  CHECK(f.std == Approx(3207.830566171));
  CHECK(f.max == Approx(356549.596));
  CHECK(f.p50 == Approx(0.588));
  CHECK(f.p99 == Approx(1.960));
  CHECK(f.cpu_us() == Approx((f.cpu_user + f.cpu_system) / 100 * 0.381e6 / 12362));
  CHECK(f.cpu_us() > 0);
  CHECK(row.remark == "fio-3.33");
}

TEST_CASE("what is not fio's output has no figures", "[tester]") {
  const std::string whole = recorded();
  std::string failed = whole;
  failed.replace(failed.find("\"error\": 0"), 10, "\"error\": 95");
  std::string idle = whole;
  idle.replace(idle.find("\"total_ios\": 12362"), 18, "\"total_ios\": 0");
  for (const auto& [text, reason] : {std::pair<std::string, std::string>{"", "fio's output cannot be parsed"},
                                     {"fio: unrecognized option", "fio's output cannot be parsed"},
                                     {"{}", "fio's output cannot be parsed"},
                                     {whole.substr(0, 900), "fio's output cannot be parsed"},
                                     {failed, "fio failed with error 95"},
                                     {idle, "fio did nothing"}}) {
    ReportRow row;
    read_fio_output(text, row);
    CHECK_FALSE(row.figures);
    CHECK(row.remark == reason);
  }
}

TEST_CASE("fio only reads, what it is told to", "[tester]") {
  const FioDevice device{"/dev/nvme3n2", "/dev/ng3n2", "", 1 << 20, 512, true};
  for (const FioEngine& engine : fio_engines()) {
    CAPTURE(engine.name);
    FioJob job = small_job();
    job.shape.depth = 64;
    job.shape.batch = 16;
    job.offset = 8192;
    const std::vector<std::string> words = fio_arguments(engine, device, job);
    CHECK(contains(words, "--readonly"));
    CHECK(contains(words, engine.character_device ? "--filename=/dev/ng3n2" : "--filename=/dev/nvme3n2"));
    // The character device refuses it.
    CHECK(contains(words, "--direct=1") != engine.character_device);
    for (const char* const word : {"--rw=randread", "--bs=4096", "--iodepth=64", "--iodepth_batch_submit=16",
                                   "--offset=8192", "--size=65536", "--runtime=100ms"})
      CHECK(contains(words, word));
    job.shape.random = false;
    job.shape.batch = 1;
    CHECK(contains(fio_arguments(engine, device, job), "--rw=read"));
    CHECK_FALSE(contains(fio_arguments(engine, device, job), "--iodepth_batch_submit=16"));
  }
}

TEST_CASE("fio's device is looked up in sysfs", "[tester]") {
  const Folder sysfs;
  sysfs.put("block/nvme0n1/queue/logical_block_size", "4096\n");
  sysfs.put("block/nvme0n1/queue/io_poll", "1\n");
  sysfs.put("block/nvme0n1/size", "2048\n");
  sysfs.put("block/nvme0n1/device/model", "A drive   \n");
  const FioDevice device = find_fio_device("/dev/nvme0n1", sysfs.path);
  CHECK(device.character == "/dev/ng0n1");
  CHECK(device.model == "A drive");
  CHECK(device.bytes == 1 << 20);
  CHECK(device.block_bytes == 4096);
  CHECK(device.polled);
  for (const char* const wrong : {"/dev/nvme1n1", "/dev/nvme0", "/dev/sda", "nvme0n1", "/dev/../dev/nvme0n1", ""})
    CHECK_THROWS_AS(find_fio_device(wrong, sysfs.path), BadInput);
}

TEST_CASE("fio itself, on a file", "[tester]") {
  const Folder folder;
  folder.put("files/data", std::string(65536, 'x'));
  const FioDevice file{folder.path + "/files/data", folder.path + "/files/data", "", 65536, 512, false};
  // Without O_DIRECT, which not every file system has.
  const FioEngine engine{"psync", {"--ioengine=psync"}, true, false};
  const ReportRow row = run_fio(engine, file, small_job());
  CAPTURE(row.remark);
  if (xio::host::find_program("fio").empty()) {
    CHECK(row.remark == "fio is not installed");
    return;
  }
  REQUIRE(row.figures);
  CHECK(row.figures->operations > 0);
  CHECK(row.figures->p50 <= row.figures->max);
  const FioEngine wrong{"io_uring_cmd", {"--ioengine=no_such_engine"}, false, true};
  const ReportRow refused = run_fio(wrong, file, small_job());
  CHECK_FALSE(refused.figures);
  CHECK(refused.remark.find("no_such_engine") != std::string::npos);
}

TEST_CASE("rows of fio go from one report to another, to their depth", "[tester]") {
  ReportRow fio;
  fio.shape.submitter = "fio libaio";
  fio.shape.bytes = 4096;
  fio.figures.emplace();
  fio.figures->operations = 10;
  fio.figures->seconds = 1;
  fio.figures->iops = 10;
  fio.figures->cpu_user = 50;
  fio.iops_of_runs = {9, 10, 11};
  ReportRow ours;
  ReportRow deep = ours;
  deep.shape.depth = 64;
  Report earlier;
  earlier.tables = {{"cpu", "CPU use", {"submitter", "iops"}, {ours, fio}}, {"fio", "fio", {"iops"}, {fio}}};
  Report later;
  later.tables = {{"cpu", "CPU use", {"submitter", "iops"}, {ours, deep}}};
  Report chosen = later;

  add_fio_rows(later, to_json(earlier), true);
  REQUIRE(later.tables.size() == 2);
  REQUIRE(later.tables[0].rows.size() == 3);
  const ReportRow& row = later.tables[0].rows[1];
  CHECK(row.shape.submitter == "fio libaio");
  REQUIRE(row.figures);
  CHECK(row.figures->iops == 10);
  CHECK(row.figures->cpu_us() == Approx(50000));
  CHECK(row.iops_of_runs == std::vector<double>{9, 10, 11});
  CHECK(later.tables[0].rows[2].shape.depth == 64);

  add_fio_rows(chosen, to_json(earlier), false);
  CHECK(chosen.tables.size() == 1);
  for (const char* const wrong : {"", "{}", "[1]", "{\"tables\": [{\"id\": 1}]}",
                                  R"({"tables": [{"id": "x", "title": "x", "columns": ["nothing"], "rows": []}]})"})
    CHECK_THROWS_AS(add_fio_rows(later, wrong, true), BadInput);
}

TEST_CASE("text of a report that others would take for its form", "[tester]") {
  ReportRow row;
  row.remark = "a \"b\", c|d";
  row.shape.submitter = "x|y";
  Report report;
  report.heading = "h";
  report.tables = {{"single", "Single", {"submitter", "mode", "remark"}, {row}}};
  CHECK(to_csv(report).find("\"a \"\"b\"\", c|d\"") != std::string::npos);
  CHECK(to_markdown(report).find("| x\\|y | 0 |\n\na \"b\", c|d\n") != std::string::npos);
}

TEST_CASE("the tables of a report, without a controller and without fio", "[tester]") {
  PlanBasis basis;
  basis.most_queues = 3;
  const auto all = plan_tables(basis);
  CHECK(all.size() == table_ids().size() - 1);  // that of fio has rows of fio alone
  for (const TablePlan& table : all)
    for (const RowPlan& row : table.rows) {
      CHECK(row.engine == nullptr);
      CHECK(row.shape.queues <= 3);
    }
  basis.xio = false;
  basis.fio = true;
  const auto fio = plan_tables(basis);
  CHECK(fio.size() == 3);
  basis.xio = true;
  const auto both = plan_tables(basis);
  CHECK(both.size() == table_ids().size());
  // Like with like.
  for (const TablePlan& table : both) {
    if (table.id != "side-by-side" && table.id != "cpu") continue;
    for (const RowPlan& row : table.rows) {
      CHECK(row.shape.bytes == 4096);
      CHECK(row.shape.random);
    }
  }
}
