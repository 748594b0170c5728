// SPDX-License-Identifier: MIT
#include "tester/report/fio.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>
#include <xio/host/linux/child_process.hpp>
#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/table.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

uint64_t number_in(const std::string& path) { return xio::host::parse_number(first_line(path)).value_or(0); }

/// A temporary file.
class Scratch {
 public:
  Scratch() {
    const char* const folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr || *folder == 0 ? "/tmp" : folder) + "/xio-fio-XXXXXX";
    const int file = ::mkstemp(path_.data());
    if (file < 0) throw CannotRun("cannot write to " + path_ + "; set TMPDIR");
    ::close(file);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

Figures figures_of(const Json& job) {
  const Json& read = job.at("read");
  const Json& latency = read.at("lat_ns");
  Figures figures;
  figures.operations = read.at("total_ios");
  figures.seconds = read.at("runtime").get<double>() / 1e3;
  figures.iops = read.at("iops");
  figures.mb_per_s = read.at("bw_bytes").get<double>() / 1e6;
  figures.min = latency.at("min").get<double>() / 1e3;
  figures.mean = latency.at("mean").get<double>() / 1e3;
  figures.std = latency.at("stddev").get<double>() / 1e3;
  figures.max = latency.at("max").get<double>() / 1e3;
  const auto percentile = [&latency](const char* name) {
    return latency.at("percentile").at(name).get<double>() / 1e3;
  };
  figures.p50 = percentile("50.000000");
  figures.p90 = percentile("90.000000");
  figures.p99 = percentile("99.000000");
  figures.p999 = percentile("99.900000");
  figures.p9999 = percentile("99.990000");
  figures.drop_uncertain_percentiles();
  figures.cpu_user = job.at("usr_cpu");
  figures.cpu_system = job.at("sys_cpu");
  return figures;
}

}  // namespace

const std::vector<FioEngine>& fio_engines() {
  static const std::vector<FioEngine> engines = {
      {"psync", {"--ioengine=psync", "--direct=1"}, true, false},
      {"libaio", {"--ioengine=libaio", "--direct=1"}, false, false},
      {"io_uring", {"--ioengine=io_uring", "--direct=1"}, false, false},
      {"io_uring, polled, registered",
       {"--ioengine=io_uring", "--direct=1", "--hipri", "--fixedbufs", "--registerfiles"},
       false,
       false},
      // The character device rejects O_DIRECT.
      {"io_uring_cmd, polled, registered",
       {"--ioengine=io_uring_cmd", "--cmd_type=nvme", "--hipri", "--fixedbufs", "--registerfiles"},
       false,
       true}};
  return engines;
}

FioDevice find_fio_device(const std::string& node, const std::string& sysfs) {
  const std::string accepted = "; a namespace of the kernel's driver is, such as /dev/nvme0n1";
  const std::string name = node.substr(node.rfind('/') + 1);
  const size_t digits = name.compare(0, 4, "nvme") == 0 ? name.find_first_not_of("0123456789", 4) : 0;
  if (node != "/dev/" + name || digits == 0 || digits == std::string::npos || name[digits] != 'n')
    throw BadInput("--fio-device " + node + " is not accepted" + accepted);
  const std::string block = sysfs + "/block/" + name;
  FioDevice device;
  device.node = node;
  device.character = "/dev/ng" + name.substr(4);
  device.block_bytes = static_cast<uint32_t>(number_in(block + "/queue/logical_block_size"));
  if (device.block_bytes == 0)
    throw BadInput("--fio-device " + node + " does not exist (bound to vfio-pci?)" + accepted);
  device.bytes = number_in(block + "/size") * 512;
  device.model = first_line(block + "/device/model");
  device.polled = number_in(block + "/queue/io_poll") != 0;
  return device;
}

std::vector<std::string> fio_arguments(const FioEngine& engine, const FioDevice& device, const FioJob& job) {
  const RowShape& shape = job.shape;
  // Read-only, whatever the environment or a mistake selects.
  std::vector<std::string> words = {"--name=xio", "--readonly", "--output-format=json", "--thread"};
  words.insert(words.end(), engine.arguments.begin(), engine.arguments.end());
  words.push_back("--filename=" + (engine.character_device ? device.character : device.node));
  words.push_back(std::string("--rw=") + (shape.random ? "randread" : "read"));
  words.push_back("--bs=" + std::to_string(shape.bytes));
  words.push_back("--iodepth=" + std::to_string(shape.depth));
  if (shape.batch > 1) {
    words.push_back("--iodepth_batch_submit=" + std::to_string(shape.batch));
    words.push_back("--iodepth_batch_complete_min=1");
    words.push_back("--iodepth_batch_complete_max=" + std::to_string(shape.depth));
  }
  words.push_back("--offset=" + std::to_string(job.offset));
  words.push_back("--size=" + std::to_string(job.span));
  words.push_back("--time_based");
  words.push_back("--runtime=" + fixed(job.duration * 1000, 0) + "ms");
  // As in xio's rows: any block may be next, and latency starts before the submission.
  words.insert(words.end(), {"--norandommap", "--lat_percentiles=1", "--clat_percentiles=0"});
  return words;
}

void read_fio_output(const std::string& text, ReportRow& row) {
  // Warnings may precede the object.
  const size_t begin = text.find('{');
  const Json json = begin == std::string::npos ? Json() : Json::parse(text.substr(begin), nullptr, false);
  try {
    const Json& job = json.at("jobs").at(0);
    const int error = job.value("error", 0);
    if (error != 0) {
      row.remark = "fio failed with error " + std::to_string(error);
      return;
    }
    const Figures figures = figures_of(job);
    if (figures.operations == 0) {
      row.remark = "fio did nothing";
      return;
    }
    row.figures = figures;
    row.remark = json.value("fio version", "");
  } catch (const Json::exception&) {
    row.remark = "fio's output cannot be parsed";
  }
}

ReportRow run_fio(const FioEngine& engine, const FioDevice& device, const FioJob& job) {
  ReportRow row;
  row.shape = job.shape;
  if (xio::host::find_program("fio").empty()) {
    row.remark = "fio is not installed";
    return row;
  }
  const Scratch output;
  std::vector<std::string> words = fio_arguments(engine, device, job);
  words.push_back("--output=" + output.path());
  try {
    xio::host::ChildProcess fio({"fio", words, {}});
    const auto limit = std::chrono::milliseconds(static_cast<int64_t>(job.duration * 1000) + 60000);
    if (!fio.wait_end(limit)) {
      row.remark = "fio did not end in time";
      return row;
    }
    read_fio_output(output.text(), row);
    if (!row.figures) row.remark += ": " + fio.summary();
  } catch (const xio::host::Error& failure) {
    row.remark = failure.what();
  }
  return row;
}

}  // namespace tester
