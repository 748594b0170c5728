// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of all formats behind one interface, for tests that every queue must pass: they write pieces of memory
/// to a device that executes on request.

#include <memory>

#include "emulation/rdma_protocol.hpp"

namespace conformance {

using namespace rdma_tests;

/// Parameters of a test's queue.
struct Setup {
  Sharing sharing = Sharing::thread;
  uint32_t depth = 8;
  bool deferred = false;  ///< entries are announced in groups of four
  bool running = false;   ///< the device runs on its own thread
};

/// The queue as seen by its caller; in a kernel, one object per lane.
class AnyQueue {
 public:
  virtual ~AnyQueue() = default;
  /// Writes a piece of memory to its location on the device.
  virtual Token put(uint32_t piece, Deadline until) = 0;
  virtual Token try_put(uint32_t piece) = 0;
  /// Writes `count` pieces from `first` on.
  virtual Token put_batch(uint32_t first, uint32_t count, Deadline until) = 0;
  virtual Token try_batch(uint32_t first, uint32_t count) = 0;
  virtual Status wait(const Token& token, Deadline until) = 0;
  virtual Status wait_batch(const Token& token, Deadline until) = 0;
  virtual Status wait_all(const Token* tokens, uint32_t count, Deadline until) = 0;
  virtual Status wait_any(const Token* tokens, uint32_t count, Deadline until, uint32_t& which) = 0;
  virtual Status test(const Token& token) = 0;
  virtual Status fence(Deadline until) = 0;
  virtual Status quiet(Deadline until) = 0;
  virtual void ring() = 0;
};

/// A queue's device, and the memory of `pieces` pieces on both sides.
class Device {
 public:
  static constexpr uint32_t pieces = 256;

  virtual ~Device() noexcept(false) = default;  // a Rig throws if its host violated the specification
  virtual std::unique_ptr<AnyQueue> queue() = 0;
  /// A session of the queue of a thread or a wave, which ends with the object.
  virtual std::unique_ptr<AnyQueue> session() = 0;
  /// Executes all outstanding work.
  virtual void settle() = 0;
  virtual void stop() = 0;
  /// The `number`-th operation from now on, from 0, fails with failure().
  virtual void fail(uint64_t number) = 0;
  virtual Status::Code failure() const = 0;
  /// Whether operations submitted after a failed one are executed; else they end with Status::flushed.
  virtual bool goes_on_after_a_failure() const = 0;
  /// Reports, by a completion about the `number`-th operation, something that the queue never submitted.
  virtual void confuse(uint64_t number) = 0;
  /// Whether a piece on the device equals the piece in memory.
  virtual bool has(uint32_t piece) = 0;
  /// Number of operations announced to the device.
  virtual uint64_t operations() = 0;
  /// Largest number of operations in flight.
  virtual uint64_t most_in_flight() = 0;
  /// Violations of the device's interface; empty if there are none.
  virtual std::string violations() = 0;
};

/// AnyQueue for a queue type; `Piecewise` defines how a piece is written.
template <class Queue, class Piecewise>
class QueueView final : public AnyQueue {
 public:
  QueueView(const Queue& queue, const Piecewise& how) : queue_(queue), how_(how) {}
  ~QueueView() override {
    if constexpr (!Queue::stored_each_time) queue_.end();
  }
  QueueView(const QueueView&) = delete;
  QueueView& operator=(const QueueView&) = delete;
  Token put(uint32_t piece, Deadline until) override { return how_.put(queue_, piece, until); }
  Token try_put(uint32_t piece) override { return how_.put(queue_, piece, xio::Now{}); }
  Token put_batch(uint32_t first, uint32_t count, Deadline until) override {
    return how_.batch(queue_, first, count, until);
  }
  Token try_batch(uint32_t first, uint32_t count) override { return how_.batch(queue_, first, count, xio::Now{}); }
  Status wait(const Token& token, Deadline until) override { return queue_.wait(token, until); }
  Status wait_batch(const Token& token, Deadline until) override { return queue_.wait_batch(token, until); }
  Status wait_all(const Token* tokens, uint32_t count, Deadline until) override {
    return queue_.wait_all(tokens, count, until);
  }
  Status wait_any(const Token* tokens, uint32_t count, Deadline until, uint32_t& which) override {
    return queue_.wait_any(tokens, count, until, which);
  }
  Status test(const Token& token) override { return queue_.test(token); }
  Status fence(Deadline until) override { return queue_.fence(until); }
  Status quiet(Deadline until) override { return queue_.quiet(until); }
  void ring() override { queue_.ring(); }

