// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An emulated RDMA NIC: queue pairs with their memory, executed by a thread or step by step.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/memory_source.hpp>
#include <xio/host/emulation/rdma/kits.hpp>
#include <xio/host/emulation/rdma/queue_pair.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/rdma/queue_states.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// One queue pair of an emulated NIC with its rings.
/// @tparam Kit  the vendor, see kits.hpp
///
/// @snippet emulation.cpp RdmaNic
template <class Kit>
class RdmaQueuePair {
 public:
  using Vendor = typename Kit::Vendor;
  using Wire = typename Kit::Wire;

  /// @param source  allocator for rings, records, doorbells and state, in whole pages; empty: the process heap
  RdmaQueuePair(RdmaFabric& fabric, const RdmaQueueConfig& config, const MemorySource& source = {})
      : config_(config),
        source_(source.allocate ? source : heap_memory()),
        sq_(allocate((size_t{config.sq_units} << config.sq_unit_shift), 0xa5)),
        rq_(allocate((size_t{config.rq_entries} << config.rq_entry_shift), 0xa5)),
        cq_(allocate(size_t{config.cq_entries} * Wire::cqe_bytes, Wire::cq_initial_byte)),
        receive_cq_(allocate(size_t{config.receive_cq_entries} * Wire::cqe_bytes, Wire::cq_initial_byte)),
        side_(allocate((size_t{config.side_entries} + 1) * 16, 0xa5)),
        words_(allocate(RdmaWords::count * sizeof(uint32_t), 0)),
        doorbells_(allocate(doorbell_bytes, 0xff)),
        memory_of_states_(allocate(host::RdmaQueueStates::bytes(config.sq_units, config.rq_entries), 0)),
        states_(memory_of_states_.get(), config.sq_units, config.rq_entries),
        model_(fabric, config_, memory()) {
    rdma::begin_at(state(), send(), 0, config.first_psn);
  }

  /// Handle of the send queue for kernels. Valid for the lifetime of this object.
  /// @snippet emulation.cpp handles
  rdma::QueuePairHandle handle() {
    const RdmaQueueMemory m = memory();
    rdma::QueuePairHandle h{};
    h.state = &state();
    h.send = &send();
    h.sq = m.sq;
    h.sq_record = m.sq_record;
    h.sq_doorbell = m.sq_doorbell;
    h.side_table = m.side_table;
    h.shape.qpn = config_.handle != 0 ? config_.handle : config_.qpn;
    h.shape.entries = config_.sq_units;
    h.shape.entry_shift = config_.sq_unit_shift;
    h.shape.max_sges = config_.max_sges;
    h.shape.max_inline = config_.max_inline;
    h.shape.mtu_shift = config_.mtu_shift;
    h.depth = depth_ != 0 ? depth_ : Kit::depth(config_);
    h.side_entries = config_.side_entries;
    h.signal_every = 1;
    while (h.signal_every * 8 <= config_.sq_units) h.signal_every *= 2;
    h.cq = {m.cq, m.cq_producer, m.cq_record, m.cq_doorbell, config_.cq_entries, config_.cqn, config_.cookie};
    h.gpu_memory = gpu_memory();
    return h;
  }

  /// Handle of the receive queue for kernels. Valid for the lifetime of this object.
  /// @snippet emulation.cpp handles
  rdma::ReceiveQueueHandle receive_handle() {
    const RdmaQueueMemory m = memory();
    rdma::ReceiveQueueHandle h{};
    h.state = states_.receive();
    h.rq = m.rq;
    h.record = m.rq_record;
    h.doorbell = m.rq_doorbell;
    h.slots = states_.slots();
    h.shape = {config_.handle != 0 ? config_.handle : config_.qpn, config_.rq_entries, config_.rq_entry_shift,
               config_.max_sges};
    h.depth = config_.rq_entries - 1;
    h.cq = {m.receive_cq,          m.receive_cq_producer,      m.receive_cq_record,
            m.receive_cq_doorbell, config_.receive_cq_entries, config_.receive_cqn,
            config_.cookie};
    h.gpu_memory = gpu_memory();
    return h;
  }

