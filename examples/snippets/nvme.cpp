// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: calls of an NVMe queue.

#include <vector>

#include "drive.hpp"

using namespace xio;

namespace snippets::nvme_calls {

XIO_KERNEL void queue(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  //! [queue]
  nvme::Queue<Sharing::wave> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const Token token = queue.submit(nvme::read(lba, 1), data.at(offset, bytes), until);
  status[i] = queue.wait(token, until);
  //! [queue]
}

XIO_KERNEL void tail(nvme::QueueHandle handle, Region data, Status* status, uint64_t blocks) {
  const auto [i, lba, offset, bytes] = mine();
  status[i] = Status::ok;
  //! [tail]
  // A branch that some lanes do not take: those that do are named. (Or `if (lba >= blocks) return;`, and no names:
  // lanes that have ended take no part.)
  const uint64_t lanes = arch::ballot(arch::together(0), lba < blocks);
  if (lba < blocks) {
    nvme::Queue<Sharing::wave> queue(handle, lanes);
    const Deadline until = queue.deadline(5_s);
    status[i] = queue.wait(queue.read(lba, data.at(offset, bytes), until), until);
  }
  //! [tail]
}

XIO_KERNEL void session(nvme::QueueHandle handle, Region data, Status* status) {
  const uint32_t bytes = block_bytes;
  Status how;
  //! [session]
  nvme::Queue<Sharing::thread> queue(handle);
  auto session = queue.session();  // from here on, the queue's state is in registers
  for (uint64_t lba = 0; lba < 64 && how.is_ok(); ++lba) {
    const Deadline until = session.deadline(5_s);
    how = session.wait(session.read(lba, data.at(lba * bytes, bytes), until), until);
  }
  session.end();  // writes it back; the queue may be used again
  //! [session]
  *status = how;
}

XIO_KERNEL void deadline(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  //! [deadline]
  const Deadline until = queue.deadline(5_s);  // for the submission and the wait together
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  status[i] = queue.wait(token, until);
  //! [deadline]
}

XIO_KERNEL void submit(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [submit]
  const nvme::Command command = nvme::read(lba, 1).limited_retry();
  const Token token = queue.submit(command, data.at(offset, bytes), until);
  status[i] = queue.wait(token, until);  // for a refused token: the reason
  //! [submit]
}

XIO_KERNEL void try_submit(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [try_submit]
  const Token token = queue.try_submit(nvme::read(lba, 1), data.at(offset, bytes));
  if (token.status == Status::would_block) {
    // The queue is full: do something else, and try again later.
  }
  //! [try_submit]
  status[i] = queue.wait(token, until);
}

XIO_KERNEL void read(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  const Deadline until = xio::deadline(5_s);
  //! [read]
  nvme::Queue<Sharing::grid> queue(handle);
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  status[i] = queue.wait(token, until);
  //! [read]
}

XIO_KERNEL void write(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, block, offset, bytes] = mine();
  const uint64_t lba = free_blocks + block;
  const Deadline until = xio::deadline(5_s);
  //! [write]
  nvme::Queue<Sharing::grid> queue(handle);
  const Token token = queue.write(lba, data.at(offset, bytes), until);
  status[i] = queue.wait(token, until);
  //! [write]
}

XIO_KERNEL void submit_batch(nvme::QueueHandle handle, Region, Status* status, const nvme::Piece* pieces,
                             uint32_t count) {
  //! [submit_batch]
  nvme::Queue<Sharing::wave> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const Token batch = queue.submit_batch(nvme::Opcode::read, pieces, count, until);  // the same token in all lanes
  const Status how = queue.wait_batch(batch, until);                                 // and the same status
  //! [submit_batch]
  status[arch::thread_index()] = how;
}

XIO_KERNEL void piece_of(nvme::QueueHandle handle, Region data, Status* status, Notification* each, uint32_t count) {
  //! [PieceOf]
  nvme::Queue<Sharing::wave, Policy<Notify>> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const auto piece = [=](uint32_t i) {
    return nvme::NotifiedPiece<nvme::PieceOf<RegionSpan>>{{i, data.at(uint64_t{i} * 512, 512), 1}, each + i};
  };
  const Token batch = queue.submit_batch(nvme::Opcode::read, piece, count, until);
  const Status how = queue.wait_batch(batch, until);  // or for a piece: queue.wait_count(each[i], 1, until)
  //! [PieceOf]
  status[arch::thread_index()] = how;
}

XIO_KERNEL void transfer(nvme::QueueHandle handle, Region, Status* status, const nvme::Piece* pieces, uint32_t count,
                         Notification* progress) {
  //! [transfer]
  nvme::Queue<Sharing::wave, Policy<Notify>> queue(handle);
  const Status how = queue.transfer(nvme::Opcode::read, pieces, count, queue.deadline(5_s), *progress);
  if (how == Status::timed_out) {
    // progress->done pieces have ended, the others are still in flight.
  }
  //! [transfer]
  status[arch::thread_index()] = how;
}

