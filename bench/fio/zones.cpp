// SPDX-License-Identifier: MIT
#include "fio/zones.h"

#include <cerrno>
#include <vector>

#include <xio/host/errno.hpp>
#include <xio/nvme.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/identify.hpp>

#include "fio/completions.hpp"
#include "fio/running.hpp"

namespace host = xio::host;
namespace nvme = xio::nvme;
using xio::Status;

namespace {

/// A report of 63 zones (Zoned Namespace Command Set 1.1, section 3.4.2): a header and the descriptors.
constexpr uint32_t report_bytes = 4096;
constexpr uint32_t descriptor_bytes = 64;
constexpr xio::Duration patience{30000000000};

/// Of the namespace: bytes of a zone, and how many may be open, 0: all (Zoned Namespace Command Set 1.1, figure 48).
struct ZoneLimits {
  uint64_t bytes;
  uint32_t most_open;
};

ZoneLimits limits(const xf_job& job) {
  nvme::IdentifyRequest request;
  request.nsid = job.nsid;
  request.cns = nvme::Cns::namespace_of_command_set;
  request.command_set = nvme::CommandSet::zoned;
  const std::vector<uint8_t> zoned = job.controller().fetch(nvme::identify(request), nvme::identify_bytes);
  const std::vector<uint8_t> usual = job.controller().fetch(nvme::identify_namespace(job.nsid), nvme::identify_bytes);
  const uint32_t format = nvme::IdentifyNamespace{usual.data()}.format_index();
  const uint64_t blocks = nvme::load_le(&zoned[2816 + 16 * size_t{format}], 8);
  // The number is one less, and all ones without a limit.
  return {blocks << job.names.block_shift, static_cast<uint32_t>(nvme::load_le(&zoned[8], 4)) + 1};
}

/// A queue of the CPU's for commands that are no operations of the job's.
class ZoneQueue {
 public:
  explicit ZoneQueue(const xf_job& job) : owner_(create(job)), queue_(owner_.handle()) {}

  template <class Data>
  Status run(const nvme::Command& command, const Data& data) {
    const xio::Token token = queue_.try_submit(command, data);
    if (!token.submitted()) return token.status;
    queue_.ring();
    return queue_.wait(token, queue_.deadline(patience));
  }

 private:
  static host::NvmeQueue create(const xf_job& job) {
    host::QueueOptions options;
    options.depth = 2;
    options.nsid = job.nsid;
    options.shadow_doorbells = job.drive->shadow;
    return job.controller().create_queue(options);
  }

  host::NvmeQueue owner_;
  fio::Queue queue_;
};

int failed(const char* what, Status status) {
  fio::say(std::string(what) + " fails: " + xio::name(status.code));
  return -host::errno_of(status);
}

}  // namespace

extern "C" {

int xf_is_zoned(const xf_job* job) try {
  return job->controller().command_set(job->nsid) == nvme::CommandSet::zoned ? 1 : 0;
} catch (const std::exception& error) {
  xf_say(error.what());
  return -EIO;
}

int xf_report_zones(const xf_job* job, uint64_t offset, struct xf_zone* zones, unsigned int count) try {
  const uint64_t zone_bytes = limits(*job).bytes;
  const uint32_t shift = job->names.block_shift;
  const host::DmaBuffer report = job->controller().allocate(report_bytes);
  nvme::ZoneReceiveRequest request;
  request.zone_lba = offset >> shift;
  request.bytes = report_bytes;
  request.partial = true;
  const Status status =
      ZoneQueue(*job).run(nvme::zone_management_receive(request), report.region().at(0, report_bytes));
  if (!status.is_ok()) return failed("a report of zones", status);
  const auto* const bytes = report.as<uint8_t>(0);
  const uint64_t there = nvme::load_le(bytes, 8);
  unsigned int found = 0;
  for (; found < count && found < there && found < report_bytes / descriptor_bytes - 1; ++found) {
    const uint8_t* const one = bytes + (found + 1) * descriptor_bytes;
    zones[found] = {nvme::load_le(one + 16, 8) << shift,
                    nvme::load_le(one + 24, 8) << shift,
                    zone_bytes,
                    nvme::load_le(one + 8, 8) << shift,
                    one[0] & 0xfu,
                    static_cast<unsigned int>(one[1]) >> 4};
  }
  return static_cast<int>(found);
} catch (const std::exception& error) {
  xf_say(error.what());
  return -EIO;
}

int xf_reset_zones(const xf_job* job, uint64_t offset, uint64_t bytes) try {
  const uint64_t zone_bytes = limits(*job).bytes;
  ZoneQueue queue(*job);
  for (uint64_t at = offset; at < offset + bytes; at += zone_bytes) {
    nvme::ZoneSendRequest request;
    request.zone_lba = at >> job->names.block_shift;
    const Status status = queue.run(nvme::zone_management_send(request), nvme::NoData{});
    if (!status.is_ok()) return failed("a reset of a zone", status);
  }
  return 0;
} catch (const std::exception& error) {
  xf_say(error.what());
  return -EIO;
}

int xf_most_open_zones(const xf_job* job, unsigned int* most) try {
  *most = limits(*job).most_open;
  return 0;
} catch (const std::exception& error) {
  xf_say(error.what());
  return -EIO;
}

}  // extern "C"
