// SPDX-License-Identifier: MIT

/// @file
/// @brief A librdmacm.so.1 whose peers all accept: events come at once, and the answer is a test's.

#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>

#include "tables.hpp"

extern "C" fake_verbs::Rdmacm xio_fake_rdmacm;

namespace {

struct Channel {
  rdma_event_channel handle{};
  std::deque<rdma_cm_event> events;
};

Channel& channel_of(rdma_event_channel* handle) { return *reinterpret_cast<Channel*>(handle); }

int tell(rdma_cm_id* id, rdma_cm_event_type type) {
  rdma_cm_event event{};
  event.event = type;
  if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
    event.param.conn.private_data = xio_fake_rdmacm.answer;
    event.param.conn.private_data_len = xio_fake_rdmacm.answer_bytes;
  }
  channel_of(id->channel).events.push_back(event);
  return ::eventfd_write(id->channel->fd, 1);
}

}  // namespace

extern "C" {

fake_verbs::Rdmacm xio_fake_rdmacm;

rdma_event_channel* rdma_create_event_channel() {
  auto* const channel = new Channel;
  channel->handle.fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  return &channel->handle;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  ::close(channel->fd);
  delete &channel_of(channel);
}
int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void*, rdma_port_space) {
  *id = new rdma_cm_id{};
  (*id)->channel = channel;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  delete id;
  return 0;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr*, int) {
  id->verbs = xio_fake_rdmacm.device;
  id->port_num = 1;
  return tell(id, RDMA_CM_EVENT_ADDR_RESOLVED);
}
int rdma_resolve_route(rdma_cm_id* id, int) { return tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED); }
int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr*, int* mask) {
  *mask = IBV_QP_STATE;
  return 0;
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param*) { return tell(id, RDMA_CM_EVENT_CONNECT_RESPONSE); }
int rdma_establish(rdma_cm_id*) { return 0; }
int rdma_disconnect(rdma_cm_id*) {
  ++xio_fake_rdmacm.disconnected;
  return 0;
}
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  eventfd_t one = 0;
  if (::eventfd_read(channel->fd, &one) != 0) return -1;
  std::deque<rdma_cm_event>& events = channel_of(channel).events;
  *event = new rdma_cm_event(events.front());
  events.pop_front();
  return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete event;
  return 0;
}
const char* rdma_event_str(rdma_cm_event_type) { return "event"; }

}  // extern "C"
