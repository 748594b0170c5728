// SPDX-License-Identifier: MIT
#include "fio/job.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/errno.hpp>
#include <xio/host/text.hpp>
#include <xio/nvme.hpp>
#include <xio/vendors/nvme/ranges.hpp>
#include <xio/vendors/nvme/status_names.hpp>

#include "fio/drives.hpp"
#include "fio/running.hpp"

namespace host = xio::host;
namespace nvme = xio::nvme;
using fio::Operation;
using fio::Running;
using xio::Status;

namespace {

constexpr uint64_t nanoseconds = 1000000000;
/// How long nothing has ended before the drive is asked whether it is still there.
constexpr uint64_t looks_after = nanoseconds / 10;
/// How long a drive may take for an operation.
constexpr uint64_t gives_up_after = 30 * nanoseconds;
/// Polls without a completion between two looks at the clock; each may give way to another process.
constexpr uint32_t polls_between = 16;

void say(const std::string& line) { xf_say(line.c_str()); }

uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

struct xf_job {
  std::string spec;
  fio::Drive* drive = nullptr;
  uint32_t nsid = 0;
  uint32_t cq_entries = 0;
  host::NamespaceInfo names;
  host::DmaBuffer buffer;
  xio::Region region{};
  std::unique_ptr<Running> running;
  int lost = 0;                    ///< the error of a drive that is gone
  std::vector<uint16_t> reported;  ///< statuses that the user was told of
  std::vector<Status::Code> refusals;

