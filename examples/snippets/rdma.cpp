// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: calls of an RDMA queue pair. The NICs are emulated.

#include <vector>

#include "link.hpp"

using namespace xio;
using rdma::QueuePairHandle;
using rdma::RemoteMemory;

namespace snippets::rdma_calls {

XIO_KERNEL void queue_pair(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  //! [queue_pair]
  rdma::QueuePair<mlx5::Vendor<>, Sharing::wave> qp(handle);
  const Deadline until = qp.deadline(5_s);
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  status[i] = qp.wait(token, until);
  //! [queue_pair]
}

XIO_KERNEL void session(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  Status how;
  //! [session]
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  auto session = qp.session();  // from here on, the queue's state is in registers
  for (uint64_t at = 0; at < uint64_t{64} * bytes && how.is_ok(); at += bytes) {
    const Deadline until = session.deadline(5_s);
    how = session.wait(session.put(remote.at(at, bytes), local.at(at, bytes), until), until);
  }
  session.end();  // writes it back; the queue pair may be used again
  //! [session]
  *status = how;
}

XIO_KERNEL void deadline(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  //! [deadline]
  const Deadline until = qp.deadline(5_s);  // for the post and the wait together
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  status[i] = qp.wait(token, until);
  //! [deadline]
}

XIO_KERNEL void submit(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [submit]
  rdma::Work work;
  work.operation = rdma::Operation::put;
  work.flags = rdma::work_flag::signaled | rdma::work_flag::fence;
  work.remote = remote.base + offset;
  work.rkey = remote.rkey;
  const Token token = qp.submit(work, rdma::OneSge{{local.base + offset, bytes, local.key}}, until);
  status[i] = qp.wait(token, until);
  //! [submit]
}

XIO_KERNEL void try_submit(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  rdma::Work work;
  work.flags = rdma::work_flag::signaled;
  work.remote = remote.base + offset;
  work.rkey = remote.rkey;
  //! [try_submit]
  const Token token = qp.try_submit(work, rdma::OneSge{{local.base + offset, bytes, local.key}});
  if (token.status == Status::would_block) {
    // The queue is full: do something else, and try again later.
  }
  //! [try_submit]
  status[i] = qp.wait(token, until);
}

XIO_KERNEL void submit_batch(QueuePairHandle handle, Region, RemoteMemory, Status* status, const rdma::Piece* pieces,
                             uint32_t count) {
  //! [submit_batch]
  rdma::QueuePair<Vendor, Sharing::wave> qp(handle);
  const Deadline until = qp.deadline(5_s);
  const Token batch = qp.submit_batch(rdma::Operation::put, pieces, count, until);  // the same token in all lanes
  const Status how = qp.wait_batch(batch, until);                                   // and the same status
  //! [submit_batch]
  status[arch::thread_index()] = how;
}

XIO_KERNEL void put(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [put]
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  status[i] = qp.wait(token, until);
  //! [put]
}

XIO_KERNEL void put_immediate(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [put_immediate]
  const RegionSpan from = local.at(offset, bytes);
  const Token token = qp.put_immediate(remote.at(offset, bytes), from, /*immediate*/ i, until);
  status[i] = qp.wait(token, until);  // the peer has posted a receive, whose completion carries `i`
  //! [put_immediate]
}

XIO_KERNEL void get(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [get]
  const Token token = qp.get(local.at(offset, bytes), remote.at(offset, bytes), until);
  status[i] = qp.wait(token, until);  // once it is ok, the data is visible
  //! [get]
}

XIO_KERNEL void put_value(QueuePairHandle handle, Region, RemoteMemory remote, Status* status) {
  const uint32_t i = part().i;
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  const uint64_t value = (i + uint64_t{1}) * 0x9e3779b97f4a7c15;
  //! [put_value]
  const Token token = qp.put_value(remote.at(uint64_t{i} * 8, 8), value, until);
  status[i] = qp.wait(token, until);
  //! [put_value]
}

XIO_KERNEL void send(QueuePairHandle handle, Region local, RemoteMemory, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [send]
  const Token token = qp.send(local.at(0, bytes), until);  // the peer has posted a receive
  *status = qp.wait(token, until);
  //! [send]
}

XIO_KERNEL void send_immediate(QueuePairHandle handle, Region local, RemoteMemory, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [send_immediate]
  const Token token = qp.send_immediate(local.at(0, bytes), /*immediate*/ 42, until);
  *status = qp.wait(token, until);
  //! [send_immediate]
}

XIO_KERNEL void send_invalidate(QueuePairHandle handle, Region local, RemoteMemory, Status* status, uint32_t rkey) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [send_invalidate]
  const Token token = qp.send_invalidate(local.at(0, bytes), rkey, until);  // and the peer's `rkey` becomes invalid
  *status = qp.wait(token, until);
  //! [send_invalidate]
}

