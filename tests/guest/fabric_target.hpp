// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A target of NVMe over RDMA that does what a test says, and keeps what it was sent. It answers as much as a
/// host needs up to the properties.

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/rdma/cm_library.hpp>
#include <xio/host/rdma/verbs_library.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/registers.hpp>

namespace guest_tests {

namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

/// What a target does otherwise than it should.
struct Misbehaviour {
  std::optional<fabrics::RdmaStatus> reject;    ///< refuses the connection
  uint32_t connect_bits = 0;                    ///< further bits of Connect's dw0
  bool silent = false;                          ///< answers nothing
  uint16_t cid_offset = 0;                      ///< answers another command
  uint32_t response_bytes = sizeof(nvme::Cqe);  ///< size of completions
  std::optional<uint64_t> write_beyond;         ///< writes as far behind the start of Connect's data, before it answers
};

/// What a host has sent.
struct Received {
  std::vector<uint8_t> request;                 ///< private data of the connection
  std::vector<nvme::Sqe> capsules;              ///< in their order
  std::vector<uint8_t> connect_data;            ///< of the last Connect
  ibv_wc_status write_status = IBV_WC_SUCCESS;  ///< of Misbehaviour::write_beyond
};

class FabricTarget {
 public:
  static constexpr uint16_t cntlid = 0x2a;
  static constexpr uint64_t cap = uint64_t{1} << 37 | uint64_t{20} << 24 | 1 << 16 | 127;

  FabricTarget(const char* address, uint16_t port, const Misbehaviour& misbehaviour = {}) : does_(misbehaviour) {
    const auto& cm = xio::host::rdma_cm();
    channel_ = cm.create_event_channel();
    ::fcntl(channel_->fd, F_SETFL, O_NONBLOCK);
    must(cm.create_id(channel_, &listener_, nullptr, RDMA_PS_TCP), "rdma_create_id");
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &here.sin_addr);
    must(bind_addr_(listener_, reinterpret_cast<sockaddr*>(&here)), "rdma_bind_addr");
    must(listen_(listener_, 4), "rdma_listen");
    thread_ = std::thread([this] { serve(); });
  }
  FabricTarget(const FabricTarget&) = delete;
  FabricTarget& operator=(const FabricTarget&) = delete;
  ~FabricTarget() {
    end_ = true;
    thread_.join();
    drop();
    xio::host::rdma_cm().destroy_id(listener_);
    xio::host::rdma_cm().destroy_event_channel(channel_);
  }

