// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: emulated controllers and NICs, as tests of a program use them.

#include <memory>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/xio.hpp>

#include "check.hpp"

using namespace xio;

namespace snippets::emulation_calls {

/// Reads a block, as a kernel of the program under test does.
Status read(const nvme::QueueHandle& handle, uint64_t lba, const RegionSpan& to, Duration limit) {
  nvme::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(limit);
  return queue.wait(queue.read(lba, to, until), until);
}

Status write(const nvme::QueueHandle& handle, uint64_t lba, const RegionSpan& from, Duration limit) {
  nvme::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(limit);
  return queue.wait(queue.write(lba, from, until), until);
}

void threaded() {
  //! [NvmeController]
  emulation::NvmeConfig config;
  config.namespaces[0].blocks = 1 << 20;
  auto drive = std::make_unique<emulation::NvmeController>(config);
  emulation::NvmeController& model = *drive;
  host::NvmeController controller(std::move(drive));
  //! [NvmeController]
  const host::NvmeQueue queue = controller.create_queue();
  const host::DmaBuffer data = controller.allocate(4096);
  const uint64_t lba = 100;
  std::vector<uint64_t> block(64);
  fill(block.data(), 64, 0);
  //! [write_blocks]
  model.write_blocks(/*nsid*/ 1, lba, /*count*/ 1, block.data());  // directly to the medium
  //! [write_blocks]
  check("write_blocks", read(queue.handle(), lba, data.region().at(0, 512), 5_s).is_ok());
  check("write_blocks", holds(data.as<uint64_t>(), 64, 0));
  //! [read_blocks]
  model.read_blocks(/*nsid*/ 1, lba, /*count*/ 1, block.data());
  //! [read_blocks]
  check("read_blocks", holds(block.data(), 64, 0));

  //! [cut_power]
  model.keep_flushed();
  const Status stored = write(queue.handle(), lba, data.region().at(512, 512), 5_s);
  model.cut_power();  // no Flush came before
  //! [cut_power]
  model.read_blocks(1, lba, 1, block.data());
  check("cut_power", stored.is_ok() && holds(block.data(), 64, 0));

  //! [reset_statistics]
  model.reset_statistics();
  const Status how = read(queue.handle(), lba, data.region().at(0, 512), 5_s);
  const emulation::NvmeStatistics counts = model.statistics();  // of this read alone
  //! [reset_statistics]
  check("reset_statistics", how.is_ok() && counts.bytes_read == 512);
  //! [watch_in_flight]
  model.watch_in_flight(static_cast<uint16_t>(queue.qid()), /*filled*/ 32);  // from the 32nd command in flight on
  //! [watch_in_flight]
  //! [violations]
  const bool correct = model.violations()->count() == 0;  // the host's violations of the specification
  //! [violations]
  check("violations", correct);

  //! [faults]
  const uint16_t unrecovered = 0x281;
  model.faults().fail(emulation::Match().with_lba(lba, lba).once(), unrecovered);
  const Status refused = read(queue.handle(), lba, data.region().at(0, 512), 5_s);  // Status::read_error
  //! [faults]
  check("faults", refused == Status::read_error);
  //! [set_critical_warning]
  model.set_critical_warning(1);  // spare capacity is low
  const std::vector<uint8_t> smart = controller.get_log_page(nvme::LogId::smart, 512);
  //! [set_critical_warning]
  check("set_critical_warning", smart[0] == (1 ^ damage));

  alignas(4096) static unsigned char memory[4096];
  //! [map]
  const uint64_t bus = model.map(memory, sizeof memory);
  const Status mapped = read(queue.handle(), lba, Region{bus, sizeof memory}.at(0, 512), 5_s);
  model.unmap(bus);  // the controller no longer accesses it
  //! [map]
  check("map", mapped.is_ok() && holds(reinterpret_cast<const uint64_t*>(memory), 64, 0));
}

void stepped() {
  emulation::NvmeConfig config;
  config.execution = emulation::NvmeExecution::stepped;
  auto drive = std::make_unique<emulation::NvmeController>(config);
  emulation::NvmeController& model = *drive;
  host::NvmeController controller(std::move(drive));
  const host::NvmeQueue made = controller.create_queue();
  const host::DmaBuffer data = controller.allocate(4096);
  //! [step]
  nvme::Queue<Sharing::thread> queue(made.handle());
  const Token token = queue.try_submit(nvme::read(0, 1), data.region().at(0, 512));
  const Status before = queue.test(token);  // pending: nothing runs before step()
  model.step();
  const Status after = queue.test(token);
  //! [step]
  check("step", before == Status::pending && after.is_ok() == (damage == 0));
  const Token more = queue.try_submit(nvme::read(0, 1), data.region().at(0, 512));
  //! [run]
  const size_t work = model.run();  // until nothing is left to do
  //! [run]
  check("run", work != 0 && queue.test(more).is_ok());
}

void nics() {
  using Kit = emulation::Mlx5Kit<>;
  std::vector<uint64_t> source(64), target(64);
  fill(source.data(), 64, 0);
  //! [RdmaNic]
  emulation::RdmaFabric fabric;
  emulation::RdmaNic nic;
  emulation::RdmaQueueConfig config = Kit::config();
  config.qpn = 1;
  emulation::RdmaQueuePair<Kit> near(fabric, config);
  config.qpn = 2;
  emulation::RdmaQueuePair<Kit> far(fabric, config);
  near.model().connect(2);
  far.model().connect(1);
  nic.add(near.model());
  nic.add(far.model());
  //! [RdmaNic]
  //! [keys]
  const uint32_t lkey = fabric.keys().add(source.data(), 512);
  const uint32_t rkey = fabric.keys().add(target.data(), 512);
  const Region local{reinterpret_cast<uint64_t>(source.data()), 512, lkey};
  const rdma::RemoteMemory remote{reinterpret_cast<uint64_t>(target.data()), 512, rkey};
  //! [keys]
  //! [pass]
  rdma::QueuePair<Kit::Vendor, Sharing::thread> qp(near.handle());
  const Token token = qp.put(remote.at(0, 512), local.at(0, 512), Now{});
  while (nic.pass()) {
    // Each pass executes what was posted; without start(), nothing else does.
  }
  const Status how = qp.test(token);
  //! [pass]
  check("pass", how.is_ok() && holds(target.data(), 64, 0));
  //! [handles]
  const rdma::QueuePairHandle sends = near.handle();               // for rdma::QueuePair in a kernel
  const rdma::ReceiveQueueHandle receives = far.receive_handle();  // for rdma::ReceiveQueue
  //! [handles]
  check("handles", sends.sq != nullptr && receives.rq != nullptr);
  //! [start]
  nic.start();  // from here on, a thread executes what is posted
  rdma::QueuePair<Kit::Vendor, Sharing::thread> running(sends);
  const Token put = running.put(remote.at(0, 512), local.at(0, 512), Now{});
  const Status ended = running.wait(put, deadline(5_s));
  nic.stop();
  //! [start]
  check("start", ended.is_ok());
  //! [limit_depth]
  near.limit_depth(8);  // for handles created from here on
  //! [limit_depth]
  check("limit_depth", near.handle().depth == 8 && near.posted() != 0);

  near.model().faults().fail(2, emulation::RdmaOutcome::remote_access);
  const Token failing = qp.put(remote.at(0, 8), local.at(0, 8), Now{});
  while (nic.pass()) {
  }
  check("recover", qp.test(failing) == Status::access_denied);
  near.model().faults().clear();
  //! [recover]
  near.recover();
  rdma::QueuePair<Kit::Vendor, Sharing::thread> again(near.handle());
  //! [recover]
  near.model().connect(2);
  const Token good = again.put(remote.at(0, 8), local.at(0, 8), Now{});
  while (nic.pass()) {
  }
  check("recover", again.test(good).is_ok());

  config.qpn = 3;
  emulation::RdmaQueuePair<Kit> old(fabric, config);
  const uint64_t units = (uint64_t{1} << 32) - 2;
  //! [start_at]
  old.start_at(units, /*cq_index*/ 0, /*operations*/ units);  // before the first post: counters that soon wrap
  //! [start_at]
  check("start_at", old.posted() == (units ^ damage));
}

void all() {
  threaded();
  stepped();
  nics();
}

const Program program("emulation", all);

}  // namespace snippets::emulation_calls
