// SPDX-License-Identifier: MIT
// Reads on NVMe queues, with drives that are waves of the same grid or programs of the CPU, for the timed mode.

#include <machine/timed/arguments.hpp>

#include <xio/device/nvme/queue.hpp>

namespace {

using namespace xio;
using machine::timed::ReadArguments;

XIO_DEVICE bool is_drive(const ReadArguments& a) {
  if (arch::block_index() >= a.devices) return false;
  gpu::serve_null_queue(a.drives[arch::block_index()], a.stop);
  return true;
}

XIO_DEVICE uint32_t wave(const ReadArguments& a) { return arch::block_index() - a.devices; }
XIO_DEVICE uint32_t thread(const ReadArguments& a) { return wave(a) * arch::block_size() + arch::thread_index(); }

template <class Q>
XIO_DEVICE Token submit(Q& queue, uint32_t self, const Deadline& until) {
  return queue.submit(nvme::read(self % 1024, 1), nvme::ContiguousPages{0x40000000ull + self % 1024 * 512}, until);
}

/// Each thread waits for each of its reads.
template <Sharing Kind>
XIO_DEVICE void reads(const nvme::QueueHandle& handle, const ReadArguments& a) {
  nvme::Queue<Kind> queue(handle);
  unsigned long long right = 0;
  for (uint32_t round = 0; round < a.rounds; ++round) {
    const Deadline until = queue.deadline(5_s);
    const Token token = submit(queue, thread(a), until);
    if (!queue.wait(token, until).is_ok()) break;
    ++right;
  }
  arch::fetch_add<arch::Scope::system>(a.done, right);
}

/// A wave keeps up to `a.rows` rows of reads in flight and takes what has ended; `submit_some` submits up to as many as
/// it is given and returns how many.
template <class Q, class Submit>
XIO_DEVICE void stream(Q& queue, const ReadArguments& a, uint32_t most, Submit submit_some) {
  const uint32_t lanes = arch::wave_size();
  uint32_t flying = 0;
  uint32_t ended = 0;
  uint32_t submitted = 0;
  while (ended < a.rounds * lanes) {
    const uint32_t rows = submit_some(a.rounds - submitted, most - (flying + lanes - 1) / lanes);
    submitted += rows;
    flying += rows * lanes;
    const uint32_t taken = queue.process_completions([](auto&&...) {});
    flying -= taken;
    ended += taken;
  }
  arch::fetch_add<arch::Scope::system>(a.done, static_cast<unsigned long long>(arch::lane() == 0 ? ended : 0));
}

}  // namespace

extern "C" __global__ void read_grid(ReadArguments a) {
  if (!is_drive(a)) reads<Sharing::grid>(a.queues[wave(a) / a.waves_per_queue], a);
}

extern "C" __global__ void read_wave(ReadArguments a) {
  if (!is_drive(a)) reads<Sharing::wave>(a.queues[wave(a)], a);
}

extern "C" __global__ void read_thread(ReadArguments a) {
  if (!is_drive(a)) reads<Sharing::thread>(a.queues[thread(a)], a);
}

extern "C" __global__ void read_wave_process(ReadArguments a) {
  if (is_drive(a)) return;
  nvme::Queue<Sharing::wave> queue(a.queues[wave(a)]);
  const Deadline until = queue.deadline(5_s);
  stream(queue, a, a.rows, [&](uint32_t left, uint32_t room) -> uint32_t {
    if (left == 0 || room == 0) return 0;
    static_cast<void>(submit(queue, thread(a), until));
    return 1;
  });
}

/// The same, with one doorbell for `a.rows` rows.
extern "C" __global__ void read_wave_deferred(ReadArguments a) {
  if (is_drive(a)) return;
  nvme::Queue<Sharing::wave, Policy<Deferred<4096>>> queue(a.queues[wave(a)]);
  const Deadline until = queue.deadline(5_s);
  stream(queue, a, 2 * a.rows, [&](uint32_t left, uint32_t room) {
    uint32_t rows = 0;
    for (; rows < a.rows && rows < left && rows < room; ++rows) static_cast<void>(submit(queue, thread(a), until));
    queue.ring();
    return rows;
  });
}
