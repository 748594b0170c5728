// SPDX-License-Identifier: MIT

/// @file
/// @brief A libionic.so.1 that does what a test says.

#include "tables.hpp"

extern "C" {

fake_verbs::Ionic xio_fake_ionic;

bool ionic_dv_is_ionic_qp(ibv_qp* qp) { return xio_fake_ionic.is_qp(qp); }
int ionic_dv_get_ctx(void* out, ibv_context* context) { return xio_fake_ionic.get_ctx(out, context); }
int ionic_dv_get_qp(void* out, ibv_qp* qp) { return xio_fake_ionic.get_qp(out, qp); }
int ionic_dv_get_cq(void* out, ibv_cq* cq, uint8_t pipeline) { return xio_fake_ionic.get_cq(out, cq, pipeline); }
uint8_t ionic_dv_qp_get_udma_idx(ibv_qp* qp) { return xio_fake_ionic.get_udma_idx(qp); }
int ionic_dv_qp_get_send_dbell_data(ibv_qp* qp, uint64_t* out) { return xio_fake_ionic.send_doorbell(qp, out); }
int ionic_dv_qp_get_recv_dbell_data(ibv_qp* qp, uint64_t* out) { return xio_fake_ionic.receive_doorbell(qp, out); }

}  // extern "C"
