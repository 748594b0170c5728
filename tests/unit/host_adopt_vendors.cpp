// SPDX-License-Identifier: MIT

/// @file
/// @brief Queue pairs of IONIC, BNXT and ERNIC in the hands of kernels: their libraries are ours, and the rings that
/// they show, or that the application gave, belong to emulated NICs.

#include <xio/host/rdma/bnxt.hpp>
#include <xio/host/rdma/ernic.hpp>
#include <xio/host/rdma/ionic.hpp>

#include "unit/fake_verbs/device.hpp"

using namespace fake_verbs;
using xio::host::adopt_bnxt;
using xio::host::adopt_ernic;
using xio::host::adopt_ionic;
using xio::host::BnxtMemory;
using xio::host::ErnicMemory;
namespace ionic_dv = xio::host::ionic_dv;

namespace {

struct OneEntry : xio::ionic::Options {
  static constexpr bool collapsed = true;
};
struct SecondVersion : xio::ionic::Options {
  static constexpr xio::ionic::Version version = xio::ionic::Version::v2;
};

using IonicKit = xio::emulation::IonicKit<>;
using BnxtKit = xio::emulation::BnxtKit<>;
using ErnicKit = xio::emulation::ErnicKit;

/// What libionic tells of a queue pair.
struct IonicView {
  /// @param cq_type  which of the emulated NIC's doorbells is the completion queues': it has one for each of them
  template <class Kit>
  IonicView(Queue& queue, xio::emulation::RdmaQueuePair<Kit>& emulated, uint8_t cq_type) : owner(&queue) {
    const xio::emulation::RdmaQueueMemory m = emulated.memory();
    const xio::emulation::RdmaQueueConfig& config = emulated.config();
    const auto ring = [](void* memory, uint32_t entries, uint32_t shift, uint32_t qid) {
      return ionic_dv::Queue{memory,
                             size_t{entries} << shift,
                             uint64_t{qid} << 24,
                             static_cast<uint16_t>(entries - 1),
                             static_cast<uint8_t>(__builtin_ctz(entries)),
                             static_cast<uint8_t>(shift)};
    };
    context = {m.sq_doorbell, m.sq_doorbell, 0, 2, cq_type};
    qp.send = ring(m.sq, config.sq_units, config.sq_unit_shift, config.qpn);
    qp.receive = ring(m.rq, config.rq_entries, config.rq_entry_shift, config.qpn);
    send_cq.queue = ring(m.cq, config.cq_entries, 5, config.cqn);
    receive_cq.queue = ring(m.receive_cq, config.receive_cq_entries, 5, config.receive_cqn);
    queue.context.abi_compat = this;
    Ionic& table = table_of<Ionic>("libionic.so.1", "xio_fake_ionic");
    table.is_qp = [](ibv_qp* asked) { return of(asked->context).is_ours; };
    table.get_ctx = [](void* out, ibv_context* asked) {
      *static_cast<ionic_dv::Context*>(out) = of(asked).context;
      return 0;
    };
    table.get_qp = [](void* out, ibv_qp* asked) {
      *static_cast<ionic_dv::QueuePair*>(out) = of(asked->context).qp;
      return of(asked->context).qp_error;
    };
    table.get_cq = [](void* out, ibv_cq* asked, uint8_t which) {
      if (which != 1) return EINVAL;
      const IonicView& self = of(asked->context);
      *static_cast<ionic_dv::CompletionQueue*>(out) = asked == self.owner->qp.send_cq ? self.send_cq : self.receive_cq;
      return 0;
    };
    table.get_udma_idx = [](ibv_qp* asked) { return of(asked->context).pipeline; };
    table.send_doorbell = [](ibv_qp* asked, uint64_t* out) {
      *out = of(asked->context).qp.send.doorbell | of(asked->context).sends;
      return 0;
    };
    table.receive_doorbell = [](ibv_qp* asked, uint64_t* out) {
      *out = of(asked->context).qp.receive.doorbell | of(asked->context).receives;
      return 0;
    };
  }
  static IonicView& of(ibv_context* asked) { return *static_cast<IonicView*>(asked->abi_compat); }

