// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Connects the emulated NICs of two processes.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/fabric.hpp>
#include <xio/host/emulation/rdma/shared_pipe.hpp>
#include <xio/host/linux/service_thread.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// The end of a link that a process holds.
enum class RdmaLinkEnd : uint32_t { first, second };

/// Connects the fabrics of two processes through shared memory. Queue pairs keep their numbers, which must differ;
/// addresses and keys are valid in the process that registered the memory.
class RdmaFabricLink {
 public:
  /// @param fabric  must outlive the link, which must exist until its NICs are stopped
  /// @param name    name of the shared memory, equal in both processes, for example "/xio-17". Unlink it with
  ///                SharedMemory::remove().
  /// @param limit   timeout of a request; afterwards the other process counts as disconnected
  RdmaFabricLink(RdmaFabric& fabric, const std::string& name, RdmaLinkEnd end,
                 std::chrono::milliseconds limit = std::chrono::seconds(10))
      : fabric_(fabric), memory_(name, sizeof(Wires)), limit_(limit) {
    auto* const wires = static_cast<Wires*>(memory_.data());
    const auto mine = static_cast<uint32_t>(end);
    asks_ = &wires->requests[mine];
    learns_ = &wires->answers[mine];
    is_asked_ = &wires->requests[1 - mine];
    tells_ = &wires->answers[1 - mine];
    thread_ = host::start_device_thread([this] { serve(); });
  }
  RdmaFabricLink(const RdmaFabricLink&) = delete;
  RdmaFabricLink& operator=(const RdmaFabricLink&) = delete;
  ~RdmaFabricLink() {
    for (const auto& peer : peers_) fabric_.remove(peer->qpn);
    stopping_.store(true);
    thread_.join();
  }

  /// Adds a route: the queue pair `qpn` is in the other process.
  void add(uint32_t qpn) {
    peers_.push_back(std::make_unique<Peer>(*this, qpn));
    fabric_.add(qpn, peers_.back().get());
  }
  /// Returns whether the link is disconnected: a request failed, and no more are sent.
  bool is_cut() const { return cut_.load(); }

 private:
  struct Wires {
    SharedPipe requests[2];
    SharedPipe answers[2];
  };
  struct RequestHeader {
    uint32_t qpn;
    RdmaOperation operation;
    uint8_t solicited;
    uint8_t unused[2];
    uint32_t source_qpn;
    uint32_t rkey;
    uint64_t remote;
    uint64_t swap_add;
    uint64_t compare;
    uint64_t data_bytes;
    uint64_t answer_bytes;
    uint32_t immediate;
    uint32_t unused2;
  };
  struct AnswerHeader {
    RdmaOutcome outcome;
    uint8_t unused[7];
    uint64_t bytes;
  };
  struct Peer final : RdmaPeer {
    Peer(RdmaFabricLink& to, uint32_t number) : link(to), qpn(number) {}
    RdmaOutcome answer(const RdmaRequest& request) override { return link.ask(qpn, request); }
    bool is_far() const override { return true; }
    RdmaFabricLink& link;
    uint32_t qpn;
  };

  host::Timeout soon() const { return host::Timeout(limit_); }

  RdmaOutcome ask(uint32_t qpn, const RdmaRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (cut_.load()) return RdmaOutcome::retry_exceeded;
    RequestHeader header{};
    header.qpn = qpn;
    header.operation = request.operation;
    header.solicited = request.solicited ? 1 : 0;
    header.source_qpn = request.source_qpn;
    header.rkey = request.rkey;
    header.remote = request.remote;
    header.swap_add = request.swap_add;
    header.compare = request.compare;
    header.data_bytes = request.data ? request.data->size() : 0;
    header.answer_bytes = request.answer ? request.answer->size() : 0;
    header.immediate = request.immediate;
    AnswerHeader answer{};
    const auto until = soon();
    bool there = asks_->write(&header, sizeof header, until);
    if (header.data_bytes != 0) there = there && asks_->write(request.data->data(), header.data_bytes, until);
    there = there && learns_->read(&answer, sizeof answer, until);
    there = there && answer.bytes <= header.answer_bytes;
    if (there && request.answer) {
      request.answer->resize(answer.bytes);
      there = learns_->read(request.answer->data(), answer.bytes, until);
    }
    // A partial message in a pipe would be misinterpreted as another one.
    if (!there) cut_.store(true);
    return there ? answer.outcome : RdmaOutcome::retry_exceeded;
  }

  void serve() {
    host::Backoff backoff;
    while (!stopping_.load()) {
      if (!is_asked_->has_data()) {
        backoff.pause();
      } else if (answer_one()) {
        backoff.reset();
      } else {
        cut_.store(true);
        return;
      }
    }
  }

  bool answer_one() {
    const auto until = soon();
    RequestHeader header{};
    if (!is_asked_->read(&header, sizeof header, until)) return false;
    if (header.data_bytes > longest_message || header.answer_bytes > longest_message) return false;
    std::vector<uint8_t> data(header.data_bytes);
    std::vector<uint8_t> back(header.answer_bytes);
    if (!is_asked_->read(data.data(), data.size(), until)) return false;
    RdmaRequest request;
    request.operation = header.operation;
    request.solicited = header.solicited != 0;
    request.source_qpn = header.source_qpn;
    request.rkey = header.rkey;
    request.remote = header.remote;
    request.swap_add = header.swap_add;
    request.compare = header.compare;
    request.immediate = header.immediate;
    request.data = &data;
    request.answer = &back;
    AnswerHeader answer{};
    answer.outcome = fabric_.send(header.qpn, request);
    answer.bytes = back.size();
    return tells_->write(&answer, sizeof answer, until) && tells_->write(back.data(), back.size(), until);
  }

  RdmaFabric& fabric_;
  SharedMemory memory_;
  std::chrono::milliseconds limit_;
  SharedPipe* asks_ = nullptr;      // outgoing requests
  SharedPipe* learns_ = nullptr;    // incoming responses
  SharedPipe* is_asked_ = nullptr;  // incoming requests
  SharedPipe* tells_ = nullptr;     // outgoing responses
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex mutex_;  // one request at a time
  std::atomic<bool> cut_{false};
  std::atomic<bool> stopping_{false};
  host::ServiceThread thread_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
