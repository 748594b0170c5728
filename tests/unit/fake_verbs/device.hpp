// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queue pairs that verbs show, whose rings are an emulated NIC's: what the tests of adoption share.

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/rdma/verbs_library.hpp>
#include <xio/host/simt/simt.hpp>

#include "catch.hpp"
#include "tables.hpp"
#include "unit/host_support.hpp"

namespace fake_verbs {

using host_tests::contains;
using host_tests::error_of;

/// The table of a library, which must be ours and not the system's: the linker was told where to look first.
template <class Table>
Table& table_of(const char* library, const char* symbol) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  INFO("looking for " << symbol << " in " << library);
  REQUIRE(handle != nullptr);
  auto* const table = static_cast<Table*>(::dlsym(handle, symbol));
  REQUIRE(table != nullptr);
  return *table;
}

/// An RC queue pair in state RTS, as libibverbs shows it. Its device and completion queues are its own.
struct Queue {
  Queue() {
    context.device = &device;
    for (ibv_cq* cq : {&send_cq, &receive_cq}) cq->context = &context;
    qp.context = &context;
    qp.send_cq = &send_cq;
    qp.recv_cq = &receive_cq;
    qp.qp_type = IBV_QPT_RC;
    qp.qp_num = 0x101;
    now.qp_state = IBV_QPS_RTS;
    now.cap.max_send_wr = 64;
    now.cap.max_recv_wr = 32;
    now.cap.max_send_sge = 2;
    now.cap.max_recv_sge = 2;
    now.cap.max_inline_data = 32;
    // The test's one queue pair of a time is found through the context.
    qp.qp_context = this;
    Ibverbs& verbs = table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
    verbs.get_device_name = [](ibv_device*) { return "fake0"; };
    verbs.query_qp = [](ibv_qp* asked, ibv_qp_attr* state, int, ibv_qp_init_attr* how) {
      const auto& self = *static_cast<Queue*>(asked->qp_context);
      if (self.query_error != 0) return self.query_error;
      *state = self.now;
      *how = self.made;
      return 0;
    };
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  ibv_device device{};
  ibv_context context{};
  ibv_cq send_cq{};
  ibv_cq receive_cq{};
  ibv_qp qp{};
  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  int query_error = 0;
};

/// The only device that verbs know: with one port, whose address is 10.0.0.1, and memory regions of an emulated NIC's.
class OnlyDevice {
 public:
  explicit OnlyDevice(ibv_context& context, xio::emulation::RdmaFabric* fabric = nullptr)
      : fabric_(fabric), list_{context.device, nullptr} {
    pd.context = &context;
    static OnlyDevice* self;
    self = this;
    Ibverbs& verbs = table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
    verbs.get_device_list = [](int* count) {
      *count = 1;
      return self->list_;
    };
    verbs.get_device_name = [](ibv_device*) { return "fake0"; };
    verbs.open_device = [](ibv_device*) { return self->pd.context; };
    verbs.query_port = [](ibv_context*, uint8_t, ibv_port_attr* port) {
      port->state = IBV_PORT_ACTIVE;
      port->active_mtu = IBV_MTU_1024;
      port->link_layer = IBV_LINK_LAYER_ETHERNET;
      return 0;
    };
    verbs.query_gid_table = [](ibv_context*, void* entries, size_t) -> ssize_t {
      ibv_gid_entry entry{};
      entry.port_num = 1;
      entry.gid_type = IBV_GID_TYPE_ROCE_V2;
      entry.gid.raw[10] = entry.gid.raw[11] = 0xff;
      entry.gid.raw[12] = 10;
      entry.gid.raw[15] = 1;
      std::memcpy(entries, &entry, sizeof entry);
      return 1;
    };
    verbs.alloc_pd = [](ibv_context*) { return &self->pd; };
    verbs.reg_mr = [](ibv_pd*, void* data, size_t bytes) {
      ibv_mr& mr = self->regions_.emplace_back();
      mr.addr = data;
      mr.length = bytes;
      mr.lkey = mr.rkey = self->fabric_->keys().add(data, bytes);
      return &mr;
    };
  }
  OnlyDevice(const OnlyDevice&) = delete;
  OnlyDevice& operator=(const OnlyDevice&) = delete;

  ibv_pd pd{};

 private:
  xio::emulation::RdmaFabric* fabric_;
  ibv_device* list_[2];
  std::deque<ibv_mr> regions_;
};

/// Two emulated NICs' queue pairs, connected, each with registered memory, and what verbs show of them.
template <class Kit>
struct Wire {
  using Vendor = typename Kit::Vendor;
  static constexpr size_t bytes = 65536;