  Queue* owner;
  ionic_dv::Context context{};
  ionic_dv::QueuePair qp{};
  ionic_dv::CompletionQueue send_cq{};
  ionic_dv::CompletionQueue receive_cq{};
  bool is_ours = true;
  int qp_error = 0;
  uint8_t pipeline = 1;
  uint64_t sends = 0;
  uint64_t receives = 0;
};

struct IonicAdoptable {
  Wire<IonicKit> wire;
  IonicView view{wire.near_queue, wire.near, 1};
  std::string refusal() {
    return error_of([&] { adopt_ionic<>(&wire.near_queue.qp); });
  }
};

/// How an application describes a queue pair that it made on the emulated NIC's memory. One side of it is used: the
/// model has a doorbell for each ring, where the device has one.
BnxtMemory bnxt_memory(xio::emulation::RdmaQueuePair<BnxtKit>& emulated, bool receives) {
  const xio::emulation::RdmaQueueMemory m = emulated.memory();
  const xio::emulation::RdmaQueueConfig& config = emulated.config();
  BnxtMemory memory;
  memory.send_ring = m.sq;
  memory.send_units = config.sq_units;
  memory.message_table = m.side_table;
  memory.table_entries = config.side_entries;
  memory.send_cq = {m.cq, config.cq_entries, config.cqn};
  memory.receive_ring = m.rq;
  memory.receive_entries = config.rq_entries;
  memory.receive_cq = {m.receive_cq, config.receive_cq_entries, config.receive_cqn};
  memory.doorbell = receives ? m.rq_doorbell : m.sq_doorbell;
  memory.cq_doorbell = receives ? m.receive_cq_doorbell : m.cq_doorbell;
  memory.first_psn = config.first_psn;
  memory.mtu = 1u << config.mtu_shift;
  memory.handle = config.cookie;
  return memory;
}

/// Buffers of ERNIC with their states in front, which the emulated NIC keeps apart: they are joined here.
struct ErnicBuffers {
  explicit ErnicBuffers(xio::emulation::RdmaFabric& fabric, uint32_t qpn) : config(ErnicKit::config()) {
    config.qpn = qpn;
    config.handle = qpn + 0x1000;
    auto* const words = reinterpret_cast<uint32_t*>(send.data());
    memory.sq = send.data() + 4096;
    memory.sq_record = words;
    memory.rq_record = words + 2;
    memory.rq = receive.data();
    memory.cq = cq.data() + 4096;
    memory.cq_producer = reinterpret_cast<uint32_t*>(cq.data()) + 2;
    memory.cq_record = reinterpret_cast<uint32_t*>(cq.data()) + 3;
    memory.receive_cq = receive_cq.data() + 4096;
    memory.receive_cq_producer = reinterpret_cast<uint32_t*>(receive_cq.data()) + 2;
    memory.receive_cq_record = reinterpret_cast<uint32_t*>(receive_cq.data()) + 3;
    memory.sq_doorbell = doorbells;
    memory.rq_doorbell = doorbells + 1;
    model = std::make_unique<xio::emulation::RdmaQueuePairModel<xio::emulation::ErnicWire>>(fabric, config, memory);
  }
  ErnicMemory describe(bool receives) {
    ErnicMemory d;
    d.send_buffer = send.data();
    d.send_entries = config.sq_units;
    d.send_entry_bytes = 1u << config.sq_unit_shift;
    d.send_cq = {cq.data(), config.cq_entries, config.cqn};
    d.receive_buffer = receive.data();
    d.receive_entries = config.rq_entries;
    d.receive_entry_bytes = 1u << config.rq_entry_shift;
    d.receive_cq = {receive_cq.data(), config.receive_cq_entries, config.receive_cqn};
    d.doorbells = receives ? doorbells + 1 : doorbells;
    d.handle = config.handle;
    return d;
  }

  xio::emulation::RdmaQueueConfig config;
  alignas(64) std::vector<uint8_t> send = std::vector<uint8_t>(4096 + 128 * 256);
  std::vector<uint8_t> receive = std::vector<uint8_t>(64 * 128);
  std::vector<uint8_t> cq = std::vector<uint8_t>(4096 + 256 * 64);
  std::vector<uint8_t> receive_cq = std::vector<uint8_t>(4096 + 128 * 64);
  uint64_t doorbells[2] = {~uint64_t{0}, ~uint64_t{0}};
  xio::emulation::RdmaQueueMemory memory;
  std::unique_ptr<xio::emulation::RdmaQueuePairModel<xio::emulation::ErnicWire>> model;
};

}  // namespace