XIO_KERNEL void put_signal(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [put_signal]
  const rdma::RemoteSpan signal = remote.at(4096, 8);
  const Token token = qp.put_signal(remote.at(0, bytes), local.at(0, bytes), signal, /*value*/ 1, until);
  *status = qp.wait(token, until);  // for both; a kernel of the peer waits with wait_until(word, 1, until)
  //! [put_signal]
}

XIO_KERNEL void put_signal_from(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<emulation::ErnicKit::Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [put_signal_from]
  const RegionSpan one = local.at(4096, 8);  // holds the number 1
  const Token token = qp.put_signal(remote.at(0, bytes), local.at(0, bytes), remote.at(4096, 8), one, until);
  *status = qp.wait(token, until);
  //! [put_signal_from]
}

XIO_KERNEL void fetch_add(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t i = part().i;
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [fetch_add]
  const RegionSpan old = local.at(uint64_t{i} * 8, 8);
  const Token token = qp.fetch_add(remote.at(0, 8), /*add*/ 1, old, until);
  status[i] = qp.wait(token, until);  // then `old` holds the previous value
  //! [fetch_add]
}

XIO_KERNEL void compare_swap(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [compare_swap]
  const RegionSpan old = local.at(0, 8);
  const Token token = qp.compare_swap(remote.at(0, 8), /*compare*/ 0, /*swap*/ 7, old, until);
  *status = qp.wait(token, until);  // then `old` holds 0 if the swap took place
  //! [compare_swap]
}

XIO_KERNEL void wait(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [wait]
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  const Status how = qp.wait(token, until);
  if (how == Status::timed_out) return;  // the NIC may still read the piece
  //! [wait]
  status[i] = how;
}

XIO_KERNEL void wait_all(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t i = part().i;
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [wait_all]
  Token tokens[4];
  for (uint32_t k = 0; k < 4; ++k) {
    const uint64_t at = (uint64_t{i} * 4 + k) * bytes;
    tokens[k] = qp.put(remote.at(at, bytes), local.at(at, bytes), until);
  }
  status[i] = qp.wait_all(tokens, 4, until);  // ok, or the first error
  //! [wait_all]
}

XIO_KERNEL void wait_any(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [wait_any]
  const Token tokens[] = {qp.put(remote.at(0, bytes), local.at(0, bytes), until),
                          qp.put(remote.at(bytes, bytes), local.at(bytes, bytes), until)};
  uint32_t which = 0;
  const Status first = qp.wait_any(tokens, 2, until, which);  // tokens[which] has ended
  const Status other = qp.wait(tokens[1 - which], until);
  //! [wait_any]
  *status = first.is_ok() ? other : first;
}

XIO_KERNEL void test(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [test]
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  Status how = qp.test(token);
  for (uint32_t round = 0; how == Status::pending && !until.passed(); ++round) {
    arch::pause(round);  // or other work
    how = qp.test(token);
  }
  //! [test]
  status[i] = how;
}

XIO_KERNEL void fence(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [fence]
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  const Status fenced = qp.fence(until);  // every operation posted so far has ended
  //! [fence]
  const Status how = qp.wait(token, until);
  status[i] = fenced.is_ok() ? how : fenced;
}

XIO_KERNEL void quiet(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [quiet]
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  status[i] = token.submitted() ? qp.quiet(until) : token.status;  // the first error of all operations
  //! [quiet]
}

XIO_KERNEL void invalidate(QueuePairHandle handle, Region, RemoteMemory, Status* status, uint32_t lkey) {
  rdma::QueuePair<ionic::Vendor<>, Sharing::thread> qp(handle);
  //! [invalidate]
  const Status how = qp.invalidate(lkey, qp.deadline(5_s));  // once it is ok, the NIC refuses the key
  //! [invalidate]
  *status = how;
}

XIO_KERNEL void flush_inbound(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const auto [i, offset, bytes] = part();
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const Deadline until = qp.deadline(5_s);
  //! [flush_inbound]
  const Token token = qp.get(local.at(offset, bytes), remote.at(offset, bytes), until);  // to the GPU's memory
  Status how = qp.wait(token, until);
  if (how.is_ok()) how = qp.flush_inbound(until);  // the data is visible from here on
  //! [flush_inbound]
  status[i] = how;
}