  explicit Wire(const xio::emulation::RdmaQueueConfig& config = Kit::config())
      : near(fabric, numbered(config, 0x101)), far(fabric, numbered(config, 0x202)) {
    near.model().connect(far.config().qpn);
    far.model().connect(near.config().qpn);
    nic.add(near.model());
    nic.add(far.model());
    near_key = fabric.keys().add(near_bytes.data(), bytes);
    far_key = fabric.keys().add(far_bytes.data(), bytes);
    for (size_t i = 0; i < bytes; ++i) near_bytes[i] = static_cast<unsigned char>(i * 7 + (i >> 8));
    near_queue.qp.qp_num = near.config().qpn;
    far_queue.qp.qp_num = far.config().qpn;
  }
  ~Wire() { nic.stop(); }

  xio::Region local() { return {reinterpret_cast<uint64_t>(near_bytes.data()), bytes, near_key}; }
  xio::rdma::RemoteMemory remote() { return {reinterpret_cast<uint64_t>(far_bytes.data()), bytes, far_key}; }
  xio::Region far_local() { return {reinterpret_cast<uint64_t>(far_bytes.data()), bytes, far_key}; }

  /// Writes all bytes to the far side, each lane of two waves its part of each round; returns how many went well.
  uint32_t put_all(const xio::rdma::QueuePairHandle& handle) {
    using namespace xio;
    constexpr uint32_t part = 256;
    const simt::Grid grid = simt::Grid::of_waves(2, 1, 32);
    std::vector<Status> results(bytes / part, Status::timed_out);
    simt::launch(grid, [&] {
      rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
      const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
      for (size_t at = thread; at < results.size(); at += 64) {
        const Deadline until = qp.deadline(Duration{20000000000});
        results[at] = qp.wait(qp.put(remote().at(at * part, part), local().at(at * part, part), until), until);
      }
    });
    uint32_t good = 0;
    for (const Status status : results) good += status.is_ok() ? 1 : 0;
    return good;
  }

  /// What no driver may do, in one text.
  std::string violations() {
    std::string all;
    for (const std::string& one : near.model().statistics().violations) all += one + "; ";
    for (const std::string& one : far.model().statistics().violations) all += one + "; ";
    return all;
  }

  std::vector<unsigned char> near_bytes = std::vector<unsigned char>(bytes);
  std::vector<unsigned char> far_bytes = std::vector<unsigned char>(bytes);
  xio::emulation::RdmaFabric fabric;
  xio::emulation::RdmaNic nic;
  xio::emulation::RdmaQueuePair<Kit> near;
  xio::emulation::RdmaQueuePair<Kit> far;
  Queue near_queue;
  Queue far_queue;
  uint32_t near_key = 0;
  uint32_t far_key = 0;

 private:
  static xio::emulation::RdmaQueueConfig numbered(xio::emulation::RdmaQueueConfig config, uint32_t qpn) {
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn + 0x1000;
    return config;
  }
};

/// Sends messages of several lengths with queues of the near side to receives of the far side: all through rings that
/// were adopted.
template <class Kit>
void send_and_receive(Wire<Kit>& wire, const xio::rdma::QueuePairHandle& send,
                      const xio::rdma::ReceiveQueueHandle& receive) {
  using namespace xio;
  rdma::QueuePair<typename Kit::Vendor, Sharing::grid> qp(send);
  rdma::ReceiveQueue<typename Kit::Vendor, Sharing::thread> receives(receive);
  const auto soon = [] { return xio::deadline(Duration{20000000000}); };
  for (uint32_t i = 0; i < 3 * receive.shape.entries; ++i) {
    CAPTURE(i);
    const uint32_t length = i % 5 == 0 ? 8 : 3 * i;
    const Token wanted = receives.post(wire.far_local().at(1024, 1024), soon());
    REQUIRE(qp.wait(qp.send_immediate(wire.local().at(i, length), 0xc0de0000 + i, soon()), soon()).is_ok());
    const rdma::Received arrived = receives.wait(wanted, soon());
    REQUIRE(arrived.status.is_ok());
    CHECK(arrived.bytes == length);
    CHECK(arrived.immediate == 0xc0de0000 + i);
    CHECK(std::memcmp(wire.far_bytes.data() + 1024, wire.near_bytes.data() + i, length) == 0);
  }
}

}  // namespace fake_verbs
