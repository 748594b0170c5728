// SPDX-License-Identifier: MIT
// Queues can be instantiated as a whole, as libraries do that keep them in one translation unit.

#include <xio/xio.hpp>

using namespace xio;

using Late = Policy<Placed<Memory::host, Memory::device>>;

template class xio::nvme::Queue<Sharing::grid>;
template class xio::nvme::Queue<Sharing::thread>;
template class xio::nvme::Queue<Sharing::wave, Policy<Notify, Deferred<4>>>;
template class xio::nvme::Queue<Sharing::block, Late>;
template class xio::nvme::DriveSet<Sharing::grid>;
template class xio::rdma::QueuePair<mlx5::Vendor<>, Sharing::grid>;
template class xio::rdma::QueuePair<bnxt::Vendor<>, Sharing::wave>;
template class xio::rdma::QueuePair<ionic::Vendor<>, Sharing::thread, Policy<Deferred<4>>>;
template class xio::rdma::QueuePair<ernic::Vendor, Sharing::block, Late>;
template class xio::rdma::QueuePair<rxe::Vendor<>, Sharing::grid>;
template class xio::rdma::ReceiveQueue<mlx5::Vendor<>, Sharing::grid>;
template class xio::rdma::ReceiveQueue<rxe::Vendor<>, Sharing::wave>;
