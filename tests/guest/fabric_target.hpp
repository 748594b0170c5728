// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A target of NVMe over RDMA that does what a test says, and keeps what it was sent. It answers as much as a
/// host needs up to the properties; with a disk, as much as one needs to read, write and flush.

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/rdma/cm_library.hpp>
#include <xio/host/rdma/verbs_library.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/registers.hpp>

namespace guest_tests {

namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

/// What a target does otherwise than it should; and whether it has a disk.
struct Misbehaviour {
  bool disk = false;                            ///< namespace 1, of zeros, which stores nothing; one I/O queue
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
  static constexpr uint32_t version = 0x10400;
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
    drop(nullptr);
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
  static constexpr size_t most_data = 128 * 1024;
  static constexpr size_t data_at = slots * capsule_bytes;  // data of hosts
  static constexpr size_t zeros_at = data_at + most_data;   // data for hosts
  static constexpr size_t pages_at = zeros_at + most_data;  // of Identify, one for each slot
  static constexpr size_t response_at = pages_at + slots * nvme::identify_bytes;
  static constexpr uint32_t blocks = 4096;
  static constexpr uint32_t block_shift = 9;

  struct Connection {
    rdma_cm_id* id = nullptr;
    bool admin = true;
    ibv_pd* domain = nullptr;
    ibv_cq* completions = nullptr;
    ibv_qp* queue = nullptr;
    ibv_mr* region = nullptr;
    std::vector<uint8_t> memory;
    uint64_t answers = 0;
  };

  static void must(int result, const char* what) {
    if (result != 0) xio::host::throw_system_error(what, errno);
  }

  void serve() {
    while (!end_) {
      pollfd entry{channel_->fd, POLLIN, 0};
      if (::poll(&entry, 1, connections_.empty() ? 20 : 0) > 0) take_event();
      for (Connection& one : connections_)
        for (ibv_wc done{}; ::ibv_poll_cq(one.completions, 1, &done) == 1;) completed(one, done);
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
        fabrics::RdmaRequest request{};
        std::memcpy(&request, said.data(), std::min(said.size(), sizeof request));
        accept(id, request.qid == 0);
      }
    }
    if (type == RDMA_CM_EVENT_DISCONNECTED) drop(id);
  }

  void accept(rdma_cm_id* id, bool admin) {
    const auto& verbs = xio::host::verbs();
    Connection& to = connections_.emplace_back();
    to.id = id;
    to.admin = admin;
    to.domain = verbs.alloc_pd(id->verbs);
    to.completions = verbs.create_cq(id->verbs, 256, nullptr, nullptr, 0);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = to.completions;
    wanted.cap = {2 * slots, slots, 1, 1, 0};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    must(create_qp_(id, to.domain, &wanted), "rdma_create_qp");
    to.queue = id->qp;
    to.memory.assign(response_at + slots * sizeof(nvme::Cqe), 0);
    to.region = verbs.reg_mr(to.domain, to.memory.data(), to.memory.size(), IBV_ACCESS_LOCAL_WRITE);
    for (uint64_t i = 0; i < slots; ++i) post_receive(to, i);
    fabrics::RdmaAccept answer{};
    answer.receive_entries = slots;
    rdma_conn_param how{};
    how.private_data = &answer;
    how.private_data_len = sizeof answer;
    how.initiator_depth = 1;
    how.rnr_retry_count = 7;
    must(accept_(id, &how), "rdma_accept");
  }

  /// Ends a connection, or all of them.
  void drop(const rdma_cm_id* id) {
    const auto& verbs = xio::host::verbs();
    connections_.remove_if([&](Connection& one) {
      if (id != nullptr && one.id != id) return false;
      xio::host::rdma_cm().disconnect(one.id);
      destroy_qp_(one.id);
      verbs.dereg_mr(one.region);
      verbs.destroy_cq(one.completions);
      verbs.dealloc_pd(one.domain);
      xio::host::rdma_cm().destroy_id(one.id);
      return true;
    });
  }

  static void post_receive(Connection& on, uint64_t slot) {
    ibv_sge to{reinterpret_cast<uintptr_t>(on.memory.data() + slot * capsule_bytes), capsule_bytes, on.region->lkey};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    ::ibv_post_recv(on.queue, &request, &bad);
  }

