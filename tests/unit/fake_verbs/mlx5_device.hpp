// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What libmlx5 tells of a queue pair whose rings are an emulated ConnectX's.

#include <infiniband/mlx5dv.h>

#include <xio/host/emulation/rdma/nic.hpp>

#include "unit/fake_verbs/device.hpp"

namespace fake_verbs {

/// The direct verbs' description of `emulated`, to be changed by a test before it adopts.
struct Mlx5View {
  template <class Kit>
  Mlx5View(Queue& queue, xio::emulation::RdmaQueuePair<Kit>& emulated) : owner(&queue) {
    const xio::emulation::RdmaQueueMemory m = emulated.memory();
    const xio::emulation::RdmaQueueConfig& config = emulated.config();
    qp.dbrec = m.rq_record;  // the send counter follows it
    qp.sq = {m.sq, config.sq_units, 64};
    qp.rq = {m.rq, config.rq_entries, 1u << config.rq_entry_shift};
    qp.bf = {m.sq_doorbell, 256};
    const auto completions = [](void* buffer, uint32_t* record, uint32_t entries, uint32_t cqn) {
      mlx5dv_cq cq{};
      cq.buf = buffer;
      cq.dbrec = record;
      cq.cqe_cnt = entries;
      cq.cqe_size = Kit::Wire::cqe_bytes;
      cq.cqn = cqn;
      return cq;
    };
    send_cq = completions(m.cq, m.cq_record, config.cq_entries, config.cqn);
    receive_cq = completions(m.receive_cq, m.receive_cq_record, config.receive_cq_entries, config.receive_cqn);
    queue.context.cmd_fd = 0;
    queue.context.abi_compat = this;
    Mlx5& table = table_of<Mlx5>("libmlx5.so.1", "xio_fake_mlx5");
    table.is_supported = [](ibv_device* device) { return device->node_type == IBV_NODE_CA; };
    queue.device.node_type = IBV_NODE_CA;
    table.init_obj = [](mlx5dv_obj* object, uint64_t types) {
      if (types == MLX5DV_OBJ_QP) {
        const auto& self = *static_cast<Mlx5View*>(object->qp.in->context->abi_compat);
        *object->qp.out = self.qp;
        return self.qp_error;
      }
      if (types == MLX5DV_OBJ_CQ) {
        auto& self = *static_cast<Mlx5View*>(object->cq.in->context->abi_compat);
        ++self.queues_taken;
        *object->cq.out = object->cq.in == self.owner->qp.send_cq ? self.send_cq : self.receive_cq;
        return self.cq_error;
      }
      return EINVAL;
    };
  }

  Mlx5View(const Mlx5View&) = delete;
  Mlx5View& operator=(const Mlx5View&) = delete;

  Queue* owner;
  mlx5dv_qp qp{};
  mlx5dv_cq send_cq{};
  mlx5dv_cq receive_cq{};
  int qp_error = 0;
  int cq_error = 0;
  int queues_taken = 0;  // libmlx5 polls them no more
};

}  // namespace fake_verbs
