// SPDX-License-Identifier: MIT

/// @file
/// @brief Kernels that know xio by its calls in C alone, and are linked with the bitcode.

#include <xio/device/abi/xio_device.h>

#include <abi/work.hpp>

using abi_tests::block_bytes;
using abi_tests::NvmeWork;
using abi_tests::RdmaWork;
using abi_tests::words;

#define DEVICE static inline __attribute__((device))
#define KERNEL extern "C" __attribute__((global))

namespace {

constexpr xio_u64 second = 1000000000;

#if defined(__AMDGCN__)
DEVICE unsigned in_block() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE unsigned block() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE void meet() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
DEVICE unsigned in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE unsigned block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE void meet() { __syncthreads(); }
#endif

DEVICE xio_u64 word_of(unsigned thread, unsigned round, unsigned i) {
  return static_cast<xio_u64>(thread * 16 + round) << 32 | (i * 0x9e3779b9u);
}
DEVICE void fill(xio_u64* to, unsigned thread, unsigned round) {
  for (unsigned i = 0; i < words; ++i) to[i] = word_of(thread, round, i);
}
DEVICE bool holds(const xio_u64* from, unsigned thread, unsigned round) {
  bool right = true;
  for (unsigned i = 0; i < words; ++i) right = right && from[i] == word_of(thread, round, i);
  return right;
}

/// What each thread works with.
struct Own {
  unsigned thread;
  xio_u64* from;
  xio_u64* to;
  xio_u64 from_bus;
  xio_u64 to_bus;
  xio_until until;
};
DEVICE Own own(const NvmeWork& work, unsigned threads_of_block) {
  const unsigned thread = block() * threads_of_block + in_block();
  xio_u64* const data = work.data + thread * 2 * words;
  const xio_u64 bus = work.bus + thread * 2 * block_bytes;
  return {thread, data, data + words, bus, bus + block_bytes, xio_nvme_deadline(work.queue, 2 * second)};
}
DEVICE xio_u32* entry_of(xio_u32* entry, xio_u32 opcode, xio_u64 lba, xio_u64 bus) {
  for (unsigned i = 0; i < 16; ++i) entry[i] = 0;
  entry[0] = opcode;
  entry[6] = static_cast<xio_u32>(bus);
  entry[7] = static_cast<xio_u32>(bus >> 32);
  entry[10] = static_cast<xio_u32>(lba);
  return entry;
}

}  // namespace