  Received received() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return received_;
  }

 private:
  static constexpr size_t capsule_bytes = 64 + 8192;
  static constexpr size_t slots = 32;
  static constexpr size_t data_at = slots * capsule_bytes;
  static constexpr size_t response_at = data_at + 8192;

  static void must(int result, const char* what) {
    if (result != 0) xio::host::throw_system_error(what, errno);
  }

  void serve() {
    while (!end_) {
      pollfd entry{channel_->fd, POLLIN, 0};
      if (::poll(&entry, 1, queue_ != nullptr ? 0 : 20) > 0) take_event();
      for (ibv_wc done{}; queue_ != nullptr && ::ibv_poll_cq(completions_, 1, &done) == 1;) completed(done);
      std::this_thread::yield();
    }
  }

  void take_event() {
    const auto& cm = xio::host::rdma_cm();
    rdma_cm_event* event = nullptr;
    if (cm.get_cm_event(channel_, &event) != 0) return;
    rdma_cm_id* const id = event->id;
    const rdma_cm_event_type type = event->event;
    std::vector<uint8_t> said;
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      const auto* const bytes = static_cast<const uint8_t*>(event->param.conn.private_data);
      said.assign(bytes, bytes + event->param.conn.private_data_len);
    }
    cm.ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      const std::lock_guard<std::mutex> lock(mutex_);
      received_.request = said;
      if (does_.reject) {
        const fabrics::RdmaReject reject{0, static_cast<uint16_t>(*does_.reject)};
        reject_(id, &reject, sizeof reject);
        cm.destroy_id(id);
      } else {
        accept(id);
      }
    }
    if (type == RDMA_CM_EVENT_DISCONNECTED && id == id_) drop();
  }

  void accept(rdma_cm_id* id) {
    drop();
    const auto& verbs = xio::host::verbs();
    id_ = id;
    domain_ = verbs.alloc_pd(id->verbs);
    completions_ = verbs.create_cq(id->verbs, 128, nullptr, nullptr, 0);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions_;
    wanted.cap = {64, slots, 1, 1, 0};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    must(create_qp_(id, domain_, &wanted), "rdma_create_qp");
    queue_ = id->qp;
    memory_.assign(response_at + slots * sizeof(nvme::Cqe), 0);
    region_ = verbs.reg_mr(domain_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    for (uint64_t i = 0; i < slots; ++i) post_receive(i);
    fabrics::RdmaAccept answer{};
    answer.receive_entries = slots;
    rdma_conn_param how{};
    how.private_data = &answer;
    how.private_data_len = sizeof answer;
    how.initiator_depth = 1;
    how.rnr_retry_count = 7;
    must(accept_(id, &how), "rdma_accept");
  }

  void drop() {
    if (queue_ == nullptr) return;
    const auto& verbs = xio::host::verbs();
    xio::host::rdma_cm().disconnect(id_);
    destroy_qp_(id_);
    verbs.dereg_mr(region_);
    verbs.destroy_cq(completions_);
    verbs.dealloc_pd(domain_);
    xio::host::rdma_cm().destroy_id(id_);
    queue_ = nullptr;
  }

  void post_receive(uint64_t slot) {
    ibv_sge to{reinterpret_cast<uintptr_t>(memory_.data() + slot * capsule_bytes), capsule_bytes, region_->lkey};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    ::ibv_post_recv(queue_, &request, &bad);
  }

  void post(ibv_wr_opcode opcode, size_t at, uint32_t bytes, uint64_t remote, uint32_t key) {
    ibv_sge local{reinterpret_cast<uintptr_t>(memory_.data() + at), bytes, region_->lkey};
    ibv_send_wr request{};
    request.wr_id = ~uint64_t{0};
    request.sg_list = &local;
    request.num_sge = 1;
    request.opcode = opcode;
    request.wr.rdma.remote_addr = remote;
    request.wr.rdma.rkey = key;
    ibv_send_wr* bad = nullptr;
    ::ibv_post_send(queue_, &request, &bad);
  }

  void completed(const ibv_wc& done) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done.opcode == IBV_WC_RDMA_WRITE || (does_.write_beyond && done.status != IBV_WC_SUCCESS)) {
      if (received_.write_status == IBV_WC_SUCCESS) received_.write_status = done.status;
      return;
    }
    if (done.status != IBV_WC_SUCCESS) return;
    // The data of Connect is here: now its answer.
    if (done.opcode == IBV_WC_RDMA_READ) {
      received_.connect_data.assign(memory_.data() + data_at, memory_.data() + response_at);
      received_.connect_data.resize(sizeof(fabrics::ConnectData));
      answer(received_.capsules.back());
    }
    if (done.opcode != IBV_WC_RECV) return;
    nvme::Sqe capsule{};
    std::memcpy(&capsule, memory_.data() + done.wr_id * capsule_bytes, sizeof capsule);
    received_.capsules.push_back(capsule);
    post_receive(done.wr_id);
    if (is(capsule, fabrics::CommandType::connect)) {
      const auto key = static_cast<uint32_t>(capsule.prp2 >> 24);
      if (does_.write_beyond) post(IBV_WR_RDMA_WRITE, data_at, 16, capsule.prp1 + *does_.write_beyond, key);
      post(IBV_WR_RDMA_READ, data_at, sizeof(fabrics::ConnectData), capsule.prp1, key);
    } else {
      answer(capsule);
    }
  }

  static bool is(const nvme::Sqe& capsule, fabrics::CommandType type) {
    return (capsule.cdw0 & 0xff) == 0x7f && capsule.nsid == static_cast<uint32_t>(type);
  }

  void answer(const nvme::Sqe& capsule) {
    if (does_.silent) return;
    nvme::Cqe answer{};
    uint64_t value = 0;
    uint32_t status = nvme::sc::success;
    if (is(capsule, fabrics::CommandType::connect)) {
      value = cntlid | does_.connect_bits;
    } else if (is(capsule, fabrics::CommandType::property_set)) {
      if (capsule.cdw11 == nvme::reg::cc) cc_ = capsule.cdw12;
    } else if (is(capsule, fabrics::CommandType::property_get)) {
      switch (capsule.cdw11) {
        case nvme::reg::cap: value = cap; break;
        case nvme::reg::vs: value = 0x10400; break;
        case nvme::reg::cc: value = cc_; break;
        case nvme::reg::csts: value = (cc_ & 1) | (((cc_ >> 14) & 3) != 0 ? 8 : 0); break;
        default: status = nvme::sc::invalid_field;
      }
    } else {
      status = nvme::sc::invalid_opcode;
    }
    answer.dw0 = static_cast<uint32_t>(value);
    answer.dw1 = static_cast<uint32_t>(value >> 32);
    answer.cid = static_cast<uint16_t>((capsule.cdw0 >> 16) + does_.cid_offset);
    answer.status = static_cast<uint16_t>(nvme::make_status_field(status, status != nvme::sc::success) << 1);
    const size_t at = response_at + received_.capsules.size() % slots * sizeof answer;
    std::memcpy(memory_.data() + at, &answer, sizeof answer);
    post(IBV_WR_SEND, at, does_.response_bytes, 0, 0);
  }

  const xio::host::SharedLibrary library_{{"librdmacm.so.1"}, "install librdmacm1"};
  decltype(&::rdma_bind_addr) bind_addr_ = library_.find("rdma_bind_addr");
  decltype(&::rdma_listen) listen_ = library_.find("rdma_listen");
  decltype(&::rdma_accept) accept_ = library_.find("rdma_accept");
  decltype(&::rdma_reject) reject_ = library_.find("rdma_reject");
  decltype(&::rdma_create_qp) create_qp_ = library_.find("rdma_create_qp");
  decltype(&::rdma_destroy_qp) destroy_qp_ = library_.find("rdma_destroy_qp");
  Misbehaviour does_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_qp* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<uint8_t> memory_;
  uint32_t cc_ = 0;
  std::mutex mutex_;
  Received received_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace guest_tests
