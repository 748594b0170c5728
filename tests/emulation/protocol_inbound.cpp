// SPDX-License-Identifier: MIT

/// @file
/// @brief H15: data in device memory is brought in by a command whose outcome says nothing.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::Memory;
using xio::Placed;
using xio::nvme::Opcode;
using xio::nvme::Piece;

namespace {

using InDevice = Policy<Notify, Placed<Memory::host, Memory::device>>;

constexpr uint8_t op_compare = 5;

/// What a drive may say of a block that we know nothing of: generic, command specific, media, path and vendor errors,
/// with and without bits for retries.
constexpr uint16_t flush_answers[] = {0x000, 0x004,  0x006,  0x007,  0x008,  0x080,  0x081,  0x082, 0x083,
                                      0x084, 0x0c0,  0x10a,  0x182,  0x1c0,  0x280,  0x281,  0x282, 0x284,
                                      0x285, 0x286,  0x287,  0x2c0,  0x300,  0x303,  0x370,  0x371, 0x700,
                                      0x7ff, 0x4281, 0x4285, 0x2281, 0x6080, 0x0881, 0x1a81, 0x7fff};

}  // namespace

TEMPLATE_TEST_CASE_SIG("every wait: any answer to the flush -> good reads are good", "[H15]", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::block, Sharing::grid) {
  Rig rig;
  stamp(rig.bytes(), 1, 8, 1);
  rig.model.write_blocks(1, 1, 8, rig.bytes());
  for (const uint16_t answer : flush_answers) {
    CAPTURE(answer);
    const NvmeQueue made = rig.queue(8, [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); });
    rig.model.reset_statistics();
    Queue<S, InDevice> view(made.handle());
    auto& faults = rig.model.faults();
    const auto rule = faults.fail(Match().with_opcode(op_compare), answer);
    const auto read = [&] {
      std::memset(rig.bytes(), 0, 512);
      return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
    };
    const auto arrived = [&] { return stamped(rig.bytes(), 1, 1, 1); };
    Token token = read();
    CHECK(view.wait(token, soon()).is_ok());
    CHECK(arrived());
    token = read();
    CHECK(view.wait_all(&token, 1, soon()).is_ok());
    CHECK(arrived());
    token = read();
    uint32_t which = 1;
    CHECK(view.wait_any(&token, 1, soon(), which).is_ok());
    CHECK(arrived());
    const Piece piece{1, rig.bus(), 1};
    token = view.submit_batch(Opcode::read, &piece, 1, soon());
    CHECK(view.wait_batch(token, soon()).is_ok());
    Notification progress{};
    CHECK(view.transfer(Opcode::read, &piece, 1, soon(), progress).is_ok());
    (void)read();
    CHECK(view.fence(soon()).is_ok());
    CHECK(arrived());
    CHECK(view.flush_inbound(soon()).is_ok());
    CHECK(view.errors().count == 0);
    (void)read();
    CHECK(view.quiet(soon()).is_ok());
    CHECK(rig.statistics(made).by_opcode[op_compare] == 8);

    // An error of the read itself is still one.
    const auto bad = faults.fail(Match().with_opcode(2), 0x281);
    CHECK(view.wait(read(), soon()) == Status(Status::read_error, 0x281));
    (void)read();
    CHECK(code_of(view.quiet(soon())) == 0x281);
    faults.remove(bad);
    faults.remove(rule);
    CHECK(view.errors().count == 0);
  }
}

TEST_CASE("flush_inbound: a flush without an answer -> an error", "[H15]") {
  Rig rig;
  const NvmeQueue made = rig.queue(8, [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); });
  Queue<Sharing::grid, InDevice> view(made.handle());
  const auto held = rig.model.faults().hold(Match().with_opcode(op_compare));
  const auto read = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
  CHECK(view.wait(read(), xio::deadline(50_ms)) == Status::timed_out);
  CHECK(view.flush_inbound(xio::deadline(5_ms)) == Status::timed_out);
  rig.model.faults().remove(held);
  CHECK(view.wait(read(), soon()).is_ok());
  rig.model.faults().hold(Match().with_opcode(op_compare));
  made.handle().state->broken = 1;
  CHECK(view.flush_inbound(soon()) == Status::broken);
}