// Every thread writes a block and reads it back, then the next one: by its own tokens.
#define READ_AND_WRITE(sharing)                                                                          \
  KERNEL void nvme_##sharing(NvmeWork work, unsigned threads) {                                          \
    const Own my = own(work, threads);                                                                   \
    if (my.thread >= work.threads) return;                                                               \
    unsigned bad = 0;                                                                                    \
    for (unsigned round = 0; round < 2; ++round) {                                                       \
      fill(my.from, my.thread, round);                                                                   \
      const xio_u64 lba = my.thread * 2 + round;                                                         \
      const xio_token out = xio_nvme_write_##sharing(work.queue, lba, 1, my.from_bus, 0, my.until);      \
      if (xio_nvme_wait_##sharing(work.queue, out, my.until) != XIO_OK) bad = bad ? bad : 1;             \
      const xio_token in = xio_nvme_read_##sharing(work.queue, lba, 1, my.to_bus, 0, my.until);          \
      const xio_status early = xio_nvme_test_##sharing(work.queue, in);                                  \
      if (early != XIO_PENDING && early != XIO_OK) bad = bad ? bad : 8;                                  \
      const xio_status status = xio_nvme_wait_##sharing(work.queue, in, my.until);                       \
      if (status != XIO_OK) bad = bad ? bad : 2;                                                         \
      if (!holds(my.to, my.thread, round)) bad = bad ? bad : 3;                                          \
    }                                                                                                    \
    const xio_token out = xio_nvme_flush_##sharing(work.queue, 0, my.until);                             \
    if (xio_nvme_wait_##sharing(work.queue, out, my.until) != XIO_OK) bad = bad ? bad : 4;               \
    const xio_token beyond = xio_nvme_read_##sharing(work.queue, ~0ull >> 1, 1, my.to_bus, 0, my.until); \
    if (xio_nvme_wait_##sharing(work.queue, beyond, my.until) != XIO_OUT_OF_RANGE) bad = bad ? bad : 5;  \
    (void)xio_nvme_drain_##sharing(work.queue);                                                          \
    if (xio_nvme_fence_##sharing(work.queue, my.until) != XIO_OK) bad = bad ? bad : 6;                   \
    if (xio_nvme_quiet_##sharing(work.queue, my.until) != XIO_OK) bad = bad ? bad : 7;                   \
    work.bad[my.thread] = bad;                                                                           \
  }
READ_AND_WRITE(thread)
READ_AND_WRITE(wave)
READ_AND_WRITE(block)
READ_AND_WRITE(grid)

// Page lists, notifications and results: entries as they stand, too.
KERNEL void nvme_told(NvmeWork work, unsigned threads) {
  const Own my = own(work, threads);
  if (my.thread >= work.threads) return;
  unsigned bad = xio_nvme_agrees(work.queue) == XIO_OK ? 0 : 1;
  fill(my.from, my.thread, 5);
  fill(my.to, my.thread, 6);
  // The two blocks of four threads are a page.
  const unsigned page = my.thread / 4 * 4;
  const xio_address pages = reinterpret_cast<xio_address>(work.pages + page / 4);
  meet();
  if (my.thread == page) {
    const xio_token out = xio_nvme_write_pages_grid(work.queue, page * 2, 8, pages, 12, work.notification, my.until);
    if (xio_nvme_wait_grid(work.queue, out, my.until) != XIO_OK) bad = bad ? bad : 2;
  }
  meet();
  fill(my.from, my.thread, 9);
  fill(my.to, my.thread, 9);
  meet();
  if (my.thread == page) {
    const xio_token in = xio_nvme_read_pages_grid(work.queue, page * 2, 8, pages, 12, work.notification, my.until);
    if (in >> 63 != 0) bad = bad ? bad : 3;
  }
  // Whoever waits for the count sees the data of all.
  if (xio_nvme_wait_count_grid(work.queue, work.notification, work.threads / 2, my.until) != XIO_OK)
    bad = bad ? bad : 4;
  if (!holds(my.from, my.thread, 5) || !holds(my.to, my.thread, 6)) bad = bad ? bad : 5;
  meet();
  xio_u32 entry[16];
  auto* const kept = reinterpret_cast<xio_kept_result*>(work.notification) + 1 + my.thread;
  const xio_address told = reinterpret_cast<xio_address>(kept) | XIO_KEEP;
  entry_of(entry, XIO_NVME_READ, my.thread * 2, my.to_bus);
  const xio_token raw = xio_nvme_submit_grid(work.queue, reinterpret_cast<xio_address>(entry), told, my.until);
  if (xio_nvme_wait_grid(work.queue, raw, my.until) != XIO_OK) bad = bad ? bad : 6;
  if (kept->ended != 1ull << 63) bad = bad ? bad : 7;
  xio_u64 result = 1;
  if (xio_nvme_result_grid(work.queue, raw, reinterpret_cast<xio_address>(&result)) != XIO_OK || result != 0)
    bad = bad ? bad : 8;
  if (!holds(my.to, my.thread, 5)) bad = bad ? bad : 9;
  // A word that is there, and one that never comes.
  if (xio_wait_until(work.notification, work.threads / 2, my.until) != XIO_OK) bad = bad ? bad : 10;
  if (xio_wait_until(work.notification, ~0ull, XIO_NOW) != XIO_TIMED_OUT) bad = bad ? bad : 11;
  work.bad[my.thread] = bad;
}

// Batches: of a wave, of any number of pieces, and once for a block of several waves.
KERNEL void nvme_batches(NvmeWork work, unsigned threads) {
  const Own my = own(work, threads);
  if (my.thread >= work.threads) return;
  unsigned bad = 0;
  auto* const pieces = reinterpret_cast<xio_nvme_piece*>(work.pieces);
  fill(my.from, my.thread, 7);
  fill(my.to, my.thread, 9);
  pieces[my.thread] = {my.thread, my.from_bus, 1};
  pieces[work.threads + my.thread] = {my.thread, my.to_bus, 1};
  const xio_address out = work.pieces;
  const xio_address in = work.pieces + work.threads * sizeof(xio_nvme_piece);
  meet();
  if (xio_nvme_batch_once_grid(work.queue, XIO_NVME_WRITE, out, work.threads, work.notification, my.until) != XIO_OK)
    bad = 1;
  if (xio_nvme_wait_count_grid(work.queue, work.notification, work.threads, my.until) != XIO_OK) bad = bad ? bad : 2;
  meet();
  if (xio_nvme_batch_once_grid(work.queue, XIO_NVME_READ, in, work.threads, work.notification, my.until) != XIO_OK)
    bad = bad ? bad : 3;
  if (xio_nvme_wait_count_grid(work.queue, work.notification, work.threads * 2, my.until) != XIO_OK)
    bad = bad ? bad : 4;
  if (!holds(my.to, my.thread, 7)) bad = bad ? bad : 5;
  meet();
  // The same again by each wave, for all.
  const unsigned few = work.depth / 4;
  const xio_token batch = xio_nvme_batch_grid(work.queue, XIO_NVME_READ, in, few, 0, my.until);
  if (xio_nvme_wait_batch_grid(work.queue, batch, my.until) != XIO_OK) bad = bad ? bad : 6;
  const xio_token many = xio_nvme_batch_grid(work.queue, XIO_NVME_READ, in, work.depth + 1, 0, my.until);
  if (xio_nvme_wait_batch_grid(work.queue, many, my.until) != XIO_INVALID_ARGUMENT) bad = bad ? bad : 7;
  meet();
  if (my.thread < 32) {
    const xio_address progress = work.notification + sizeof(xio_notification);
    if (xio_nvme_transfer_grid(work.queue, XIO_NVME_READ, in, work.threads, progress, my.until) != XIO_OK)
      bad = bad ? bad : 8;
    if (!holds(my.to, my.thread, 7)) bad = bad ? bad : 9;
  }
  work.bad[my.thread] = bad;
}

// One thread fills the queue: what does not wait is refused. An error of the drive comes back as it is.
KERNEL void nvme_refused(NvmeWork work, unsigned threads) {
  const Own my = own(work, threads);
  if (my.thread != 0) return;
  unsigned bad = 0;
  xio_token last = 0;
  unsigned taken = 0;
  for (unsigned i = 0; i < 4 * work.depth; ++i) {
    last = xio_nvme_read_thread(work.queue, 0, 1, my.to_bus, 0, XIO_NOW);
    if (last >> 63 != 0) break;
    ++taken;
  }
  if (taken != work.depth || last >> 63 == 0) bad = 1;
  if (xio_nvme_wait_thread(work.queue, last, my.until) != XIO_WOULD_BLOCK) bad = bad ? bad : 2;
  if (xio_nvme_quiet_thread(work.queue, my.until) != XIO_OK) bad = bad ? bad : 3;
  xio_u32 entry[16];
  entry_of(entry, 0x7f, 0, my.to_bus);
  const xio_token unknown = xio_nvme_submit_thread(work.queue, reinterpret_cast<xio_address>(entry), 0, my.until);
  const xio_status status = xio_nvme_wait_thread(work.queue, unknown, my.until);
  if ((status & 0xffff) < XIO_FROM_DEVICE || status >> 16 == 0) bad = bad ? bad : 4;
  work.bad[0] = bad;
}

// Every thread puts a block, gets it back, signals, and counts.
#define PUT_AND_GET(vendor)                                                                                           \
  KERNEL void rdma_##vendor(RdmaWork work, unsigned threads) {                                                        \
    const unsigned thread = block() * threads + in_block();                                                           \
    if (thread >= work.threads) return;                                                                               \
    const xio_until until = xio_##vendor##_deadline(work.queue, 2 * second);                                          \
    unsigned bad = 0;                                                                                                 \
    const auto wait = [&](xio_token token) { return xio_##vendor##_wait(work.queue, token, until); };                 \
    xio_u64* const from = work.local + thread * 2 * words;                                                            \
    const xio_u64 source = reinterpret_cast<xio_u64>(from);                                                           \
    const xio_u64 target = source + block_bytes;                                                                      \
    const xio_u64 peer = work.remote + thread * block_bytes;                                                          \
    const xio_u64 word = work.remote + work.threads * block_bytes + thread * 8;                                       \
    const xio_u64 counter = work.remote + work.threads * block_bytes + work.threads * 8;                              \
    fill(from, thread, 1);                                                                                            \
    if (wait(xio_##vendor##_put(work.queue, peer, work.rkey, source, work.lkey, block_bytes, until)) != XIO_OK)       \
      bad = 1;                                                                                                        \
    const xio_token in = xio_##vendor##_get(work.queue, target, work.lkey, peer, work.rkey, block_bytes, until);      \
    (void)xio_##vendor##_test(work.queue, in);                                                                        \
    if (wait(in) != XIO_OK) bad = bad ? bad : 2;                                                                      \
    if (!holds(from + words, thread, 1)) bad = bad ? bad : 3;                                                         \
    fill(from, thread, 2);                                                                                            \
    xio_status status = wait(xio_##vendor##_put_signal(work.queue, peer, work.rkey, source, work.lkey, block_bytes,   \
                                                       word, work.rkey, thread + 1, until));                          \
    if (status == XIO_UNSUPPORTED) {                                                                                  \
      from[words] = thread + 1;                                                                                       \
      status = wait(xio_##vendor##_put_signal_from(work.queue, peer, work.rkey, source, work.lkey, block_bytes, word, \
                                                   work.rkey, target, work.lkey, until));                             \
    }                                                                                                                 \
    if (status != XIO_OK) bad = bad ? bad : 4;                                                                        \
    status = wait(xio_##vendor##_fetch_add(work.queue, counter, work.rkey, 1, target, work.lkey, until));             \
    if (status != XIO_OK) bad = bad ? bad : 0x10000 | status;                                                         \
    status = wait(                                                                                                    \
        xio_##vendor##_compare_swap(work.queue, word, work.rkey, thread + 1, thread + 7, target, work.lkey, until));  \
    if (status != XIO_OK) bad = bad ? bad : 0x20000 | status;                                                         \
    if (xio_##vendor##_quiet(work.queue, until) != XIO_OK) bad = bad ? bad : 7;                                       \
    work.bad[thread] = bad;                                                                                           \
  }
PUT_AND_GET(mlx5)
PUT_AND_GET(bnxt)
PUT_AND_GET(ionic)
PUT_AND_GET(ernic)
PUT_AND_GET(rxe)