XIO_KERNEL void wait(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [wait]
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  const Status how = queue.wait(token, until);
  if (how == Status::timed_out) return;  // the drive may still write to the piece
  //! [wait]
  status[i] = how;
}

XIO_KERNEL void test(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [test]
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  Status how = queue.test(token);
  for (uint32_t round = 0; how == Status::pending && !until.passed(); ++round) {
    arch::pause(round);  // or other work
    how = queue.test(token);
  }
  //! [test]
  status[i] = how;
}

XIO_KERNEL void ended(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  //! [ended]
  while (!queue.ended(token) && !until.passed()) queue.drain();
  status[i] = queue.wait(token, until);  // makes the data visible, and returns the operation's status
  //! [ended]
}

XIO_KERNEL void wait_all(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [wait_all]
  Token tokens[4];
  for (uint32_t k = 0; k < 4; ++k)
    tokens[k] = queue.read(4 * lba + k, data.at(4 * offset + uint64_t{k} * bytes, bytes), until);
  status[i] = queue.wait_all(tokens, 4, until);  // ok, or the first error
  //! [wait_all]
}

XIO_KERNEL void wait_any(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [wait_any]
  const Token tokens[] = {queue.read(2 * lba, data.at(2 * offset, bytes), until),
                          queue.read(2 * lba + 1, data.at(2 * offset + bytes, bytes), until)};
  uint32_t which = 0;
  const Status first = queue.wait_any(tokens, 2, until, which);
  const Status other = queue.wait(tokens[1 - which], until);
  //! [wait_any]
  status[i] = first.is_ok() ? other : first;
}

XIO_KERNEL void result(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, zone, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  uint64_t lba = ~uint64_t{0};
  //! [result]
  const Token token = queue.submit(nvme::zone_append(zone, 1), data.at(offset, bytes), until);
  Status how = queue.wait(token, until);
  if (how.is_ok()) how = queue.result(token, lba);  // the block written by the drive
  //! [result]
  status[i] = lba != ~uint64_t{0} ? how : Status(Status::device_error);
}

XIO_KERNEL void ring_once(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  //! [ring]
  nvme::Queue<Sharing::grid, Policy<Deferred<64>>> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const Token first = queue.read(2 * lba, data.at(2 * offset, bytes), until);
  const Token second = queue.read(2 * lba + 1, data.at(2 * offset + bytes, bytes), until);
  queue.ring();  // rings the doorbell once for both
  //! [ring]
  const Status how = queue.wait(first, until);
  status[i] = how.is_ok() ? queue.wait(second, until) : how;
}

XIO_KERNEL void publish_payload(nvme::QueueHandle handle, Region data, Status* status, uint64_t* words,
                                uint64_t value) {
  const auto [i, block, offset, bytes] = mine();
  const uint64_t lba = free_blocks + block;
  //! [publish_payload]
  nvme::Queue<Sharing::grid, Policy<WriteThrough>> queue(handle);
  const Deadline until = queue.deadline(5_s);
  words[offset / 8] = value;  // a plain store, which may stay in a cache
  queue.publish_payload();
  Status how = queue.wait(queue.write(lba, data.at(offset, bytes), until), until);
  words[offset / 8] = 0;
  queue.publish_payload();  // before a read, too: else the zero may be written back over the data that was read
  if (how.is_ok()) how = queue.wait(queue.read(lba, data.at(offset, bytes), until), until);
  //! [publish_payload]
  status[i] = how.is_ok() && words[offset / 8] != value ? Status(Status::internal_error) : how;
}

XIO_KERNEL void drain(nvme::QueueHandle handle, Region data, Status* status, Notification* ended, uint64_t reads) {
  const auto [i, lba, offset, bytes] = mine();
  const Deadline until = xio::deadline(5_s);
  //! [drain]
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const Token token = queue.read(lba, data.at(offset, bytes), until, Options().notify(*ended));
  const auto all_ended = [&] {
    queue.drain();  // some thread must consume completions, or none is counted
    return arch::observe<arch::Scope::system>(&ended->done) >= reads;
  };
  status[i] = token.submitted() ? poll_until(all_ended, until) : token.status;
  //! [drain]
  arch::acquire_system();
}

XIO_KERNEL void process_completions(nvme::QueueHandle handle, Region data, Status* status, uint64_t* lbas) {
  const uint32_t bytes = block_bytes;
  nvme::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(5_s);
  uint64_t sum = 0;
  uint32_t left = 8;
  Status how;
  //! [process_completions]
  for (uint64_t lba = 0; lba < 8; ++lba) {
    const Token token = queue.read(lba, data.at(lba * bytes, bytes), until);
    lbas[queue.slot_of(token)] = lba;  // lbas: one word per slot
  }
  const auto each = [&](const nvme::Completion& one) {
    if (one.is_ok()) sum += lbas[one.slot];
  };
  const auto all_ended = [&] { return (left -= queue.process_completions(each)) == 0; };
  how = poll_until(all_ended, until);
  //! [process_completions]
  *status = sum == 28 ? how : Status(Status::device_error);
}