XIO_KERNEL void ring_once(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  //! [ring]
  rdma::QueuePair<Vendor, Sharing::thread, Policy<Deferred<16>>> qp(handle);
  const Deadline until = qp.deadline(5_s);
  const Token first = qp.put(remote.at(0, bytes), local.at(0, bytes), until);
  const Token second = qp.put(remote.at(bytes, bytes), local.at(bytes, bytes), until);
  qp.ring();  // rings the doorbell once for both
  //! [ring]
  const Status how = qp.wait(first, until);
  *status = how.is_ok() ? qp.wait(second, until) : how;
}

XIO_KERNEL void drain(QueuePairHandle handle, Region local, RemoteMemory remote, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  const Token token = qp.put(remote.at(0, bytes), local.at(0, bytes), until);
  uint32_t taken = 0;
  //! [drain]
  const auto look = [&] {
    taken += qp.drain();  // consumes completions: the queue has space again
    return taken != 0;
  };
  const Status how = poll_until(look, until);
  //! [drain]
  *status = how.is_ok() ? qp.wait(token, until) : how;
}

void sends() {
  check_put("put_immediate", 32 * piece_words, 32, 32, put_immediate);
  check_put("send", piece_words, 1, 1, send);
  check_put("send_immediate", piece_words, 1, 1, send_immediate);
  Link<> link;
  const uint32_t key = link.peers.fabric.keys().add(link.far(), 64);
  fill(link.near(), piece_words, 0);
  check("send_invalidate", link.receive(1) && link.run(1, send_invalidate, key) && holds(link.far(), piece_words, 0));
  check("send_invalidate", !link.peers.fabric.keys().remove(key));
  Link<emulation::IonicKit<>> other;
  const uint32_t local = other.peers.fabric.keys().add(other.near(), 64);
  check("invalidate", other.run(1, invalidate, local) && !other.peers.fabric.keys().remove(local));
}

void words() {
  check_put("put_value", 64, 64, 0, put_value);
  Link<> link;
  fill(link.near(), piece_words, 0);
  check("put_signal", link.run(1, put_signal) && holds(link.far(), piece_words, 0) && link.far()[512] == 1);
  Link<emulation::ErnicKit> other;
  fill(other.near(), piece_words, 0);
  other.near()[512] = 1;
  check("put_signal_from",
        other.run(1, put_signal_from) && holds(other.far(), piece_words, 0) && other.far()[512] == 1);
  Link<> counter;
  check("fetch_add", counter.run(64, fetch_add) && counter.far()[0] == (64 ^ damage));
  Link<> lock;
  check("compare_swap", lock.run(1, compare_swap) && lock.far()[0] == (7 ^ damage) && lock.near()[0] == 0);
}

struct Call {
  const char* snippet;
  void (*kernel)(QueuePairHandle, Region, RemoteMemory, Status*);
};

void all() {
  for (const Call& call : {Call{"queue_pair", queue_pair}, Call{"deadline", deadline}, Call{"submit", submit},
                           Call{"try_submit", try_submit}, Call{"put", put}, Call{"wait", wait}, Call{"test", test},
                           Call{"fence", fence}, Call{"quiet", quiet}})
    check_put(call.snippet, 64 * piece_words, 64, 0, call.kernel);
  check_put("session", 64 * piece_words, 1, 0, session);
  check_put("wait_all", 256 * piece_words, 64, 0, wait_all);
  check_put("wait_any", 2 * piece_words, 1, 0, wait_any);
  check_put("ring", 2 * piece_words, 1, 0, ring_once);
  check_put("drain", piece_words, 1, 0, drain);
  check_get("get", 64 * piece_words, 64, get);
  check_get("flush_inbound", 64 * piece_words, 64, flush_inbound);
  sends();
  words();

  Link<> link;
  std::vector<rdma::Piece> pieces;
  for (uint32_t i = 0; i < 32; ++i) {
    const uint64_t at = uint64_t{i} * piece_bytes;
    pieces.push_back({link.peers.remote().at(at, piece_bytes), link.peers.local().at(at, piece_bytes)});
  }
  fill(link.near(), 32 * piece_words, 0);
  check("submit_batch", link.run(64, submit_batch, pieces.data(), 32u) && holds(link.far(), 32 * piece_words, 0));
}

const Program program("rdma", all);

}  // namespace snippets::rdma_calls