  host::NvmeController& controller() const { return *drive->opened.controller; }
};

namespace {

template <class T>
bool add_once(std::vector<T>& all, T one) {
  if (std::find(all.begin(), all.end(), one) != all.end()) return false;
  all.push_back(one);
  return true;
}

/// The error of a command that has failed. Tells the user of each status once.
int failed(xf_job& job, uint16_t field) {
  const Status status = nvme::CompletionFormat::decode(field);
  const auto code = static_cast<uint16_t>(field & 0x7ff);
  if (add_once(job.reported, code))
    say(std::string("the drive reports: ") + nvme::status_name(code) + " (status " + host::to_hex(code, 3) + ", " +
        xio::name(status.code) + ")");
  return host::errno_of(status);
}

/// The error of an operation that never reached the drive.
int refused(xf_job& job, Status::Code code, const std::string& why) {
  if (add_once(job.refusals, code)) say(why);
  return host::errno_of(code);
}

int refused(xf_job& job, Status status, uint64_t offset, uint64_t bytes) {
  return refused(job, status.code,
                 "an operation of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                     " is refused: " + xio::name(status.code));
}

/// Moves what was not returned to the front.
void forget_returned(Running& running) {
  if (XIO_UNLIKELY(running.returned != running.ended_count))
    std::copy(running.ended.begin() + running.returned, running.ended.begin() + running.ended_count,
              running.ended.begin());
  running.ended_count -= running.returned;
  running.returned = 0;
}

void end(Running& running, void* tag, int error) {
  // A flush is waited for where it was submitted.
  if (tag == nullptr) return;
  if (error != 0) xf_fail(tag, error);
  running.ended[running.ended_count++] = tag;
}

/// Takes a command that has failed, or that is not an operation of its own.
__attribute__((noinline)) void take_specially(xf_job& job, Running& running, uintptr_t command, uint16_t status_field) {
  const int error = nvme::CompletionFormat::is_error(status_field) ? failed(job, status_field) : 0;
  if ((command & 1) == 0) return end(running, reinterpret_cast<void*>(command), error);
  Operation& operation = running.operations[command >> 1];
  if (operation.error == 0) operation.error = error;
  if (--operation.left == 0) end(running, operation.tag, operation.error);
}

void take(xf_job& job, Running& running, const nvme::Completion& completion) {
  const uintptr_t command = std::exchange(running.commands[completion.slot], 0);
  if (XIO_UNLIKELY(!completion.is_ok() || (command & 1) != 0))
    return take_specially(job, running, command, completion.status_field);
  running.ended[running.ended_count++] = reinterpret_cast<void*>(command);
}

uint64_t in_flight(const Running& running) {
  return running.commands.size() -
         static_cast<uint64_t>(std::count(running.commands.begin(), running.commands.end(), uintptr_t{0}));
}

/// Ends all that is in flight with an error: fio waits for it.
void lose(xf_job& job, Running& running, int error, const std::string& why) {
  say(why + "; commands in flight: " + std::to_string(in_flight(running)));
  job.lost = error;
  running.largest = 0;
  for (uintptr_t& command : running.commands) {
    const uintptr_t one = std::exchange(command, 0);
    if (one == 0) continue;
    if ((one & 1) == 0) {
      end(running, reinterpret_cast<void*>(one), error);
      continue;
    }
    Operation& operation = running.operations[one >> 1];
    operation.error = error;
    if (--operation.left == 0) end(running, operation.tag, error);
  }
}

/// Asks whether a drive from which nothing comes is still there.
void look(xf_job& job, Running& running) {
  const uint64_t time = now();
  if (running.quiet_since == 0) running.quiet_since = running.looked_at = time;
  if (time - running.looked_at < looks_after) return;
  running.looked_at = time;
  if (in_flight(running) == 0) {
    running.quiet_since = 0;
    return;
  }
  if (!job.controller().alive()) {
    lose(job, running, ENODEV, job.drive->opened.loss());
  } else if (time - running.quiet_since >= gives_up_after) {
    lose(job, running, ETIMEDOUT,
         job.spec + " has completed nothing for " + std::to_string(gives_up_after / nanoseconds) + " s");
  }
}

/// Takes completions until `enough()` holds, `most` of them at a time, or the drive is lost.
template <class Enough>
void drain(xf_job& job, Running& running, uint32_t most, Enough enough) {
  while (job.lost == 0) {
    const uint32_t taken = running.queue.process_completions(
        [&](const nvme::Completion& completion) { take(job, running, completion); }, most);
    if (taken != 0)
      running.quiet_since = running.idle_polls = 0;
    else if (++running.idle_polls % polls_between == 0)
      look(job, running);
    if (enough()) return;
    xio::arch::pause(running.idle_polls);
  }
}

xio::Token submit_trim(Running& running, uint64_t lba, uint64_t blocks, uint32_t index) {
  const size_t bytes = running.ranges_each * sizeof(nvme::DsmRange);
  auto* const ranges = running.ranges.as<nvme::DsmRange>(index * bytes);
  const nvme::CoveredBlocks covered =
      nvme::cover_ranges(running.queue.handle(), lba, blocks, ranges, running.ranges_each);
  if (covered.blocks != blocks || blocks == 0) return xio::Token::refused(Status::out_of_range);
  return running.queue.try_submit(
      nvme::deallocate(covered.ranges),
      running.ranges.region().at(index * bytes, static_cast<uint32_t>(covered.ranges * sizeof(nvme::DsmRange))));
}

/// Operations that are refused, split, or rare.
__attribute__((noinline)) int submit_slowly(xf_job& job, Running& running, xf_operation operation, uint64_t offset,
                                            uint64_t bytes, uint64_t place, void* tag) {
  if (job.lost != 0) return job.lost;
  // Sizes on the device have 32 bits.
  if (((offset | bytes) & running.block_mask) != 0 || bytes >> 31 != 0)
    return refused(job, Status::misaligned,
                   "an operation of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                       " is not a whole number of blocks of " + std::to_string(running.block_mask + 1) +
                       " bytes below 2 GiB; please choose another bs or offset");
  const uint64_t lba = offset >> running.block_shift;
  const auto blocks = static_cast<uint32_t>(bytes >> running.block_shift);
  const uint32_t index = xf_index(tag);
  const auto span = job.region.at(place, static_cast<uint32_t>(bytes));
  const xio::Token token = operation == XF_READ    ? running.queue.try_submit(nvme::read(lba, blocks), span)
                           : operation == XF_WRITE ? running.queue.try_submit(nvme::write(lba, blocks), span)
                                                   : submit_trim(running, lba, blocks, index);
  if (!token.submitted())
    return token.status == Status::would_block ? EAGAIN : refused(job, token.status, offset, bytes);
  running.operations[index] = {tag, token.count, 0};
  for (uint32_t part = 0; part < token.count; ++part)
    running.commands[(token.last - part) & running.queue.handle().slot_mask] = uintptr_t{index} * 2 + 1;
  return 0;
}

/// As many ranges as the longest trim needs. Throws host::Error if one command does not cover it.
void prepare_trims(xf_job& job, Running& running, const xf_sizes& sizes) {
  std::vector<nvme::DsmRange> ranges(nvme::dsm_max_ranges);
  const uint64_t blocks = sizes.largest_trim >> running.block_shift;
  const nvme::CoveredBlocks covered = nvme::cover_ranges(running.queue.handle(), 0, blocks, ranges.data());
  if (covered.blocks != blocks)
    throw host::Error("one command trims at most " + std::to_string(covered.blocks << running.block_shift) +
                      " bytes on this drive; please choose a smaller bs for trims");
  running.ranges_each = std::max(covered.ranges, 1u);
  running.ranges = job.controller().allocate(sizes.depth * running.ranges_each * sizeof(nvme::DsmRange));
}

host::NvmeQueue create_queue(xf_job& job, uint32_t depth) {
  host::NvmeController& controller = job.controller();
  const uint32_t most = controller.max_queue_entries();
  host::QueueOptions options;
  options.depth = depth;
  options.nsid = job.nsid;
  options.cq_entries = job.cq_entries;
  // A doorbell of the completion queue for half of its entries.
  const auto usual = static_cast<uint32_t>(host::power_of_two_up_to(std::min(most, 1024u)));
  if (options.cq_entries == 0 && options.depth < usual) options.cq_entries = usual;
  options.shadow_doorbells = job.drive->shadow;
  return controller.create_queue(options);
}

}  // namespace

extern "C" {

xf_job* xf_open(const xf_options* options) try {
  auto job = std::make_unique<xf_job>();
  job->spec = options->controller;
  job->cq_entries = options->cq_entries;
  job->drive = &fio::open_drive(job->spec, options->shadow != 0);
  try {
    job->nsid = job->drive->opened.namespace_or(options->nsid);
    job->names = job->drive->opened.identify(job->nsid);
  } catch (...) {
    fio::close_drive(job->spec);
    throw;
  }
  return job.release();
} catch (const std::exception& error) {
  xf_say(error.what());
  return nullptr;
}

void xf_close(xf_job* job) {
  xf_release(job);
  const std::string spec = job->spec;
  delete job;
  fio::close_drive(spec);
}

uint64_t xf_bytes(const xf_job* job) { return job->names.blocks << job->names.block_shift; }

int xf_check_writable(const xf_job* job) {
  const std::string why = job->drive->opened.why_read_only(job->nsid);
  if (why.empty()) return 0;
  say(why);
  return EROFS;
}

void* xf_allocate(xf_job* job, size_t bytes) try {
  job->buffer = job->controller().allocate(bytes);
  job->region = job->buffer.region();
  return job->buffer.data();
} catch (const std::exception& error) {
  xf_say(error.what());
  return nullptr;
}

void xf_release(xf_job* job) {
  // The drive may still write to the memory of what is in flight: the queue goes first.
  job->running.reset();
  job->region = {};
  job->buffer = {};
}

int xf_start(xf_job* job, const xf_sizes* sizes) try {
  auto running = std::make_unique<Running>(create_queue(*job, sizes->depth));
  const uint64_t whole = uint64_t{running->queue.handle().max_blocks} << job->names.block_shift;
  if (sizes->largest > whole) {
    // Split operations take a place for each part.
    const uint64_t parts = (sizes->largest + whole - 1) / whole;
    const uint32_t most = job->controller().max_queue_entries();
    if (parts >= most)
      throw host::Error("an operation of " + std::to_string(sizes->largest) + " bytes is " + std::to_string(parts) +
                        " commands on this drive, whose queues hold " + std::to_string(most - 1) +
                        "; please choose a smaller bs");
    running.reset();
    const uint64_t depth = std::min<uint64_t>(sizes->depth * parts, most);
    running = std::make_unique<Running>(create_queue(*job, static_cast<uint32_t>(depth)));
  }
  running->largest = whole;
  running->block_shift = job->names.block_shift;
  running->block_mask = (uint64_t{1} << job->names.block_shift) - 1;
  running->operations.resize(sizes->depth + 1);
  running->ended.resize(sizes->depth + 1);
  if (sizes->largest_trim != 0) prepare_trims(*job, *running, *sizes);
  job->running = std::move(running);
  return 0;
} catch (const std::exception& error) {
  xf_say(error.what());
  return ENODEV;
}

int xf_submit(xf_job* job, xf_operation operation, uint64_t offset, uint64_t bytes, const void* data, void* tag) {
  Running& running = *job->running;
  const auto place = static_cast<uint64_t>(static_cast<const unsigned char*>(data) -
                                           static_cast<const unsigned char*>(job->region.cpu));
  // fio keeps to the capacity.
  if (XIO_UNLIKELY(operation == XF_TRIM || ((offset | bytes) & running.block_mask) != 0 ||
                   bytes - 1 >= running.largest || place >= job->region.length || place + bytes > job->region.length))
    return submit_slowly(*job, running, operation, offset, bytes, place, tag);
  const nvme::Command command =
      nvme::command(operation == XF_READ ? nvme::Opcode::read : nvme::Opcode::write)
          .range(offset >> running.block_shift, static_cast<uint32_t>(bytes >> running.block_shift));
  const xio::Token token = running.trusting.try_submit(command, nvme::ContiguousPages{job->region.base + place});
  if (XIO_UNLIKELY(!token.submitted())) return EAGAIN;
  running.commands[running.queue.slot_of(token)] = reinterpret_cast<uintptr_t>(tag);
  return 0;
}

void xf_commit(xf_job* job) { job->running->queue.ring(); }

int xf_flush(xf_job* job) {
  Running& running = *job->running;
  forget_returned(running);
  xio::Token token = xio::Token::refused(Status::would_block);
  drain(*job, running, 1, [&] {
    token = running.queue.try_submit(nvme::flush(), nvme::NoData{});
    return token.submitted() || token.status != Status::would_block;
  });
  if (job->lost != 0) return job->lost;
  if (!token.submitted()) return refused(*job, token.status, 0, 0);
  Operation& flush = running.operations.back();
  flush = {nullptr, 1, 0};
  running.commands[running.queue.slot_of(token)] = uintptr_t{running.operations.size() - 1} * 2 + 1;
  running.queue.ring();
  drain(*job, running, ~0u, [&] { return flush.left == 0; });
  return flush.error;
}

int xf_reap(xf_job* job, uint32_t least, uint32_t most, void* const** ended) {
  Running& running = *job->running;
  forget_returned(running);
  if (running.ended_count < most) drain(*job, running, most, [&] { return running.ended_count >= least; });
  running.returned = std::min(running.ended_count, most);
  *ended = running.ended.data();
  return static_cast<int>(running.returned);
}

int xf_lost(const xf_job* job) { return job->lost; }

}  // extern "C"