XIO_KERNEL void fence(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, block, offset, bytes] = mine();
  const uint64_t lba = free_blocks + block;
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [fence]
  const Token written = queue.write(lba, data.at(offset, bytes), until);
  const Status fenced = queue.fence(until);  // the read begins after the write has ended
  const Token token = queue.read(lba, data.at(offset, bytes), until);
  //! [fence]
  const Status first = queue.wait(written, until);
  const Status second = queue.wait(token, until);
  status[i] = !fenced.is_ok() ? fenced : first.is_ok() ? second : first;
}

XIO_KERNEL void quiet(nvme::QueueHandle handle, Region data, Status* status) {
  const uint32_t bytes = block_bytes;
  nvme::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [quiet]
  for (uint64_t i = 0; i < 64; ++i) {
    const Token token = queue.write(free_blocks + i, data.at(i * bytes, bytes), until);
    if (!token.submitted()) return;
  }
  *status = queue.quiet(until);  // no write was waited for: returns the first error of any
  //! [quiet]
}

XIO_KERNEL void errors(nvme::QueueHandle handle, Region data, Status* status) {
  const uint64_t lba = stored_blocks;
  nvme::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(5_s);
  const Token token = queue.read(lba, data.at(0, block_bytes), until);
  if (!token.submitted()) return;
  Status how;
  //! [errors]
  if (queue.fence(until).is_ok()) {
    const nvme::ErrorSummary summary = queue.errors();
    if (summary.count != 0) how = summary.first;  // of the command with ticket summary.first_ticket
  }
  //! [errors]
  *status = how;
}

XIO_KERNEL void flush_inbound(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [flush_inbound]
  const Token token = queue.read(lba, data.at(offset, bytes), until);  // data in the GPU's memory
  Status how = queue.wait(token, until);
  if (how.is_ok()) how = queue.flush_inbound(until);  // the data is visible from here on
  //! [flush_inbound]
  status[i] = how;
}

struct Call {
  const char* snippet;
  void (*kernel)(nvme::QueueHandle, Region, Status*);
};

void all() {
  Drive drive;
  for (const Call& call : {Call{"queue", queue}, Call{"deadline", deadline}, Call{"submit", submit},
                           Call{"try_submit", try_submit}, Call{"read", read}, Call{"wait", wait}, Call{"test", test},
                           Call{"ended", ended}, Call{"flush_inbound", flush_inbound}})
    drive.check_read(call.snippet, 64, 64, call.kernel);
  drive.check_read("session", 64, 1, session);
  drive.check_read("tail", 40, 64, tail, uint64_t{40});
  drive.check_read("wait_all", 256, 64, wait_all);
  drive.check_read("wait_any", 128, 64, wait_any);
  drive.check_read("ring", 128, 64, ring_once);
  drive.check_write("write", 64, 64, write);
  drive.check_write("fence", 64, 64, fence);
  drive.check_write("quiet", 64, 1, quiet);
  check("result", drive.run(64, result));

  constexpr uint32_t count = 200;
  auto* const pieces = drive.more<nvme::Piece>(count);
  for (uint32_t i = 0; i < count; ++i) pieces[i] = {i, drive.bus() + uint64_t{i} * block_bytes, 1};
  const nvme::Piece* const list = drive.executor.address(pieces);
  auto* const progress = drive.more<Notification>(1);
  drive.check_read("submit_batch", 64, 64, submit_batch, list, 64u);
  auto* const each = drive.more<Notification>(64);
  drive.check_read("PieceOf", 64, 64, piece_of, drive.executor.address(each), 64u);
  check("PieceOf", each[63].done == 1);
  drive.check_read("transfer", count, 64, transfer, list, count, drive.executor.address(progress));
  check("transfer", progress->done == (count ^ damage) && progress->failed == 0);

  auto* const ended = drive.more<Notification>(1);
  drive.check_read("drain", 64, 64, drain, drive.executor.address(ended), uint64_t{64});
  auto* const lbas = drive.more<uint64_t>(65536);
  drive.check_read("process_completions", 8, 1, process_completions, drive.executor.address(lbas));

  check("publish_payload", drive.run(1, publish_payload, drive.executor.address(drive.words()), word(77)));
  std::vector<uint64_t> block(block_words);
  drive.model->read_blocks(1, free_blocks, 1, block.data());
  check("publish_payload", block[0] == wanted(77));

  drive.model->faults().fail(emulation::Match().with_lba(stored_blocks, stored_blocks), 0x281);  // unrecovered error
  check("errors", !drive.run(1, errors) && drive.status(0) == Status::read_error);
}

const Program program("nvme", all);

}  // namespace snippets::nvme_calls
