// SPDX-License-Identifier: MIT
// What the compiler refuses with advice: one mistake for each CASE, corrected where XIO_CORRECTED is defined. The
// messages are in compile_fail.cmake.

#include <xio/xio.hpp>

#ifdef XIO_CORRECTED
#define W(wrong, right) right
#else
#define W(wrong, right) wrong
#endif

using namespace xio;

[[maybe_unused]] static Deadline soon() { return deadline(1_s); }

#if CASE == 1  // policy_unknown
[[maybe_unused]] Policy<W(int, Notify)> policy;
#elif CASE == 2   // policy_twice
[[maybe_unused]] Policy<Notify, W(Notify, WriteThrough)> policy;
#elif CASE == 3   // policy_contradiction
[[maybe_unused]] Policy<Deferred<2>, W(Deferred<3>, Notify)> policy;
#elif CASE == 4   // policy_on_top
[[maybe_unused]] Policy<W(Notify, Unchecked), W(Unchecked, Notify)> policy;
#elif CASE == 5   // deferred_never
[[maybe_unused]] Policy<Deferred<W(0, 1)> > policy;
#elif CASE == 6   // bare_number
Token submit(nvme::Queue<> queue, Region region) {
  return queue.submit(nvme::read(0, 1), W(region.base, region.at(0, 512)), soon());
}
#elif CASE == 7   // bare_pointer
Token submit(nvme::Queue<> queue, Region region) {
  return queue.submit(nvme::read(0, 1), W(region.cpu, region.at(0, 512)), soon());
}
#elif CASE == 8   // no_deadline
Token submit(nvme::Queue<> queue, Region region) {
  return queue.W(submit, try_submit)(nvme::read(0, 1), region.at(0, 512));
}
#elif CASE == 9   // notify
Token submit(nvme::Queue<Sharing::grid, W(xio::Policy<>, Policy<Notify>)> queue, Region region, Notification& told) {
  return queue.read(0, region.at(0, 512), soon(), Options().notify(told));
}
#elif CASE == 10  // batch_notify
Token submit(nvme::Queue<Sharing::grid, W(xio::Policy<>, Policy<Notify>)> queue, const nvme::Piece* pieces,
             Notification& told) {
  return queue.submit_batch(nvme::Opcode::read, pieces, 4, soon(), Options().notify(told));
}
#elif CASE == 11  // transfer_notify
Status move(nvme::Queue<Sharing::grid, W(xio::Policy<>, Policy<Notify>)> queue, const nvme::Piece* pieces,
            Notification& progress) {
  return queue.transfer(nvme::Opcode::read, pieces, 4, soon(), progress);
}
#elif CASE == 12  // shared_session
void loop(nvme::Queue<Sharing::W(grid, wave)> queue) { queue.session().end(); }
#elif CASE == 13  // shared_process
uint32_t take(nvme::Queue<Sharing::W(grid, wave)> queue) {
  return queue.process_completions([](const nvme::Completion&) {});
}
#elif CASE == 14  // late_data
using Late = Policy<Placed<Memory::host, Memory::device> >;
Status look(nvme::Queue<Sharing::grid, Late> queue, Token token) { return queue.W(test(token), wait(token, soon())); }
#elif CASE == 15  // late_rdma_data
using Late = Policy<Placed<Memory::host, Memory::device> >;
Status look(mlx5::QueuePair<Sharing::grid, Late> queue, Token token) {
  return queue.W(test(token), wait(token, soon()));
}
#elif CASE == 16  // shared_invalidate
Status end(ionic::QueuePair<Sharing::W(grid, wave)> queue) { return queue.invalidate(1, soon()); }
#elif CASE == 17  // drive_set
Status wait(nvme::DriveSet<Sharing::W(thread, block)> set, nvme::DriveToken token) { return set.wait(token, soon()); }
#elif CASE == 18  // unused_status
void wait(nvme::Queue<> queue, Token token) { W(, (void)) queue.wait(token, soon()); }
#elif CASE == 19  // unused_token
void send(mlx5::QueuePair<> queue, Region region) { W(, (void)) queue.send(region.at(0, 8), soon()); }
#elif CASE == 20  // notify_wait
Status wait(nvme::Queue<Sharing::grid, Policy<Notify> > queue, Token token, Notification& told) {
  return queue.wait(token, soon(), W(Options().notify(told), Options()));
}
#elif CASE == 21  // shared_rdma_session
void loop(mlx5::QueuePair<Sharing::W(grid, wave)> queue) { queue.session().end(); }
#elif CASE == 22  // two_registers_session
struct Registers : mlx5::Options {
  static constexpr uint32_t doorbell_stride = W(256, 0);
};
void loop(rdma::QueuePair<mlx5::Vendor<Registers>, Sharing::wave> queue) { queue.session().end(); }
#elif CASE == 23  // vendor_of_queue_pair
struct Wrong : mlx5::Vendor<> {
  W(static constexpr int has_nop = 1;, )
};
Token send(rdma::QueuePair<Wrong> queue, Region region) { return queue.send(region.at(0, 8), soon()); }
#elif CASE == 24  // vendor_of_receive_queue
struct Wrong : rxe::Vendor<> {
  W(static constexpr int has_nop = 1;, )
};
Token post(rdma::ReceiveQueue<Wrong> queue, Region region) { return queue.post(region.at(0, 8), soon()); }
#elif CASE == 25  // rdma_notify
Token send(mlx5::QueuePair<> queue, Region region, Notification& told) {
  return queue.send(region.at(0, 8), soon(), W(Options().notify(told), Options()));
}
#elif CASE == 26  // late_notify
using Late = Policy<Notify, Placed<Memory::host, Memory::W(device, host)> >;
Token read(nvme::Queue<Sharing::grid, Late> queue, Region region, KeptResult& kept) {
  return queue.read(0, region.at(0, 512), soon(), Options().keep(kept));
}
#elif CASE == 27  // late_batch_notify
using Late = Policy<Notify, Placed<Memory::host, Memory::W(device, host)> >;
Token read(nvme::Queue<Sharing::grid, Late> queue, const nvme::Piece* pieces, Notification& told) {
  return queue.submit_batch(nvme::Opcode::read, pieces, 4, soon(), Options().notify(told));
}
#elif CASE == 28  // late_receives
using Late = Policy<Placed<Memory::host, Memory::device> >;
rdma::Received wait(mlx5::ReceiveQueue<Sharing::grid, W(Late, xio::Policy<>)> queue, Token token) {
  return queue.wait(token, soon());
}
#elif CASE == 29  // no_inline_data
Token tell(W(ernic, rxe)::QueuePair<> queue, Region region, rdma::RemoteMemory remote) {
  return queue.put_signal(remote.at(0, 64), region.at(0, 64), remote.at(64, 8), 1, soon());
}
#elif CASE == 30  // no_invalidate
Status end(W(bnxt, ionic)::QueuePair<Sharing::wave> queue) { return queue.invalidate(1, soon()); }
#elif CASE == 31  // former_flush
void begin(nvme::Queue<> queue) { queue.W(flush, ring)(); }
#elif CASE == 32  // former_rdma_flush
void begin(mlx5::QueuePair<> queue) { queue.W(flush, ring)(); }
#elif CASE == 33  // placed_elsewhere
[[maybe_unused]] Policy<InGpuMemory, Placed<Memory::device, Memory::W(host, device)> > policy;
#elif CASE == 34  // base_elsewhere
[[maybe_unused]] Policy<Policy<Placed<Memory::W(host, device), Memory::W(host, device)> >, InGpuMemory> policy;
#elif CASE == 35  // drives_in_two_ways
void end(nvme::DriveSet<Sharing::grid, Policy<RingBy<ShadowDoorbell>, W(RingBy<MmioDoorbell>, Notify)> > set) {
  set.ring();
}
#endif
