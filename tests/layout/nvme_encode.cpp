// SPDX-License-Identifier: MIT
// Commands filled by name: what golden files do not reach.

#include <type_traits>

#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/encode_more.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

static_assert(std::is_trivially_copyable_v<nvme::Command>);
static_assert(std::is_aggregate_v<nvme::Command>);
static_assert(sizeof(nvme::Command) <= 64, "a command is no larger than its entry");

TEST_CASE("setters return the changed command and leave the other alone") {
  constexpr nvme::Command plain = nvme::write(5, 8);
  constexpr nvme::Command changed = plain.nsid(3).force_unit_access().hints(nvme::hint::once | nvme::hint::latency_low);
  CHECK(plain.namespace_id == 0);
  CHECK(plain.cdw12 == 0);
  CHECK(changed.namespace_id == 3);
  CHECK(nvme::encode(changed, 0).cdw12 == 0x40000007);
  CHECK(nvme::encode(changed, 0).cdw13 == 0x36);
}

TEST_CASE("each flag is one bit of dword 12") {
  const auto bits = [](const nvme::Command& command) { return nvme::encode(command, 0).cdw12; };
  CHECK(bits(nvme::read(0, 1).limited_retry()) == 1u << 31);
  CHECK(bits(nvme::read(0, 1).force_unit_access()) == 1u << 30);
  CHECK(bits(nvme::read(0, 1).protection_action()) == 1u << 29);
  CHECK(bits(nvme::read(0, 1).protection_check(nvme::cdw12::check_guard)) == 1u << 28);
  CHECK(bits(nvme::read(0, 1).protection_check(nvme::cdw12::check_application_tag)) == 1u << 27);
  CHECK(bits(nvme::read(0, 1).protection_check(nvme::cdw12::check_reference_tag)) == 1u << 26);
  CHECK(bits(nvme::write_zeroes(0, 1).deallocate()) == 1u << 25);
  CHECK(bits(nvme::zone_append(0, 1).remap_reference_tag()) == 1u << 25);
  CHECK(bits(nvme::read(0, 1).storage_tag_check()) == 1u << 24);
  CHECK(bits(nvme::read(0, 65536)) == 0xffff);
}

TEST_CASE("deallocate: ranges -> Dataset Management with its attribute, and the count less one") {
  const nvme::Sqe entry = nvme::encode(nvme::deallocate(3).nsid(1), 11, {0x55555715c000, 0});
  CHECK(entry.cdw0 == (11u << 16 | 0x09));
  CHECK(entry.cdw10 == 2);
  CHECK(entry.cdw11 == 1u << 2);
}

TEST_CASE("command identifier, fused bits and SGL bit join the opcode") {
  const nvme::DataPointer sgl{0x1122334455667788, 0x99aabbccddeeff00, true};
  const nvme::Sqe entry = nvme::encode(nvme::compare(1, 1).fused_first(), 0xfedc, sgl);
  CHECK(entry.cdw0 == 0xfedc4105);
  CHECK(entry.prp1 == sgl.prp1);
  CHECK(entry.prp2 == sgl.prp2);
  CHECK(nvme::encode(nvme::write(1, 1).fused_second(), 1).cdw0 == 0x00010201);
}

TEST_CASE("tags, directive and metadata") {
  const nvme::Sqe entry = nvme::encode(nvme::write(0, 1)
                                           .reference_tag(0xa1b2c3d4)
                                           .application_tag(0x1122, 0x3344)
                                           .directive(1, 0x1234)
                                           .metadata(0xabc000),
                                       0);
  CHECK(entry.cdw14 == 0xa1b2c3d4);
  CHECK(entry.cdw15 == 0x33441122);
  CHECK(entry.cdw13 == 0x12340000);
  CHECK(entry.cdw12 == 1u << 20);
  CHECK(entry.mptr == 0xabc000);
  const nvme::Sqe again =
      nvme::encode(nvme::write(0, 1).directive(0xf, 0xffff).directive(2, 7).hints(0xff).hints(1), 0);
  CHECK(again.cdw12 == 2u << 20);
  CHECK(again.cdw13 == 0x00070001);
}

TEST_CASE("pieces of a command") {
  const nvme::Command whole = nvme::read(0xfffffffe, 100).force_unit_access().reference_tag(7);
  const nvme::Command piece = whole.piece(4, 10);
  CHECK(piece.lba() == 0x100000002);
  CHECK(piece.blocks() == 10);
  CHECK(nvme::encode(piece, 0).cdw12 == 0x40000009);
  CHECK(piece.cdw14 == 7);
  CHECK(whole.protection_check(nvme::cdw12::check_reference_tag).piece(4, 10).cdw14 == 11);
  CHECK(whole.protection_action().piece(4, 10).cdw14 == 11);
}

TEST_CASE("no blocks, and too many, show in the number of the last block") {
  CHECK(nvme::read(0, 0).last_block == 0xffffffff);
  CHECK(nvme::read(0, 65537).last_block == 65536);
}