  /// Sets the initial counters of driver and NIC, before anything is posted: for tests of counters that wrap.
  /// @param units       counter of the send ring
  /// @param cq_index    counter of its completion queue: a multiple of twice its size, since earlier entries are zero
  /// @param operations  number of operations with a message number
  ///
  /// @snippet emulation.cpp start_at
  void start_at(uint64_t units, uint64_t cq_index, uint64_t operations) {
    const rdma::QueuePairHandle h = handle();
    QueueState& s = state();
    const auto message = Vendor::has_side_table ? static_cast<uint32_t>(operations % config_.side_entries) : 0;
    rdma::begin_at(s, send(), units, send().psn, message);
    s.acknowledged = cq_index;
    send().cq_head = cq_index;
    if constexpr (Vendor::counts_operations) send().operations = operations;
    if constexpr (Vendor::has_send_record) *h.sq_record = Vendor::send_record(h.shape, units);
    if constexpr (Vendor::has_cq_record) *h.cq.record = Vendor::cq_record(cq_index, h.cq.size);
    if constexpr (Vendor::Completions::by_index) {
      *memory().cq_producer = Vendor::cq_record(cq_index, h.cq.size);  // indices of both sides are alike
    }
    model_.start_at(units, cq_index, operations);
  }

  /// Resets a failed queue pair to its initial state; number, peer and memory stay. Earlier tokens become invalid.
  /// @pre no kernel uses the queue pair, and its NIC is stopped
  ///
  /// @snippet emulation.cpp recover
  void recover() {
    const auto fill = [](const Memory& memory, size_t bytes, int value) { std::memset(memory.get(), value, bytes); };
    fill(cq_, size_t{config_.cq_entries} * Wire::cqe_bytes, Wire::cq_initial_byte);
    fill(receive_cq_, size_t{config_.receive_cq_entries} * Wire::cqe_bytes, Wire::cq_initial_byte);
    fill(words_, RdmaWords::count * sizeof(uint32_t), 0);
    fill(doorbells_, doorbell_bytes, 0xff);
    fill(memory_of_states_, host::RdmaQueueStates::bytes(config_.sq_units, config_.rq_entries), 0);
    rdma::begin_at(state(), send(), 0, config_.first_psn);
    model_.reset();
  }