TEMPLATE_TEST_CASE_SIG("flush_inbound: an answer after the wait gave up -> reported to nobody", "[H15][H16]",
                       ((Sharing S), S), Sharing::thread, Sharing::wave, Sharing::block, Sharing::grid) {
  Rig rig;
  for (const uint16_t answer : flush_answers) {
    CAPTURE(answer);
    const NvmeQueue made = rig.queue(8, [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); });
    Queue<S, Policy<Notify>> plain(made.handle());
    Queue<S, InDevice> view(made.handle());
    auto& faults = rig.model.faults();
    const auto rule = faults.fail(Match().with_opcode(op_compare), answer);
    const auto read = [&](uint64_t lba) {
      return plain.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
    };
    // Errors of the caller's own, before and behind it in the same slots.
    const auto bad = faults.fail(Match().with_lba(2, 2), 0x281);
    const uint32_t slots = made.handle().slot_mask + 1;
    for (const uint32_t late : {1u, 3u}) {
      auto held = faults.hold(Match().with_opcode(op_compare));
      for (uint32_t i = 0; i < late; ++i) CHECK(view.flush_inbound(xio::deadline(2_ms)) == Status::timed_out);
      faults.resume(held);
      CHECK(plain.fence(soon()).is_ok());
      CHECK(plain.errors().count == 0);
      CHECK(plain.quiet(soon()).is_ok());
      if constexpr (!xio::is_shared<S>) {
        held = faults.hold(Match().with_opcode(op_compare));
        CHECK(view.flush_inbound(xio::deadline(2_ms)) == Status::timed_out);
        const Token own = read(1);
        faults.resume(held);
        uint64_t seen = 0;
        uint32_t taken = 0;
        const Deadline until = soon();
        const xio::QueueState& state = *made.handle().state;
        while (state.retired != state.reserved && !until.passed()) {
          taken += plain.process_completions([&](const xio::nvme::Completion& one) {
            CHECK(one.ticket == own.last);
            ++seen;
          });
        }
        CHECK(seen == 1);
        CHECK(taken == 1);
        CHECK(plain.quiet(soon()).is_ok());
      }
      CHECK(code_of(plain.wait(read(2), soon())) == 0x281);
      for (uint32_t i = 0; i < slots; ++i) (void)plain.wait(read(1), soon());
      (void)read(2);
      CHECK(plain.fence(soon()).is_ok());
      CHECK(plain.errors().count == 1);
      CHECK(code_of(plain.quiet(soon())) == 0x281);
    }
    faults.remove(bad);
    faults.remove(rule);
  }
}

TEST_CASE("Placed: completions in host memory, data in device memory -> a flush", "[H15]") {
  STATIC_REQUIRE_FALSE(Policy<Placed<Memory::host, Memory::device>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::host, Memory::host>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::device, Memory::device>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::device, Memory::host>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Notify, Placed<Memory::host, Memory::device>>::notifications);
}

namespace {
void wait_and_flush(const QueueHandle& handle, uint64_t bus) {
  Queue<Sharing::wave, Policy<Placed<Memory::host, Memory::device>>> queue(handle);
  EXPECT_OK(queue.wait(queue.submit(xio::nvme::read(xio::arch::lane(), 1), ContiguousPages{bus}, soon()), soon()));
}
}  // namespace

TEST_CASE("wait: a wave with inbound data -> one flush for all lanes", "[H15]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(64, [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); });
  xio::simt::launch(Grid::of_waves(1, 1, 64), wait_and_flush, queue.handle(), rig.bus());
  CHECK(rig.statistics(queue).by_opcode[5] == 1);
}