  static void post(Connection& on, ibv_wr_opcode opcode, size_t at, uint32_t bytes, uint64_t remote, uint32_t key,
                   uint64_t wr_id = ~uint64_t{0}) {
    ibv_sge local{reinterpret_cast<uintptr_t>(on.memory.data() + at), bytes, on.region->lkey};
    ibv_send_wr request{};
    request.wr_id = wr_id;
    request.sg_list = &local;
    request.num_sge = 1;
    request.opcode = opcode;
    request.wr.rdma.remote_addr = remote;
    request.wr.rdma.rkey = key;
    ibv_send_wr* bad = nullptr;
    ::ibv_post_send(on.queue, &request, &bad);
  }

  void completed(Connection& on, const ibv_wc& done) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done.opcode == IBV_WC_RDMA_WRITE || (does_.write_beyond && done.status != IBV_WC_SUCCESS)) {
      if (received_.write_status == IBV_WC_SUCCESS) received_.write_status = done.status;
      return;
    }
    if (done.status != IBV_WC_SUCCESS) return;
    // The data of Connect or of a write is here: now its answer.
    if (done.opcode == IBV_WC_RDMA_READ) {
      const nvme::Sqe capsule = received_.capsules[done.wr_id];
      if (is(capsule, fabrics::CommandType::connect)) {
        received_.connect_data.assign(on.memory.data() + data_at,
                                      on.memory.data() + data_at + sizeof(fabrics::ConnectData));
      }
      answer(on, capsule);
    }
    if (done.opcode != IBV_WC_RECV) return;
    nvme::Sqe capsule{};
    std::memcpy(&capsule, on.memory.data() + done.wr_id * capsule_bytes, sizeof capsule);
    received_.capsules.push_back(capsule);
    post_receive(on, done.wr_id);
    const bool of_fabrics = (capsule.cdw0 & 0xff) == 0x7f;
    if (is(capsule, fabrics::CommandType::connect)) {
      if (does_.write_beyond)
        post(on, IBV_WR_RDMA_WRITE, data_at, 16, capsule.prp1 + *does_.write_beyond, key_of(capsule));
      fetch(on, capsule, sizeof(fabrics::ConnectData));
    } else if (does_.disk && !of_fabrics) {
      if (on.admin)
        execute_admin(on, capsule);
      else
        execute(on, capsule);
    } else {
      answer(on, capsule);
    }
  }

  static uint32_t key_of(const nvme::Sqe& capsule) { return static_cast<uint32_t>(capsule.prp2 >> 24); }
  static uint32_t bytes_of(const nvme::Sqe& capsule) { return static_cast<uint32_t>(capsule.prp2 & 0xffffff); }

  /// Reads the data of the last capsule, which is answered then.
  void fetch(Connection& on, const nvme::Sqe& capsule, uint32_t bytes) {
    post(on, IBV_WR_RDMA_READ, data_at, bytes, capsule.prp1, key_of(capsule), received_.capsules.size() - 1);
  }
  /// Answers with data.
  void give(Connection& on, const nvme::Sqe& capsule, size_t at, uint32_t bytes) {
    post(on, IBV_WR_RDMA_WRITE, at, bytes, capsule.prp1, key_of(capsule));
    answer(on, capsule);
  }

  void execute(Connection& on, const nvme::Sqe& capsule) {
    switch (static_cast<nvme::Opcode>(capsule.cdw0 & 0xff)) {
      case nvme::Opcode::write: return fetch(on, capsule, bytes_of(capsule));
      case nvme::Opcode::read: return give(on, capsule, zeros_at, bytes_of(capsule));
      case nvme::Opcode::flush: return answer(on, capsule);
      default: return answer(on, capsule, nvme::sc::invalid_opcode);
    }
  }

  void execute_admin(Connection& on, const nvme::Sqe& capsule) {
    switch (static_cast<nvme::AdminOpcode>(capsule.cdw0 & 0xff)) {
      case nvme::AdminOpcode::identify: return identify(on, capsule);
      case nvme::AdminOpcode::async_event_request: return;  // nothing ever happens
      case nvme::AdminOpcode::set_features:                 // one queue, where it is asked for
      case nvme::AdminOpcode::keep_alive: return answer(on, capsule);
      default: return answer(on, capsule, nvme::sc::invalid_opcode);
    }
  }

  /// Fields by their offsets in NVM Express Base Specification 2.1, Identify.
  void identify(Connection& on, const nvme::Sqe& capsule) {
    const size_t at = pages_at + on.answers % slots * nvme::identify_bytes;
    uint8_t* const page = on.memory.data() + at;
    std::memset(page, 0, nvme::identify_bytes);
    const auto put = [&](size_t offset, uint64_t value, size_t bytes) { std::memcpy(page + offset, &value, bytes); };
    constexpr uint64_t unique = 0x3230584944454d46;
    switch (capsule.cdw10 & 0xff) {
      case 0:
        for (const size_t offset : {size_t{0}, size_t{8}, size_t{16}}) put(offset, blocks, 8);
        put(120, unique, 8);
        put(128, block_shift << 16, 4);
        break;
      case 1:
        std::memset(page + 4, ' ', 68);
        put(77, 5, 1);  // 128 KiB
        put(78, cntlid, 2);
        put(80, version, 4);
        put(111, 1, 1);
        put(320, 10, 2);  // keep alive: a second
        put(512, 0x66, 1);
        put(513, 0x44, 1);
        put(514, 128, 2);
        put(516, 1, 4);
        put(525, 1, 1);           // a volatile cache, which can be flushed
        put(536, 1 | 1 << 2, 4);  // keyed SGLs
        std::memcpy(page + 768, received_.connect_data.data() + XIO_OFFSETOF(fabrics::ConnectData, subsystem), 224);
        put(1792, 4, 4);  // capsules hold no data
        put(1796, 1, 4);
        put(1803, 1, 1);
        break;
      case 2: put(0, 1, 4); break;
      case 3:
        put(0, 1 | 8 << 8, 2);
        put(4, unique, 8);
        break;
      default: return answer(on, capsule, nvme::sc::invalid_field);
    }
    give(on, capsule, at, nvme::identify_bytes);
  }

  static bool is(const nvme::Sqe& capsule, fabrics::CommandType type) {
    return (capsule.cdw0 & 0xff) == 0x7f && capsule.nsid == static_cast<uint32_t>(type);
  }

  void answer(Connection& on, const nvme::Sqe& capsule, uint32_t status = nvme::sc::success) {
    if (does_.silent) return;
    nvme::Cqe answer{};
    uint64_t value = 0;
    if (is(capsule, fabrics::CommandType::connect)) {
      value = cntlid | does_.connect_bits;
    } else if (is(capsule, fabrics::CommandType::property_set)) {
      if (capsule.cdw11 == nvme::reg::cc) cc_ = capsule.cdw12;
    } else if (is(capsule, fabrics::CommandType::property_get)) {
      switch (capsule.cdw11) {
        case nvme::reg::cap: value = cap; break;
        case nvme::reg::vs: value = version; break;
        case nvme::reg::cc: value = cc_; break;
        case nvme::reg::csts: value = (cc_ & 1) | (((cc_ >> 14) & 3) != 0 ? 8 : 0); break;
        default: status = nvme::sc::invalid_field;
      }
    } else if (!does_.disk) {
      status = nvme::sc::invalid_opcode;
    }
    answer.dw0 = static_cast<uint32_t>(value);
    answer.dw1 = static_cast<uint32_t>(value >> 32);
    answer.cid = static_cast<uint16_t>((capsule.cdw0 >> 16) + does_.cid_offset);
    answer.status = static_cast<uint16_t>(nvme::make_status_field(status, status != nvme::sc::success) << 1);
    const size_t at = response_at + on.answers++ % slots * sizeof answer;
    std::memcpy(on.memory.data() + at, &answer, sizeof answer);
    post(on, IBV_WR_SEND, at, does_.response_bytes, 0, 0);
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
  std::list<Connection> connections_;
  uint32_t cc_ = 0;
  std::mutex mutex_;
  Received received_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace guest_tests