TEST_CASE("any dword by number") {
  nvme::Command command = nvme::command(nvme::Opcode::verify);
  for (const uint32_t number : {2u, 3u, 10u, 11u, 12u, 13u, 14u, 15u}) command = command.dword(number, 0x100 + number);
  const nvme::Sqe entry = nvme::encode(command.dword(4, 0xffffffff), 0);
  CHECK(entry.cdw2 == 0x102);
  CHECK(entry.cdw3 == 0x103);
  CHECK(entry.mptr == 0);
  CHECK(entry.cdw10 == 0x10a);
  CHECK(entry.cdw11 == 0x10b);
  CHECK(entry.cdw12 == 0x10c);
  CHECK(entry.cdw13 == 0x10d);
  CHECK(entry.cdw14 == 0x10e);
  CHECK(entry.cdw15 == 0x10f);
}

TEST_CASE("admin commands that golden files do not hold") {
  CHECK(nvme::abort(3, 0x1234).cdw10 == 0x12340003);
  CHECK(nvme::get_features(nvme::FeatureId::number_of_queues, nvme::FeatureSelect::capabilities).cdw10 == 0x307);
  CHECK(nvme::set_number_of_queues(1, 1).cdw11 == 0);
  CHECK(nvme::set_number_of_queues(65535, 4).cdw11 == 0x0003fffe);
  nvme::CompletionQueueRequest queue;
  queue.qid = 2;
  queue.entries = 65536;
  queue.contiguous = false;
  queue.interrupts = true;
  queue.vector = 5;
  CHECK(nvme::create_io_cq(queue).cdw10 == 0xffff0002);
  CHECK(nvme::create_io_cq(queue).cdw11 == 0x00050002);
  CHECK(nvme::create_io_sq({4, 2, 9, true, 3, 6}).cdw11 == 0x00090007);
  CHECK(nvme::create_io_sq({4, 2, 9, true, 3, 6}).cdw12 == 6);
  nvme::LogPageRequest page;
  page.bytes = 4u << 18;  // 2^18 dwords: more than 16 bits hold.
  page.offset = 0x123456789abc;
  page.retain_event = true;
  CHECK(nvme::get_log_page(page).cdw10 == 0xffff8001);
  CHECK(nvme::get_log_page(page).cdw11 == 0x3);
  CHECK(nvme::get_log_page(page).cdw12 == 0x56789abc);
  CHECK(nvme::get_log_page(page).cdw13 == 0x1234);
}

TEST_CASE("builders say how many bytes a command moves") {
  using nvme::AdminOpcode;
  using nvme::FeatureId;
  namespace data_size = nvme::data_size;
  CHECK(nvme::identify_controller().data == 4096);
  CHECK(nvme::identify_active_namespaces().data == 4096);
  for (const uint32_t bytes : {4u, 512u, 4096u, 65536u, 1u << 30}) {
    nvme::LogPageRequest page;
    page.bytes = bytes;
    CHECK(nvme::get_log_page(page).data == bytes);
  }
  for (const uint32_t bytes : {0u, 1u, 6u, 4095u}) {
    nvme::LogPageRequest page;
    page.bytes = bytes;
    CHECK(nvme::get_log_page(page).data == data_size::impossible);
  }
  struct Feature {
    FeatureId id;
    uint32_t set, get;
  };
  const Feature features[] = {{FeatureId::arbitration, 0, 0},
                              {FeatureId::number_of_queues, 0, 0},
                              {FeatureId::lba_range_type, 4096, 4096},
                              {FeatureId::autonomous_power_state, 256, 256},
                              {FeatureId::host_memory_buffer, 0, 4096},
                              {FeatureId::timestamp, 8, 8},
                              {FeatureId::host_behavior, 512, 512},
                              {FeatureId::predictable_latency_config, 512, 512},
                              {FeatureId::host_identifier, 8, 8},
                              {FeatureId::namespace_write_protection, 0, 0},
                              {static_cast<FeatureId>(0xc0), data_size::unknown, data_size::unknown},
                              {static_cast<FeatureId>(0), data_size::unknown, data_size::unknown}};
  for (const Feature& feature : features) {
    CAPTURE(static_cast<uint32_t>(feature.id));
    CHECK(nvme::set_features(feature.id, 0).data == feature.set);
    CHECK(nvme::get_features(feature.id).data == feature.get);
    CHECK(nvme::get_features(feature.id, nvme::FeatureSelect::capabilities).data == 0);
  }
  CHECK(nvme::set_features(FeatureId::host_identifier, 1).data == 16);
  for (const nvme::Command& none :
       {nvme::abort(1, 1), nvme::async_event_request(), nvme::keep_alive(), nvme::delete_io_sq(1), nvme::flush(),
        nvme::create_io_cq({1, 2}), nvme::write_zeroes(0, 1), nvme::verify(0, 1), nvme::write_uncorrectable(0, 1)})
    CHECK(none.data == 0);
  // By hand it is not known, until somebody tells.
  const nvme::Command by_hand = nvme::command(AdminOpcode::directive_receive).dword(10, 1023);
  CHECK(by_hand.data == data_size::unknown);
  CHECK(by_hand.moves(4096).data == 4096);
  for (uint32_t number = 2; number < 16; ++number) {
    const bool length = number >= 10 && number <= 13;
    CHECK(nvme::read(0, 1).dword(number, 1).data == (length ? data_size::unknown : data_size::of_blocks));
  }
}