 private:
  Queue queue_;
  const Piecewise& how_;
};

/// Creates the queue of a sharing mode and a policy, passed to `make` as a type.
template <template <Sharing, class> class Queue, class Handle, class Piecewise>
std::unique_ptr<AnyQueue> view(const Setup& setup, const Handle& handle, const Piecewise& how) {
  const auto of = [&](auto queue) -> std::unique_ptr<AnyQueue> {
    return std::make_unique<QueueView<decltype(queue), Piecewise>>(queue, how);
  };
  using Late = Policy<Deferred<4>>;
  switch (setup.sharing) {
    case Sharing::thread:
      if (setup.deferred) return of(Queue<Sharing::thread, Late>(handle));
      return of(Queue<Sharing::thread, xio::Policy<>>(handle));
    case Sharing::wave:
      if (setup.deferred) return of(Queue<Sharing::wave, Late>(handle));
      return of(Queue<Sharing::wave, xio::Policy<>>(handle));
    default:
      if (setup.deferred) return of(Queue<Sharing::grid, Late>(handle));
      return of(Queue<Sharing::grid, xio::Policy<>>(handle));
  }
}

template <template <Sharing, class> class Queue, class Handle, class Piecewise>
std::unique_ptr<AnyQueue> session_of(const Setup& setup, const Handle& handle, const Piecewise& how) {
  const auto of = [&](auto session) -> std::unique_ptr<AnyQueue> {
    return std::make_unique<QueueView<decltype(session), Piecewise>>(session, how);
  };
  if (setup.sharing == Sharing::wave) return of(Queue<Sharing::wave, xio::Policy<>>(handle).session());
  return of(Queue<Sharing::thread, xio::Policy<>>(handle).session());
}

/// NVMe: a piece is a logical block.
class NvmeDevice final : public Device {
 public:
  explicit NvmeDevice(const Setup& setup)
      : setup_(setup),
        rig_(setup.running ? NvmeConfig() : stepped(), pieces * block_bytes),
        queue_(rig_.tight_queue(setup.depth)) {
    for (uint32_t i = 0; i < pieces; ++i) stamp(rig_.bytes(i * block_bytes), i, 1, 1);
    for (uint32_t i = 0; i < pieces; ++i) list_.push_back({i, rig_.bus(i * block_bytes), 1});
  }

  std::unique_ptr<AnyQueue> queue() override { return view<Pair>(setup_, queue_.handle(), *this); }
  std::unique_ptr<AnyQueue> session() override { return session_of<Pair>(setup_, queue_.handle(), *this); }
  void settle() override { rig_.model.run(); }
  void stop() override {}
  void fail(uint64_t number) override { rig_.model.faults().fail(on_queue().at(number), write_fault); }
  Status::Code failure() const override { return xio::nvme::to_status(write_fault).code; }
  bool goes_on_after_a_failure() const override { return true; }
  void confuse(uint64_t number) override { rig_.model.faults().duplicate(on_queue().at(number)); }
  bool has(uint32_t piece) override {
    unsigned char block[block_bytes];
    rig_.model.read_blocks(1, piece, 1, block);
    return std::memcmp(block, rig_.bytes(piece * block_bytes), block_bytes) == 0;
  }
  uint64_t operations() override { return rig_.statistics(queue_).commands; }
  uint64_t most_in_flight() override { return rig_.statistics(queue_).max_in_flight; }
  std::string violations() override { return rig_.model.violations()->text(); }