  /// Limits the units in flight.
  /// @snippet emulation.cpp limit_depth
  void limit_depth(uint32_t units) { depth_ = units; }
  RdmaQueuePairModel<Wire>& model() { return model_; }       ///< the device's side
  const RdmaQueueConfig& config() const { return config_; }  ///< sizes and addresses of its rings
  QueueState& state() { return *states_.send(); }            ///< state of the send queue, which kernels modify
  /// Number of units of the send ring that kernels have claimed so far.
  uint64_t posted() const {
    const auto read = [](const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); };
    const QueueState& s = *states_.send();
    const uint64_t alone = protocol::tickets(read(s.reserved));
    if constexpr (!Vendor::has_side_table) return alone;
    const uint64_t shared =
        rdma::SequencedTickets::ticket(read(states_.more()->claims), protocol::retired(read(s.retired)));
    return alone > shared ? alone : shared;
  }
  /// Number of bytes that kernels modify, starting at state().
  size_t state_bytes() const { return host::RdmaQueueStates::bytes(config_.sq_units, config_.rq_entries); }
  rdma::SendState& send() { return *states_.more(); }  ///< the part of it that RDMA adds

  /// Where its rings, records and doorbells lie.
  RdmaQueueMemory memory() const {
    auto* const words = reinterpret_cast<uint32_t*>(words_.get());
    auto* const doorbells = reinterpret_cast<uint64_t*>(doorbells_.get());
    const auto word = [&](uint32_t base, uint32_t at) { return at == RdmaWords::none ? nullptr : words + base + at; };
    RdmaQueueMemory m;
    m.sq = sq_.get();
    m.sq_record = word(0, Kit::words.sq_record);
    m.sq_doorbell = doorbells;
    m.side_table = reinterpret_cast<uint64_t*>(side_.get());
    m.cq = cq_.get();
    m.cq_record = word(RdmaWords::cq, Kit::words.cq_record);
    m.cq_producer = word(RdmaWords::cq, Kit::words.cq_producer);
    m.cq_doorbell = doorbells + 1;
    m.rq = rq_.get();
    m.rq_record = word(0, Kit::words.rq_record);
    m.rq_doorbell = doorbells + 2;
    m.receive_cq = receive_cq_.get();
    m.receive_cq_record = word(RdmaWords::receive_cq, Kit::words.cq_record);
    m.receive_cq_producer = word(RdmaWords::receive_cq, Kit::words.cq_producer);
    m.receive_cq_doorbell = doorbells + 3;
    return m;
  }

 private:
  // One word per queue, and the second doorbell of the send queue.
  static constexpr size_t doorbell_bytes = 4 * sizeof(uint64_t) + Wire::doorbell_stride;
  static_assert(Wire::doorbell_stride == 0 || Wire::doorbell_stride >= 4 * sizeof(uint64_t),
                "the second doorbell must be behind the others");

  /// QueuePairHandle::gpu_memory: one source allocates everything.
  uint32_t gpu_memory() const { return source_.memory == xio::Memory::device ? memory_mode::queue : 0; }

  using Memory = std::unique_ptr<uint8_t, std::function<void(void*)>>;
  Memory allocate(size_t bytes, int fill) const {
    constexpr size_t alignment = 4096;
    const size_t whole = (bytes + alignment - 1) / alignment * alignment;
    auto* const memory = static_cast<uint8_t*>(source_.allocate(whole, alignment));
    if (!memory) throw std::bad_alloc();
    std::memset(memory, fill, whole);
    return Memory(memory, source_.release);
  }

  RdmaQueueConfig config_;
  MemorySource source_;
  uint32_t depth_ = 0;
  Memory sq_;
  Memory rq_;
  Memory cq_;
  Memory receive_cq_;
  Memory side_;
  Memory words_;
  Memory doorbells_;
  Memory memory_of_states_;
  host::RdmaQueueStates states_;
  RdmaQueuePairModel<Wire> model_;
};

/// Executes queue pairs: on a dedicated thread after start(), otherwise in each call of pass().
/// @snippet emulation.cpp RdmaNic
class RdmaNic {
 public:
  RdmaNic() = default;
  RdmaNic(const RdmaNic&) = delete;
  RdmaNic& operator=(const RdmaNic&) = delete;
  ~RdmaNic() { stop(); }

  /// Adds a queue pair. To be called before start(); the queue pair must exist until stop().
  /// @snippet emulation.cpp RdmaNic
  void add(RdmaModel& model) { models_.push_back(&model); }

  /// Runs one pass of every queue pair. Returns whether any work was done.
  /// @snippet emulation.cpp pass
  bool pass() {
    bool worked = false;
    for (RdmaModel* model : models_) worked |= model->pass();
    return worked;
  }

  /// Starts the thread that executes the queue pairs.
  /// @snippet emulation.cpp start
  void start() {
    stop();
    stopping_.store(false);
    thread_ = host::start_device_thread([this] {
      host::Backoff backoff;
      while (!stopping_.load()) {
        if (pass()) {
          backoff.reset();
        } else {
          backoff.pause();
        }
      }
    });
  }
  /// Ends the thread after its current pass. The destructor does so too.
  /// @snippet emulation.cpp start
  void stop() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::vector<RdmaModel*> models_;
  std::atomic<bool> stopping_{false};
  host::ServiceThread thread_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
