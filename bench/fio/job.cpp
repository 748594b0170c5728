// SPDX-License-Identifier: MIT
#include "fio/job.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/nvme.hpp>
#include <xio/vendors/nvme/ranges.hpp>

#include "fio/completions.hpp"
#include "fio/drives.hpp"
#include "fio/running.hpp"

namespace host = xio::host;
namespace nvme = xio::nvme;
using fio::drain;
using fio::forget_returned;
using fio::Operation;
using fio::Running;
using fio::say;
using xio::Status;

namespace {

int refused(xf_job& job, Status status, uint64_t offset, uint64_t bytes) {
  return fio::refused(job, status.code,
                      "an operation of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                          " is refused: " + xio::name(status.code));
}

/// The ranges of a trim, in the memory that operation number `index` has for them; none: refused.
uint32_t write_ranges(const Running& running, uint64_t lba, uint64_t blocks, uint32_t index) {
  auto* const ranges = running.ranges.as<nvme::DsmRange>(index * running.ranges_each * sizeof(nvme::DsmRange));
  const nvme::CoveredBlocks covered =
      nvme::cover_ranges(running.queue.handle(), lba, blocks, ranges, running.ranges_each);
  return covered.blocks == blocks ? covered.ranges : 0;
}

xio::Token submit_trim(Running& running, uint64_t lba, uint64_t blocks, uint32_t index) {
  const uint32_t ranges = write_ranges(running, lba, blocks, index);
  if (ranges == 0) return xio::Token::refused(Status::out_of_range);
  return running.queue.try_submit(nvme::deallocate(ranges),
                                  running.ranges.region().at(index * running.ranges_each * sizeof(nvme::DsmRange),
                                                             static_cast<uint32_t>(ranges * sizeof(nvme::DsmRange))));
}

/// Posts an operation for the kernel of executor=gpu, as one command or several, or tells why not.
Status post(xf_job& job, Running& running, xf_operation operation, uint64_t lba, uint32_t blocks, uint64_t place,
            void* tag) {
  const uint32_t index = xf_index(tag);
  const uint32_t most = running.queue.handle().max_blocks;
  const uint32_t parts = operation == XF_TRIM ? 1 : (blocks + most - 1) / most;
  const bool has_data = operation == XF_TRIM || job.region.at(place, blocks << running.block_shift).reach.is_inside();
  if (blocks == 0 || !has_data || lba > job.names.blocks || blocks > job.names.blocks - lba)
    return Status::out_of_range;
  // All of them in one ring, whose turn it remains.
  if (running.gpu->ring(running.commands, parts) == nullptr) return Status::would_block;
  const uintptr_t one = uintptr_t{index} * 2 + 1;
  if (operation == XF_TRIM) {
    const uint32_t ranges = write_ranges(running, lba, blocks, index);
    if (ranges == 0) return Status::out_of_range;
    running.post(nvme::deallocate(ranges), running.ranges.bus() + index * running.ranges_each * sizeof(nvme::DsmRange),
                 one);
  }
  for (uint32_t first = 0; operation != XF_TRIM && first < blocks; first += most) {
    const uint32_t here = std::min(most, blocks - first);
    running.post(operation == XF_READ ? nvme::read(lba + first, here) : nvme::write(lba + first, here),
                 job.region.base + place + (uint64_t{first} << running.block_shift), one);
  }
  running.operations[index] = {tag, parts, 0};
  return Status::ok;
}

/// Operations that are refused, split, or rare.
__attribute__((noinline)) int submit_slowly(xf_job& job, Running& running, xf_operation operation, uint64_t offset,
                                            uint64_t bytes, uint64_t place, void* tag) {
  if (job.lost != 0) return job.lost;
  // Sizes on the device have 32 bits.
  if (((offset | bytes) & running.block_mask) != 0 || bytes >> 31 != 0)
    return fio::refused(job, Status::misaligned,
                        "an operation of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                            " is not a whole number of blocks of " + std::to_string(running.block_mask + 1) +
                            " bytes below 2 GiB; please choose another bs or offset");
  const uint64_t lba = offset >> running.block_shift;
  const auto blocks = static_cast<uint32_t>(bytes >> running.block_shift);
  if (running.gpu) {
    const Status status = post(job, running, operation, lba, blocks, place, tag);
    if (status == Status::would_block) return EAGAIN;
    return status.is_ok() ? 0 : refused(job, status, offset, bytes);
  }
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

nvme::Command command_of(const Running& running, xf_operation operation, uint64_t offset, uint64_t bytes) {
  return nvme::command(operation == XF_READ ? nvme::Opcode::read : nvme::Opcode::write)
      .range(offset >> running.block_shift, static_cast<uint32_t>(bytes >> running.block_shift));
}

/// Posts a read or write for the kernel of executor=gpu. Out of line, like submit_listed(): xf_submit() has few
/// registers.
__attribute__((noinline)) int post_for_gpu(Running& running, xf_operation operation, uint64_t offset, uint64_t bytes,
                                           uint64_t bus, void* tag) {
  const nvme::Command command = command_of(running, operation, offset, bytes);
  return running.post(command, bus, reinterpret_cast<uintptr_t>(tag)) ? 0 : EAGAIN;
}

/// Submits a read or write whose pages take a list.
__attribute__((noinline)) xio::Token submit_listed(Running& running, xf_operation operation, uint64_t offset,
                                                   uint64_t bytes, uint64_t bus) {
  return running.trusting.try_submit(command_of(running, operation, offset, bytes), nvme::ContiguousPages{bus});
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

/// Submits a flush, whose number among the operations is the last.
Status submit_flush(Running& running) {
  const uintptr_t command = uintptr_t{running.operations.size() - 1} * 2 + 1;
  if (running.gpu) return running.post(nvme::flush(), 0, command) ? Status::ok : Status::would_block;
  const xio::Token token = running.queue.try_submit(nvme::flush(), nvme::NoData{});
  if (token.submitted()) running.commands[running.queue.slot_of(token)] = command;
  return token.status;
}

std::vector<host::NvmeQueue> create_queues(xf_job& job, uint32_t depth) {
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
  if (job.gpu) options = host::on(job.gpu->executor, options);
  std::vector<host::NvmeQueue> queues;
  while (queues.size() < job.waves) queues.push_back(controller.create_queue(options));
  return queues;
}

}  // namespace

extern "C" {

xf_job* xf_open(const xf_options* options) try {
  auto job = std::make_unique<xf_job>();
  job->spec = options->controller;
  job->cq_entries = options->cq_entries;
  job->gpu_number = options->gpu;
  job->waves = options->waves;
  job->drive = &fio::open_drive(job->spec, options->shadow != 0, job->gpu_number);
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
  if (job->running && job->running->gpu && !job->running->gpu->stop()) {
    say("the kernel on the GPU does not end; its memory stays allocated, and the GPU may be hung (see dmesg)");
    static_cast<void>(job->running.release());
    static_cast<void>(new host::DmaBuffer(std::move(job->buffer)));
  }
  // The drive may still write to the memory of what is in flight: the queue goes first.
  job->running.reset();
  job->region = {};
  job->buffer = {};
}

int xf_start(xf_job* job, const xf_sizes* sizes) try {
  // Not before: a process that forks has no GPU.
  if (job->gpu_number >= 0) job->gpu = fio::open_gpu(static_cast<uint32_t>(job->gpu_number));
  auto running = std::make_unique<Running>(create_queues(*job, sizes->depth));
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
    running = std::make_unique<Running>(create_queues(*job, static_cast<uint32_t>(depth)));
  }
  running->largest = std::min<uint64_t>(whole, job->region.length);
  running->block_shift = job->names.block_shift;
  running->block_mask = (uint64_t{1} << job->names.block_shift) - 1;
  running->operations.resize(sizes->depth + 1);
  running->ended.resize(sizes->depth + 1);
  if (sizes->largest_trim != 0) prepare_trims(*job, *running, *sizes);
  if (job->gpu) running->gpu = std::make_unique<fio::GpuServer>(job->gpu, running->owners, job->drive->shadow);
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
                   bytes - 1 >= running.largest || place > job->region.length - bytes))
    return submit_slowly(*job, running, operation, offset, bytes, place, tag);
  const uint64_t bus = job->region.base + place;
  if (running.gpu) return post_for_gpu(running, operation, offset, bytes, bus, tag);
  nvme::DataPointer pages;
  const Status few = nvme::build_prps(nvme::ContiguousPages{bus}, 0, static_cast<uint32_t>(bytes),
                                      running.trusting.handle().page_shift, nvme::NoList{}, pages);
  const xio::Token token = XIO_LIKELY(few.is_ok())
                               ? running.trusting.try_submit(command_of(running, operation, offset, bytes), pages)
                               : submit_listed(running, operation, offset, bytes, bus);
  if (XIO_UNLIKELY(!token.submitted())) return EAGAIN;
  running.commands[running.trusting.slot_of(token)] = reinterpret_cast<uintptr_t>(tag);
  return 0;
}

void xf_commit(xf_job* job) { job->running->ring(); }

int xf_flush(xf_job* job) {
  Running& running = *job->running;
  forget_returned(running);
  Operation& flush = running.operations.back();
  flush = {nullptr, 1, 0};
  Status status;
  drain(*job, running, 1, [&] { return (status = submit_flush(running)) != Status::would_block; });
  if (job->lost != 0) return job->lost;
  if (!status.is_ok()) return refused(*job, status, 0, 0);
  running.ring();
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
