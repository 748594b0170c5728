// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue of an NVMe over RDMA controller that the CPU drives: the admin queue, and I/O queues for set-up and
/// tests. Empty without the headers of libibverbs and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/memory.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/fabric_answers.hpp>
#include <xio/host/nvme/fabric_errors.hpp>
#include <xio/host/rdma/cm_connection.hpp>
#include <xio/host/rdma/queue_pair.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/rdma/status.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// Rights of a target: it reads and writes the data of commands.
constexpr int target_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

inline CmPeer peer_of(const FabricOptions& options) {
  return {options.address, options.service, options.local_address};
}

/// Connects a queue pair to a controller, which is told of the queue. Returns the capsules that it can receive.
inline uint32_t connect_fabric(CmConnection& connection, ibv_qp* queue, uint16_t qid, uint32_t entries, uint16_t cntlid,
                               std::chrono::milliseconds limit) {
  nvme::fabrics::RdmaRequest request{};
  request.qid = qid;
  request.receive_entries = static_cast<uint16_t>(entries);
  request.last_entry = static_cast<uint16_t>(entries - 1);
  request.cntlid = cntlid;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&request);
  std::vector<uint8_t> answer;
  try {
    answer = connection.connect(queue, target_access, {bytes, bytes + sizeof request}, limit);
  } catch (const CmRejected& refusal) {
    const std::string why = rejection_text(refusal.private_data);
    if (why.empty()) throw;
    throw Error("fabrics: " + connection.name() + " refused queue " + std::to_string(qid) + ": " + why);
  }
  return accepted_capsules(answer, connection.name());
}

}  // namespace detail

/// One queue, one command at a time: each is sent, and its completion awaited. Usable from several threads. Not
/// movable.
///
/// The target may read and write one buffer of this queue, through which all data goes, and nothing else. A command
/// that does not complete in time, and every error of the connection, ends the queue: what the target does later
/// reaches no memory.
class FabricQueue {
 public:
  /// Connects a queue pair; the first command must be Connect.
  /// @param entries     of the queue, 2 to 65536
  /// @param cntlid      of an I/O queue: that of its admin queue
  /// @param data_bytes  most data of one command
  FabricQueue(const FabricOptions& options, uint16_t qid, uint32_t entries, uint16_t cntlid, uint32_t data_bytes)
      : connection_(detail::peer_of(options), options.connect_limit),
        device_({connection_.device(), connection_.port(), {}}),
        domain_(device_),
        completions_(device_, 2 * entries),
        queue_(device_, domain_, completions_, completions_, sizes(entries)),
        entries_(entries),
        data_bytes_(data_bytes),
        rings_(entries * (sizeof(nvme::Sqe) + sizeof(nvme::Cqe))),
        data_(data_bytes),
        rings_region_(domain_, rings_.data(), rings_.size(), IBV_ACCESS_LOCAL_WRITE),
        data_region_(domain_, data_.data(), data_.size(), detail::target_access) {
    detail::connect_fabric(connection_, queue_.get(), qid, entries, cntlid, options.connect_limit);
    // The queue pair takes receives from INIT on; the target says nothing before it was sent a command.
    for (uint32_t i = 0; i < entries; ++i) post_receive(i);
  }
  FabricQueue(const FabricQueue&) = delete;
  FabricQueue& operator=(const FabricQueue&) = delete;
  ~FabricQueue() {
    connection_.disconnect();
    end("the queue was destroyed");
  }

  uint32_t entries() const { return entries_; }
  uint32_t data_bytes() const { return data_bytes_; }           ///< most data of one command
  const std::string& device() const { return device_.name(); }  ///< RDMA device, as listed by `rdma link`

  /// Why the queue takes no more commands; empty while it does.
  std::string lost() {
    const std::lock_guard<std::mutex> lock(mutex_);
    look_at_connection();
    return lost_;
  }

