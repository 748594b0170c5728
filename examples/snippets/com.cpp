// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: the primitives under a queue, results, deadlines and memory. The program
/// itself acts as the device and reads the queue's memory.

#include <string>

#include <xio/host/launch.hpp>
#include <xio/xio.hpp>

#include "check.hpp"

using namespace xio;

namespace snippets::com_calls {

XIO_KERNEL void enqueue(nvme::Sqe* ring, uint32_t* doorbell, uint64_t bus) {
  const uint32_t tail = 3;
  const uint64_t lba = 100;
  //! [XioComEnqueue]
  const nvme::Sqe entry = nvme::encode(nvme::read(lba, 8), /*cid*/ tail, {bus, 0});
  XioComEnqueue(entry, ring, tail);    // 64 bytes, in stores of 16
  XioComDoorbell(doorbell, tail + 1);  // after the entry is visible to the device
  //! [XioComEnqueue]
}

XIO_KERNEL void enqueue_more(nvme::Sqe* ring, uint32_t* doorbell, const nvme::Sqe* ready) {
  nvme::Sqe* const slot = ring;
  const nvme::Sqe entry = *ready;
  //! [enqueue_address]
  XioComEnqueue<store::Through>(entry, slot);  // written through: the doorbell needs no release of caches
  XioComDoorbell<order::Stored>(doorbell, 1u);
  //! [enqueue_address]
  //! [enqueue_bytes]
  XioComEnqueue<sizeof(nvme::Sqe), /*Fence*/ true>(ready, slot + 1);
  XioComDoorbell<order::Relaxed>(doorbell, 2u);  // the fence has released the entry
  //! [enqueue_bytes]
}

XIO_KERNEL void enqueue_lanes(nvme::Sqe* ring, uint32_t* doorbell, uint64_t bus) {
  const uint32_t tail = 0;
  //! [enqueue_wave]
  const uint64_t lanes = arch::active();
  const uint32_t slot = tail + arch::lane();
  enqueue_wave(lanes, lanes, nvme::encode(nvme::read(slot, 1), slot, {bus, 0}), ring, slot);
  arch::converge(lanes);  // all entries are stored
  if (arch::is_first(lanes)) XioComDoorbell(doorbell, tail + arch::count_lanes(lanes));
  //! [enqueue_wave]
}

XIO_KERNEL void dequeue(const nvme::Cqe* ring, uint32_t* doorbell, Status* status, uint16_t* cid) {
  const uint32_t head = 0;
  const uint64_t phase = 1;
  const Deadline until = deadline(5_s);
  //! [XioComDequeue]
  const auto* const word = reinterpret_cast<const uint64_t*>(ring + head) + 1;  // the half with the phase bit
  const auto arrived = [&] { return (arch::observe<arch::Scope::system>(word) >> 48 & 1) == phase; };
  Status how = poll_until(arrived, until);
  if (how.is_ok()) {
    const nvme::Cqe entry = XioComDequeue(ring + head);
    *cid = entry.cid;
    XioComDoorbell(doorbell, head + 1);
  }
  //! [XioComDequeue]
  *status = how;
}

XIO_KERNEL void wait_for_word(uint64_t* word, Status* status) {
  //! [wait_until]
  const Deadline until = deadline(5_s);
  const Status how = wait_until(word, 1, until);  // a peer, a drain or the CPU stores 1 or more
  if (how == Status::timed_out) {
    // Nothing was stored within five seconds.
  }
  //! [wait_until]
  uint32_t left = 1000;
  //! [poll_until]
  const auto look = [&] { return --left == 0; };  // any condition
  const Status polled = poll_until(look, deadline(5_s));
  //! [poll_until]
  *status = how.is_ok() ? polled : how;
}

XIO_KERNEL void passed(uint64_t* rounds) {
  //! [Deadline]
  const Deadline until = deadline(100_us);
  while (!until.passed()) ++*rounds;
  //! [Deadline]
}

void values() {
  const Region region{0x10000, 4096, 7};
  const uint64_t offset = 4000;
  //! [at]
  const RegionSpan piece = region.at(offset, 512);  // calls reject a piece outside its region
  const bool refused = !piece.reach.is_inside();
  //! [at]
  check("at", refused != (damage != 0) && region.at(0, 4096).reach.is_inside());
  const rdma::RemoteMemory remote{0x10000, 4096, 7};
  //! [remote_at]
  const rdma::RemoteSpan there = remote.at(1024, 64);
  //! [remote_at]
  check("remote_at", there.address == 0x10400 && there.rkey == 7);

  const Status status = Status::would_block;
  std::string told;
  //! [Status]
  if (status == Status::would_block) {
    told = "try again";
  } else if (status.from_device()) {
    told = "the device reports " + std::to_string(status.vendor);
  } else if (!status.is_ok()) {
    told = name(status.code);
  }
  //! [Status]
  check("Status", told == "try again");

  const Token token = Token::refused(Status::out_of_range);
  //! [Token]
  if (!token.submitted()) told = name(token.status.code);  // refused: nothing is in flight; a wait returns immediately
  //! [Token]
  check("Token", told == "out_of_range");
  //! [pack]
  const uint64_t word = token.pack();  // through C, Python or a word of memory
  const Token again = Token::unpack(word);
  //! [pack]
  check("pack", again.status == (damage == 0 ? token.status : Status()));

  constexpr auto constant = [] {
    //! [constexpr]
    nvme::Sqe ring[4] = {};
    XioComEnqueue(nvme::encode(nvme::flush(), 9), ring, 2);  // also in constant evaluation
    return XioComDequeue(ring + 2).cdw0;
    //! [constexpr]
  }();
  check("constexpr", constant == 9u << 16);
}

void all() {
  values();
  const host::Executor executor = host::default_executor();
  alignas(64) nvme::Sqe ring[64] = {};
  alignas(64) nvme::Cqe completions[4] = {};
  uint32_t doorbell = 0;
  host::launch(executor, {1, 1}, enqueue, ring, &doorbell, word(1));
  check("XioComEnqueue", doorbell == 4 && ring[3].cdw10 == 100 && ring[3].prp1 == wanted(1));
  const nvme::Sqe ready = ring[3];
  host::launch(executor, {1, 1}, enqueue_more, ring, &doorbell, &ready);
  check("enqueue_bytes", doorbell == 2 && ring[0].prp1 == wanted(1) && ring[1].prp1 == wanted(1));
  host::launch(executor, {1, 64}, enqueue_lanes, ring, &doorbell, word(2));
  bool good = doorbell == 64;
  for (uint32_t i = 0; i < 64; ++i) good = good && ring[i].cdw10 == i && ring[i].prp1 == wanted(2);
  check("enqueue_wave", good);

  Status status = Status::not_ready;
  uint16_t cid = 0;
  completions[0] = {0, 0, 1, 1, 5, /*phase*/ 1};
  host::launch(executor, {1, 1}, dequeue, completions, &doorbell, &status, &cid);
  check("XioComDequeue", status.is_ok() && cid == (5 ^ damage) && doorbell == 1);
  uint64_t arrived = 1;
  status = Status::not_ready;
  host::launch(executor, {1, 1}, wait_for_word, &arrived, &status);
  check("wait_until", status.is_ok());
  uint64_t rounds = 0;
  host::launch(executor, {1, 1}, passed, &rounds);
  check("Deadline", rounds > 0);
}

const Program program("com", all);

}  // namespace snippets::com_calls
