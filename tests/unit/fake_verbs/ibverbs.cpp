// SPDX-License-Identifier: MIT

/// @file
/// @brief A libibverbs.so.1 that does what a test says.

#include "tables.hpp"

extern "C" {

fake_verbs::Ibverbs xio_fake_ibverbs;

ibv_device** ibv_get_device_list(int* count) { return xio_fake_ibverbs.get_device_list(count); }
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device* device) { return xio_fake_ibverbs.get_device_name(device); }
ibv_context* ibv_open_device(ibv_device* device) { return xio_fake_ibverbs.open_device(device); }
int ibv_close_device(ibv_context*) { return xio_fake_ibverbs.destroyed("context"); }
int ibv_query_port(ibv_context* context, uint8_t port, ibv_port_attr* out) {
  return xio_fake_ibverbs.query_port(context, port, out);
}
ssize_t _ibv_query_gid_table(ibv_context* context, void* entries, size_t room, uint32_t, size_t) {
  return xio_fake_ibverbs.query_gid_table(context, entries, room);
}
ibv_pd* ibv_alloc_pd(ibv_context* context) { return xio_fake_ibverbs.alloc_pd(context); }
int ibv_dealloc_pd(ibv_pd*) { return xio_fake_ibverbs.destroyed("pd"); }
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* data, size_t bytes, int) { return xio_fake_ibverbs.reg_mr(pd, data, bytes); }
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access) {
  return xio_fake_ibverbs.reg_dmabuf_mr(pd, offset, bytes, iova, fd, access);
}
int ibv_dereg_mr(ibv_mr*) { return xio_fake_ibverbs.destroyed("mr"); }
ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, void*, int) {
  return xio_fake_ibverbs.create_cq(context, entries);
}
int ibv_destroy_cq(ibv_cq*) { return xio_fake_ibverbs.destroyed("cq"); }
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) { return xio_fake_ibverbs.create_qp(pd, wanted); }
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask) { return xio_fake_ibverbs.modify_qp(qp, to, mask); }
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* now, int mask, ibv_qp_init_attr* made) {
  return xio_fake_ibverbs.query_qp(qp, now, mask, made);
}
int ibv_destroy_qp(ibv_qp*) { return xio_fake_ibverbs.destroyed("qp"); }
int ibv_get_async_event(ibv_context*, ibv_async_event*) { return -1; }
void ibv_ack_async_event(ibv_async_event*) {}
const char* ibv_event_type_str(int) { return "event"; }

}  // extern "C"