  template <class Queue, class Until>
  Token put(Queue& queue, uint32_t piece, Until until) const {
    return queue.write(piece, region().at(uint64_t{piece} * block_bytes, block_bytes), until);
  }
  template <class Queue, class Until>
  Token batch(Queue& queue, uint32_t first, uint32_t count, Until until) const {
    return queue.submit_batch(xio::nvme::Opcode::write, &list_[first], count, until);
  }

 private:
  static constexpr uint32_t block_bytes = 512;
  static constexpr uint16_t write_fault = 0x280;
  template <Sharing S, class Policy>
  using Pair = Queue<S, Policy>;

  Match on_queue() const { return Match().on_queue(static_cast<uint16_t>(queue_.qid())); }
  Region region() const { return {rig_.bus(), pieces * block_bytes}; }

  Setup setup_;
  Rig rig_;
  NvmeQueue queue_;
  std::vector<xio::nvme::Piece> list_;
};

/// RDMA: a piece is 64 bytes of the peer's memory.
template <class Kit>
class RdmaDevice final : public Device {
 public:
  explicit RdmaDevice(const Setup& setup) : setup_(setup) {
    rig_.near.limit_depth(setup.depth);
    for (uint32_t i = 0; i < pieces; ++i) stamp(&rig_.near_bytes[i * piece_bytes], i, 1, 1, piece_bytes);
    for (uint32_t i = 0; i < pieces; ++i)
      list_.push_back({rig_.remote.at(i * piece_bytes, piece_bytes), rig_.local.at(i * piece_bytes, piece_bytes)});
    if (setup.running) rig_.running();
  }

  std::unique_ptr<AnyQueue> queue() override { return view<Pair>(setup_, rig_.near.handle(), *this); }
  std::unique_ptr<AnyQueue> session() override { return session_of<Pair>(setup_, rig_.near.handle(), *this); }
  void settle() override { rdma_tests::settle(rig_.nic); }
  void stop() override { rig_.nic.stop(); }
  void fail(uint64_t number) override {
    rig_.near.model().faults().fail(operations() + number, RdmaOutcome::remote_access);
  }
  Status::Code failure() const override { return Status::access_denied; }
  bool goes_on_after_a_failure() const override { return false; }
  void confuse(uint64_t number) override { rig_.near.model().faults().misname(number); }
  bool has(uint32_t piece) override {
    return std::memcmp(&rig_.far_bytes[piece * piece_bytes], &rig_.near_bytes[piece * piece_bytes], piece_bytes) == 0;
  }
  uint64_t operations() override { return rig_.near.model().statistics().operations; }
  uint64_t most_in_flight() override { return rig_.near.model().statistics().most_in_flight; }
  std::string violations() override { return rig_.violations(); }

  template <class Queue, class Until>
  Token put(Queue& queue, uint32_t piece, Until until) const {
    return queue.put(list_[piece].remote, list_[piece].local, until);
  }
  template <class Queue, class Until>
  Token batch(Queue& queue, uint32_t first, uint32_t count, Until until) const {
    return queue.submit_batch(xio::rdma::Operation::put, &list_[first], count, until);
  }

 private:
  static constexpr uint32_t piece_bytes = 64;
  template <Sharing S, class Policy>
  using Pair = QueuePair<typename Kit::Vendor, S, Policy>;

  Setup setup_;
  RdmaRig<Kit> rig_;
  std::vector<xio::rdma::Piece> list_;
};

template <class Kits>
struct FormatsOf;
template <class... Kit>
struct FormatsOf<std::tuple<Kit...>> {
  using type = std::tuple<NvmeDevice, RdmaDevice<Kit>...>;
};
/// All formats, for TEMPLATE_LIST_TEST_CASE.
using Formats = FormatsOf<xio::emulation::RdmaKits>::type;

}  // namespace conformance