  /// Runs a command and returns its result, whatever the status.
  /// @param data  what the command writes, or is filled with what it reads
  ///
  /// Throws FabricLost if the completion does not come within `limit`, or the connection is lost; Error, without any
  /// effect, if the data is too large.
  AdminResult run(const nvme::Command& command, Span<unsigned char> data, std::chrono::milliseconds limit) {
    if (data.size() > data_bytes_)
      throw Error("fabrics: " + std::to_string(data.size()) + " bytes of data; one command of this queue moves up to " +
                  std::to_string(data_bytes_));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lost_.empty()) throw FabricLost("fabrics: " + lost_ + "; connect again: reconnect()");
    if (!data.empty()) std::memcpy(data_.data(), data.data(), data.size());
    const auto bytes = static_cast<uint32_t>(data.size());
    const nvme::DataPointer pointer =
        bytes == 0 ? nvme::fabrics::no_data()
                   : nvme::sgl_keyed_data_block(reinterpret_cast<uintptr_t>(data_.data()), bytes, data_region_.rkey());
    post(nvme::encode(command, ++cid_, pointer));
    const nvme::Cqe answer = await(command, limit);
    const AdminResult result{nvme::to_status(nvme::status_field(answer)), answer.dw0, answer.dw1};
    if (!data.empty() && result.status.is_ok() && reads(command)) std::memcpy(data.data(), data_.data(), data.size());
    return result;
  }

 private:
  static constexpr uint64_t send_id = ~uint64_t{0};

  static QueuePairOptions sizes(uint32_t entries) {
    QueuePairOptions options;
    options.send_entries = entries;
    options.receive_entries = entries;
    options.signal_all = true;
    options.access = detail::target_access;
    return options;
  }

  /// Whether the command's data goes to the host: bits 1:0 of the opcode, or of a fabrics command's type.
  static bool reads(const nvme::Command& command) {
    const bool fabrics = command.opcode() == static_cast<uint8_t>(nvme::AdminOpcode::fabrics);
    return ((fabrics ? command.namespace_id : command.opcode()) & 3u) == 2;
  }

  unsigned char* capsule() { return rings_.data() + (cid_ % entries_) * sizeof(nvme::Sqe); }
  unsigned char* response(uint64_t index) {
    return rings_.data() + entries_ * sizeof(nvme::Sqe) + index * sizeof(nvme::Cqe);
  }

  void post_receive(uint64_t index) {
    ibv_sge to{reinterpret_cast<uintptr_t>(response(index)), sizeof(nvme::Cqe), rings_region_.lkey()};
    ibv_recv_wr request{};
    request.wr_id = index;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    const int error = ::ibv_post_recv(queue_.get(), &request, &bad);
    if (error != 0) lose("cannot post a receive: " + std::string(std::strerror(error)));
  }

  void post(const nvme::Sqe& entry) {
    std::memcpy(capsule(), &entry, sizeof entry);
    ibv_sge from{reinterpret_cast<uintptr_t>(capsule()), sizeof entry, rings_region_.lkey()};
    ibv_send_wr request{};
    request.wr_id = send_id;
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    const int error = ::ibv_post_send(queue_.get(), &request, &bad);
    if (error != 0) lose("cannot send a command: " + std::string(std::strerror(error)));
  }

  /// Waits for the completion of the command that was sent last, and until its capsule may be overwritten.
  nvme::Cqe await(const nvme::Command& command, std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds interval{20};  // looking at the connection costs a system call
    const Timeout deadline(limit);
    Timeout look(interval);
    Backoff backoff;
    nvme::Cqe answer{};
    bool sent = false;
    bool answered = false;
    while (!sent || !answered) {
      const bool late = deadline.passed();
      ibv_wc completion{};
      const int count = ::ibv_poll_cq(completions_.get(), 1, &completion);
      if (count < 0) lose("the completion queue is broken");
      if (count > 0) {
        if (completion.status != IBV_WC_SUCCESS) {
          look_at_connection();
          lose(std::string("the queue pair reports: ") + name(static_cast<rdma::VerbsStatus>(completion.status)));
        }
        if (completion.wr_id == send_id) {
          sent = true;
        } else {
          if (completion.byte_len != sizeof answer) lose("a completion has not the size of one");
          std::memcpy(&answer, response(completion.wr_id), sizeof answer);
          if (answered || answer.cid != cid_) lose("a completion of no command");
          answered = true;
          post_receive(completion.wr_id);
        }
        continue;
      }
      if (look.passed()) {
        look_at_connection();
        if (!lost_.empty()) lose({});
        look = Timeout(interval);
      }
      if (late)
        lose((command.opcode() == static_cast<uint8_t>(nvme::AdminOpcode::fabrics)
                  ? std::string("a fabrics command")
                  : admin_command_name(command.opcode())) +
             " did not complete within " + deadline.text());
      backoff.pause();
    }
    return answer;
  }

  void look_at_connection() {
    if (lost_.empty() && !connection_.lost().empty()) end(connection_.lost());
  }

  /// Ends the queue, and what the target may do to its memory.
  void end(const std::string& why) noexcept {
    if (!lost_.empty()) return;
    try {
      lost_ = why;
      queue_.fail();
    } catch (const std::exception&) {
      // It cannot be more lost than it is.
    }
  }
  [[noreturn]] void lose(const std::string& why) {
    end(connection_.name() + ": " + why);
    throw FabricLost("fabrics: " + lost_ + "; connect again: reconnect()");
  }

  CmConnection connection_;
  RdmaDevice device_;
  ProtectionDomain domain_;
  CompletionQueue completions_;
  VerbsQueuePair queue_;
  uint32_t entries_;
  uint32_t data_bytes_;
  std::vector<unsigned char> rings_;
  std::vector<unsigned char> data_;
  MemoryRegion rings_region_;
  MemoryRegion data_region_;
  std::mutex mutex_;
  std::string lost_;
  uint16_t cid_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