TEST_CASE("adopted queue pairs of IONIC write, send and receive", "[host][rdma]") {
  Wire<IonicKit> wire;
  const IonicView near_view(wire.near_queue, wire.near, 1);
  const IonicView far_view(wire.far_queue, wire.far, 3);
  const auto near = adopt_ionic<>(&wire.near_queue.qp);
  const auto far = adopt_ionic<>(&wire.far_queue.qp);
  CHECK(near.handle().shape.entries == 128);
  CHECK(near.handle().shape.entry_shift == 7);
  CHECK(near.handle().depth == 127);
  CHECK(near.handle().cq.number == wire.near.config().cqn);
  wire.nic.start();
  CHECK(wire.put_all(near.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  send_and_receive(wire, near.handle(), far.receive_handle());
  CHECK(wire.violations() == "");
}

TEST_CASE("an adopted queue pair of IONIC whose entries are of version 2", "[host][rdma]") {
  Wire<xio::emulation::IonicKit<SecondVersion>> wire;
  const IonicView view(wire.near_queue, wire.near, 1);
  const auto adopted = adopt_ionic<SecondVersion>(&wire.near_queue.qp);
  wire.nic.start();
  CHECK(wire.put_all(adopted.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  CHECK(wire.violations() == "");
}

TEST_CASE("an adopted queue pair of IONIC whose completions overwrite each other", "[host][rdma]") {
  Wire<xio::emulation::IonicKit<OneEntry>> wire;
  IonicView view(wire.near_queue, wire.near, 1);
  const IonicView far_view(wire.far_queue, wire.far, 3);
  const auto near = adopt_ionic<OneEntry>(&wire.near_queue.qp);
  const auto far = adopt_ionic<OneEntry>(&wire.far_queue.qp);
  CHECK(near.handle().depth == 127);
  CHECK(near.has_receive_queue());
  wire.nic.start();
  CHECK(wire.put_all(near.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  send_and_receive(wire, near.handle(), far.receive_handle());
  CHECK(wire.violations() == "");

  view.receive_cq.queue.mask = 0;
  view.receive_cq.queue.log2_entries = 0;
  view.sends = 0;
  std::memset(view.send_cq.queue.ring, 0, 32);
  const auto again = adopt_ionic<OneEntry>(&wire.near_queue.qp);
  CHECK(contains(error_of([&] { again.receive_handle(); }), "its recv_cq is collapsed to one entry"));
}

TEST_CASE("what libionic says of a queue pair can forbid its adoption", "[host][rdma]") {
  const std::string who = "ionic: queue pair 257 of fake0 cannot be adopted: ";
  {
    IonicAdoptable a;
    a.view.is_ours = false;
    CHECK(a.refusal() == who + "its device is no Pensando DSC");
  }
  {
    IonicAdoptable a;
    a.wire.near_queue.now.qp_state = IBV_QPS_RTR;
    CHECK(a.refusal() == who + "its state is RTR; connect it first (RTS)");
  }
  {
    IonicAdoptable a;
    a.wire.near_queue.now.cap.max_send_sge = 3;
    CHECK(
        contains(a.refusal(), "entries with more than 2 SGEs (max_send_sge, max_recv_sge) have an unreported format"));
  }
  {
    IonicAdoptable a;
    a.view.sends = 5;
    CHECK(a.refusal() == who + "operations were posted to it before; make a new one");
    a.view.sends = 0;
    a.view.receives = 1;
    CHECK(a.refusal() == who + "receives were posted to it before; make a new one");
  }
  {
    IonicAdoptable a;
    a.view.qp_error = EPERM;
    CHECK(contains(a.refusal(), "ionic_dv_get_qp failed: Operation not permitted"));
    a.view.qp_error = 0;
    a.view.pipeline = 0;
    CHECK(contains(a.refusal(), "ionic_dv_get_cq failed: Invalid argument"));
  }
  {
    IonicAdoptable a;
    a.view.context.doorbells = nullptr;
    CHECK(a.refusal() == who + "its doorbells are unknown");
  }
  {
    IonicAdoptable a;
    a.view.send_cq.queue.mask = 0;
    a.view.send_cq.queue.log2_entries = 0;
    CHECK(a.refusal() == who + "its send_cq is collapsed to one entry; use ionic::Vendor with Options::collapsed");
  }
  {
    IonicAdoptable a;
    CHECK(error_of([&] { adopt_ionic<OneEntry>(&a.wire.near_queue.qp); }) ==
          who + "its send_cq is a ring, and not collapsed to one entry");
  }
  {
    // H5: what stays in it from before is of an operation.
    Wire<xio::emulation::IonicKit<OneEntry>> wire;
    IonicView view(wire.near_queue, wire.near, 1);
    auto* const entry = static_cast<unsigned char*>(view.send_cq.queue.ring);
    entry[7] = 9;
    entry[31] = 2 << 5;
    CHECK(contains(error_of([&] { adopt_ionic<OneEntry>(&wire.near_queue.qp); }),
                   "its send completion queue's entry is of an operation that was not posted"));
  }
  {
    IonicAdoptable a;
    a.view.send_cq.queue.log2_entry_bytes = 4;
    CHECK(a.refusal() == who + "its completions have 16 bytes and not 32");
  }
  {
    IonicAdoptable a;
    a.view.qp.send.mask = 100;
    CHECK(a.refusal() == who + "libionic describes its send ring in an unknown format");
    a.view.qp.send.mask = 127;
    a.view.qp.receive.bytes = 1;
    CHECK(a.refusal() == who + "libionic describes its receive ring in an unknown format");
  }
  {
    // H5: color 1 is what the first lap brings.
    IonicAdoptable a;
    static_cast<unsigned char*>(a.view.send_cq.queue.ring)[32 * 9 + 31] = 1;
    CHECK(contains(a.refusal(), "its send completion queue holds an entry at 9 that was not polled"));
  }
  const std::string wrong = error_of([] { xio::host::IonicLibrary({"libmlx5.so.1"}); });
  CHECK(contains(wrong, "libmlx5.so.1 has no ionic_dv_is_ionic_qp; a libionic with ionic_dv_get_qp() is needed"));
  const std::string missing = error_of([] { xio::host::IonicLibrary({"libnone-a.so", "libnone-b.so"}); });
  CHECK(contains(missing, "libnone-a.so"));
  CHECK(contains(missing, "libnone-b.so"));
}

TEST_CASE("queue pairs of BNXT on memory of the application's write, send and receive", "[host][rdma]") {
  Wire<BnxtKit> wire;
  wire.near_queue.now.cap.max_send_wr = 100;
  BnxtMemory memory = bnxt_memory(wire.near, false);
  void* const doorbell = memory.doorbell;
  memory.doorbell = nullptr;  // the device context's: libbnxt_re tells
  static uint64_t* told;
  static int error;
  told = static_cast<uint64_t*>(doorbell);
  error = 0;
  table_of<BnxtRe>("libbnxt_re.so.1", "xio_fake_bnxt_re").get_default_db_region = [](ibv_context*, void* out) {
    static_cast<xio::host::BnxtDoorbellRegion*>(out)->doorbell = told;
    return error;
  };
  const auto near = adopt_bnxt<>(&wire.near_queue.qp, memory);
  const auto far = adopt_bnxt<>(&wire.far_queue.qp, bnxt_memory(wire.far, true));
  CHECK(near.handle().sq_doorbell == doorbell);
  CHECK(near.handle().depth == 100);
  CHECK(near.handle().shape.mtu_shift == 10);
  CHECK(near.handle().cq.cookie == wire.near.config().cookie);
  CHECK(far.receive_handle().cq.cookie == wire.far.config().cookie);
  CHECK(far.receive_handle().depth == 32);
  wire.nic.start();
  CHECK(wire.put_all(near.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  send_and_receive(wire, near.handle(), far.receive_handle());
  CHECK(wire.violations() == "");

  error = EOPNOTSUPP;
  CHECK(contains(error_of([&] { adopt_bnxt<>(&wire.near_queue.qp, memory); }),
                 "bnxt_re_dv_get_default_db_region failed: Operation not supported"));
  error = 0;
  told = nullptr;
  CHECK(contains(error_of([&] { adopt_bnxt<>(&wire.near_queue.qp, memory); }),
                 "the doorbell of its send ring is unknown"));
}

TEST_CASE("queue pairs of BNXT that cannot be adopted", "[host][rdma]") {
  const std::string who = "bnxt: queue pair 257 of fake0 cannot be adopted: ";
  Wire<BnxtKit> wire;
  const auto refusal = [&](const BnxtMemory& memory) {
    return error_of([&] { adopt_bnxt<>(&wire.near_queue.qp, memory); });
  };
  CHECK(refusal({}) == who +
                           "libbnxt_re does not report ring addresses; make it with bnxt_re_dv_create_qp() on "
                           "memory of your own, and pass BnxtMemory");
  BnxtMemory memory = bnxt_memory(wire.near, false);
  CHECK(refusal(memory).empty());
  memory.mtu = 0;
  CHECK(refusal(memory) == who + "BnxtMemory::mtu is 0, which is no path MTU");
  memory = bnxt_memory(wire.near, false);
  memory.table_entries = 100;
  CHECK(refusal(memory) == who + "its message table has 100 entries, which is no power of two");
  memory.table_entries = 0;
  CHECK(contains(refusal(memory), "the table beside its send ring is unknown"));
  memory = bnxt_memory(wire.near, false);
  memory.send_cq.count = 100;
  CHECK(contains(refusal(memory), "its send completion queue has 100 entries, which is no power of two"));
  memory = bnxt_memory(wire.near, false);
  static_cast<unsigned char*>(memory.send_cq.entries)[24] = 1;  // H5: phase 1 is what the first lap brings
  CHECK(contains(refusal(memory), "its send completion queue holds an entry at 0 that was not polled"));
  static_cast<unsigned char*>(memory.send_cq.entries)[24] = 0;
  memory.receive_ring = nullptr;
  const auto adopted = adopt_bnxt<>(&wire.near_queue.qp, memory);
  CHECK(contains(error_of([&] { adopted.receive_handle(); }), "BnxtMemory::receive_ring is null"));
  wire.near_queue.qp.qp_type = IBV_QPT_UD;
  CHECK(refusal(memory) == who + "it is no reliable connection (IBV_QPT_RC)");
  CHECK(contains(error_of([] { xio::host::BnxtLibrary({"libmlx5.so.1"}); }),
                 "libmlx5.so.1 has no bnxt_re_dv_get_default_db_region; a libbnxt_re with direct verbs is needed"));
}

TEST_CASE("queue pairs of ERNIC on memory of the application's write, send and receive", "[host][rdma]") {
  Wire<ErnicKit> wire;
  ErnicBuffers near(wire.fabric, 0x301);
  ErnicBuffers far(wire.fabric, 0x302);
  near.model->connect(0x302);
  far.model->connect(0x301);
  wire.nic.add(*near.model);
  wire.nic.add(*far.model);
  const auto sender = adopt_ernic(&wire.near_queue.qp, near.describe(false));
  const auto receiver = adopt_ernic(&wire.far_queue.qp, far.describe(true));
  CHECK(sender.handle().shape.qpn == 0x1301);
  CHECK(sender.handle().shape.max_inline == 0);
  wire.nic.start();
  CHECK(wire.put_all(sender.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  send_and_receive(wire, sender.handle(), receiver.receive_handle());
  wire.nic.stop();
  CHECK(near.model->statistics().violations.empty());
  CHECK(far.model->statistics().violations.empty());
}

TEST_CASE("queue pairs of ERNIC and PVRDMA that cannot be adopted", "[host][rdma]") {
  const std::string who = "ernic: queue pair 257 of fake0 cannot be adopted: ";
  Wire<ErnicKit> wire;
  ErnicBuffers near(wire.fabric, 0x301);
  const auto refusal = [&](const ErnicMemory& memory) {
    return error_of([&] { adopt_ernic(&wire.near_queue.qp, memory); });
  };
  CHECK(refusal({}) == who +
                           "libvmw_pvrdma has no direct verbs, and librocm_ernic does not report ring addresses; make "
                           "it with rocm_ernic_dv_create_qp() on memory of your own, and pass ErnicMemory");
  CHECK(refusal(near.describe(false)).empty());
  ErnicMemory memory = near.describe(false);
  memory.doorbells = nullptr;
  CHECK(refusal(memory) == who + "ErnicMemory::doorbells is null");
  memory = near.describe(false);
  memory.send_entry_bytes = 96;
  CHECK(refusal(memory) == who + "its entries have 96 bytes; a power of two of at least 112 is needed");
  memory = near.describe(false);
  memory.send_cq.buffer = nullptr;
  CHECK(contains(refusal(memory), "its send completion queue is unknown"));
  memory = near.describe(false);
  *near.memory.cq_producer = 3;
  CHECK(contains(refusal(memory), "its send completion queue holds an entry at 0 that was not polled"));
  *near.memory.cq_producer = 0;
  *near.memory.rq_record = 2;
  CHECK(refusal(memory) == who + "receives were posted to it before; make a new one");
  *near.memory.sq_record = 7;
  CHECK(refusal(memory) == who + "operations were posted to it before; make a new one");
}
