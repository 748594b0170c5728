// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: queue pairs of a program, passed to kernels. Code that needs a NIC is compiled,
/// but runs only on machines with one.

#include <chrono>
#include <string>
#include <thread>

#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/host/rdma/exchange.hpp>

#include "link.hpp"

#if __has_include(<infiniband/verbs.h>)
#include <xio/host/rdma/bnxt.hpp>
#include <xio/host/rdma/ernic.hpp>
#include <xio/host/rdma/ionic.hpp>
#include <xio/host/rdma/queue_pair.hpp>
#endif
#if __has_include(<infiniband/mlx5dv.h>)
#include <xio/host/rdma/mlx5.hpp>
#endif

using namespace xio;

namespace snippets::rdma_host_calls {

XIO_KERNEL void put(rdma::QueuePairHandle handle, Region local, rdma::RemoteMemory remote, Status* status) {
  rdma::QueuePair<Vendor, Sharing::thread> qp(handle);
  const Deadline until = qp.deadline(5_s);
  *status = qp.wait(qp.put(remote.at(0, 512), local.at(0, 512), until), until);
}

void direct() {
  Link<> link;
  fill(link.near(), 64, 0);
  const rdma::QueuePairHandle made = link.peers.queue.handle();
  void* const sq = made.sq;
  uint32_t* const record = made.sq_record;
  void* const doorbell = made.sq_doorbell;
  const rdma::CompletionQueueHandle cq = made.cq;
  const rdma::SendShape shape = made.shape;
  //! [DirectQueuePair]
  host::DirectQueues queues;
  queues.name = "queue pair 7";  // for messages
  queues.sq = sq;
  queues.sq_record = record;
  queues.sq_doorbell = doorbell;
  queues.shape = shape;
  queues.cq.entries = const_cast<void*>(cq.entries);
  queues.cq.count = cq.size;
  queues.cq.record = cq.record;
  queues.no_receives = "it only sends";
  const host::DirectQueuePair<mlx5::Vendor<>> direct(queues);
  //! [DirectQueuePair]
  Status status = Status::not_ready;
  host::launch(link.executor, {1, 1}, put, direct.handle(), link.peers.local(), link.peers.remote(), &status);
  check("DirectQueuePair", status.is_ok() && holds(link.far(), 64, 0));
}

void exchange() {
  host::ExchangeServer server;  // on any free port
  uint64_t theirs = 0;
  std::thread peer([&theirs, port = server.port()] {
    const uint64_t mine = 2;
    //! [connect]
    host::Exchange other = host::Exchange::connect("127.0.0.1", port, std::chrono::seconds(20));
    theirs = other.trade(mine);
    other.meet();  // both sides have reached this point
    //! [connect]
  });
  const uint64_t mine = 1;
  //! [accept]
  host::Exchange other = server.accept(std::chrono::seconds(20));
  const uint64_t peers = other.trade(mine);  // any plain struct, such as host::QueuePairAddress
  other.meet();
  //! [accept]
  peer.join();
  check("accept", peers == (2 ^ damage) && theirs == 1);

  std::thread known([port = server.port()] {
    host::Exchange client = host::Exchange::connect("127.0.0.1", port, std::chrono::seconds(20));
    static_cast<void>(client.trade(std::string("of this job")));
  });
  //! [filter]
  host::PeerFilter filter;
  filter.is_known = [](const std::string& piece) { return piece == "of this job"; };
  host::Exchange client = server.accept(std::chrono::seconds(20), filter);  // other clients are rejected
  const std::string first = client.trade(std::string());
  //! [filter]
  //! [set_limit]
  client.set_limit(std::chrono::minutes(5));  // the peer computes first
  //! [set_limit]
  known.join();
  check("filter", first == "of this job");
}

#if __has_include(<infiniband/verbs.h>)

void connect(const std::string& device_name, host::Exchange& other) {
  //! [VerbsQueuePair]
  const host::RdmaDevice device({device_name, /*port*/ 1, {}});
  const host::ProtectionDomain domain(device);
  const host::CompletionQueue sends(device, 256);
  const host::CompletionQueue receives(device, 64);
  host::VerbsQueuePair queue(device, domain, sends, receives);
  queue.connect(other.trade(queue.address()));
  other.meet();
  //! [VerbsQueuePair]
  //! [reset]
  queue.fail();   // outstanding operations end with the status "flushed"
  queue.reset();  // both sides; then they connect again
  queue.connect(other.trade(queue.address()));
  //! [reset]
  host::VerbsQueuePair own(device, domain, sends, receives);
  //! [connect_to_itself]
  own.connect_to_itself();  // for a test on one machine: it receives what it sends
  //! [connect_to_itself]
}

void adopt(ibv_qp* qp, const host::BnxtMemory& bnxt_memory, const host::ErnicMemory& ernic_memory) {
  {
    //! [adopt_bnxt]
    const auto adopted = host::adopt_bnxt<>(qp, bnxt_memory);  // rings that the program has allocated
    const rdma::QueuePairHandle& handle = adopted.handle();    // for rdma::QueuePair<bnxt::Vendor<>>
    //! [adopt_bnxt]
    check("adopt_bnxt", handle.sq != nullptr);
  }
  {
    //! [adopt_ionic]
    const auto adopted = host::adopt_ionic<>(qp);
    const rdma::QueuePairHandle& handle = adopted.handle();  // for rdma::QueuePair<ionic::Vendor<>>
    //! [adopt_ionic]
    check("adopt_ionic", handle.sq != nullptr);
  }
  {
    //! [adopt_ernic]
    const auto adopted = host::adopt_ernic(qp, ernic_memory);
    const rdma::QueuePairHandle& handle = adopted.handle();  // for rdma::QueuePair<ernic::Vendor>
    //! [adopt_ernic]
    check("adopt_ernic", handle.sq != nullptr);
  }
#if __has_include(<infiniband/mlx5dv.h>)
  //! [adopt_mlx5]
  const auto adopted = host::adopt_mlx5<>(qp);                          // connected, and nothing else posts to it
  const rdma::QueuePairHandle& handle = adopted.handle();               // for rdma::QueuePair<mlx5::Vendor<>>
  const rdma::ReceiveQueueHandle& receives = adopted.receive_handle();  // for rdma::ReceiveQueue<mlx5::Vendor<>>
  //! [adopt_mlx5]
  check("adopt_mlx5", handle.sq != nullptr && receives.rq != nullptr);
#endif
}

/// Adopts a null queue pair, which is refused.
void refused() {
  uint32_t refusals = 0;
  try {
    adopt(nullptr, {}, {});
  } catch (const host::Error&) {
    ++refusals;
  }
  check("adopt", refusals == 1);
  static_cast<void>(&connect);
}

#else
void refused() {}
#endif

void all() {
  direct();
  exchange();
  refused();
}

const Program program("rdma_host", all);

}  // namespace snippets::rdma_host_calls
