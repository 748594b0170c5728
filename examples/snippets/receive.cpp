// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: the receive queue of an RDMA queue pair. The peer sends in the same kernel.

#include "link.hpp"

using namespace xio;

namespace snippets::receive_calls {

/// Both sides of a link.
struct Sides {
  rdma::ReceiveQueueHandle handle;
  Region memory;  ///< of the receiver
  rdma::QueuePairHandle peer;
  Region message;  ///< of the sender
};

/// Sends `bytes` bytes from `offset` on. @pre the receive is posted
XIO_DEVICE Status send(const Sides& sides, uint64_t offset, uint32_t bytes, uint32_t immediate, Deadline until) {
  rdma::QueuePair<Vendor, Sharing::thread> qp(sides.peer);
  return qp.wait(qp.send_immediate(sides.message.at(offset, bytes), immediate, until), until);
}

XIO_KERNEL void post(Sides sides, Status* status) {
  const auto [handle, memory, peer, message] = sides;
  const uint64_t offset = 0;
  const uint32_t bytes = piece_bytes;
  //! [post]
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(handle);
  const Deadline until = deadline(5_s);
  const Token token = receives.post(memory.at(offset, bytes), until);  // before the peer sends
  //! [post]
  if (token.submitted()) *status = send(sides, offset, bytes, 0, until);
  const rdma::Received received = receives.wait(token, until);
  if (!received.status.is_ok()) *status = received.status;
}

XIO_KERNEL void post_list(Sides sides, Status* status) {
  const Region memory = sides.memory;
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(sides.handle);
  const Deadline until = deadline(5_s);
  //! [post_list]
  const rdma::Sge parts[] = {{memory.base, 16, memory.key}, {memory.base + 16, 48, memory.key}};
  const Token token = receives.post(rdma::SgeList{parts, 2}, until);  // the header and the rest of a message
  //! [post_list]
  if (token.submitted()) *status = send(sides, 0, piece_bytes, 0, until);
  const rdma::Received received = receives.wait(token, until);
  if (!received.status.is_ok()) *status = received.status;
}

XIO_KERNEL void wait(Sides sides, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(sides.handle);
  const Deadline until = deadline(5_s);
  const Token token = receives.post(sides.memory.at(0, bytes), until);
  const Status sent = token.submitted() ? send(sides, 0, bytes, 42, until) : token.status;
  uint32_t length = 0;
  uint32_t number = 0;
  //! [wait]
  const rdma::Received message = receives.wait(token, until);
  if (message.status.is_ok()) {
    length = message.bytes;
    if ((message.flags & rdma::receive_flag::immediate) != 0) number = message.immediate;
  }
  //! [wait]
  *status = length == bytes && number == 42 ? sent : Status(Status::length_error);
}

XIO_KERNEL void test(Sides sides, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(sides.handle);
  const Deadline until = deadline(5_s);
  const Token token = receives.post(sides.memory.at(0, bytes), until);
  const Status sent = token.submitted() ? send(sides, 0, bytes, 0, until) : token.status;
  //! [test]
  rdma::Received message = receives.test(token);
  for (uint32_t round = 0; message.status == Status::pending && !until.passed(); ++round) {
    arch::pause(round);  // or other work
    message = receives.test(token);
  }
  //! [test]
  *status = message.status.is_ok() ? sent : message.status;
}

XIO_KERNEL void drain(Sides sides, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(sides.handle);
  const Deadline until = deadline(5_s);
  const Token token = receives.post(sides.memory.at(0, bytes), until);
  const Status sent = token.submitted() ? send(sides, 0, bytes, 0, until) : token.status;
  uint32_t arrived = 0;
  //! [drain]
  const auto look = [&] {
    arrived += receives.drain();  // messages that have arrived since the last call
    return arrived != 0;
  };
  const Status how = poll_until(look, until);
  //! [drain]
  *status = how.is_ok() ? sent : how;
}

XIO_KERNEL void forget(Sides sides, Status* status) {
  const uint32_t bytes = piece_bytes;
  rdma::ReceiveQueue<Vendor, Sharing::thread> receives(sides.handle);
  const Deadline until = deadline(5_s);
  Status how;
  for (uint32_t i = 0; i < 4 * receives.handle().shape.entries && how.is_ok(); ++i) {
    const uint64_t offset = uint64_t{i % 16} * bytes;
    //! [forget]
    const Token token = receives.post(sides.memory.at(offset, bytes), until);
    receives.forget(token);  // the result is not needed: the slot is free once a message has arrived
    //! [forget]
    how = token.submitted() ? send(sides, offset, bytes, 0, until) : token.status;
  }
  *status = how;
}

void all() {
  struct Call {
    const char* snippet;
    void (*kernel)(Sides, Status*);
    uint64_t words;
  };
  for (const Call& call :
       {Call{"post", post, piece_words}, Call{"post_list", post_list, piece_words}, Call{"wait", wait, piece_words},
        Call{"test", test, piece_words}, Call{"drain", drain, piece_words}, Call{"forget", forget, 16 * piece_words}}) {
    Link<> link;
    fill(link.near(), call.words, 0);
    const Sides sides{link.peers.peer.receive_handle(), link.peers.peer_local(), link.peers.queue.handle(),
                      link.peers.local()};
    Status status = Status::not_ready;
    host::launch(link.executor, {1, 1}, call.kernel, sides, &status);
    check(call.snippet, status.is_ok() && holds(link.far(), call.words, 0));
  }
}

const Program program("receive", all);

}  // namespace snippets::receive_calls
