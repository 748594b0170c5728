// SPDX-License-Identifier: MIT
// Capsules of NVMe over Fabrics, byte by byte, as the specification draws them.

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/registers.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

namespace {

/// The bytes of a capsule in groups of 8, as hexadecimal text.
std::string capsule(const nvme::Command& command, uint16_t cid, const nvme::DataPointer& data = fabrics::no_data()) {
  const nvme::Sqe entry = nvme::encode(command, cid, data);
  std::array<unsigned char, 64> bytes{};
  std::memcpy(bytes.data(), &entry, bytes.size());
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 8 == 0) text += ' ';
    for (const unsigned digit : {bytes[i] / 16u, bytes[i] % 16u}) text += "0123456789abcdef"[digit];
  }
  return text;
}

}  // namespace

TEST_CASE("connect") {
  CHECK(capsule(fabrics::connect({0, 32, 120000}), 0x1234,
                nvme::sgl_keyed_data_block(0x1122334455667788, 1024, 0xa1b2c3d4)) ==
        "7f40341201000000 0000000000000000 0000000000000000 8877665544332211 "
        "000400d4c3b2a140 000000001f000000 c0d4010000000000 0000000000000000");
  CHECK(capsule(fabrics::connect({0xfedc, 65536, 0, 0x05}), 1, nvme::sgl_keyed_data_block(0, 1024, 0)) ==
        "7f40010001000000 0000000000000000 0000000000000000 0000000000000000 "
        "0004000000000040 0000dcfeffff0500 0000000000000000 0000000000000000");
  CHECK(fabrics::connect({}).data == sizeof(fabrics::ConnectData));
  CHECK(fabrics::connect({}).named == nvme::Blocks::none);
}

TEST_CASE("properties") {
  CHECK(capsule(fabrics::property_get(nvme::reg::cap, true), 2) ==
        "7f40020004000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000040 0100000000000000 0000000000000000 0000000000000000");
  CHECK(capsule(fabrics::property_get(nvme::reg::csts, false), 3) ==
        "7f40030004000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000040 000000001c000000 0000000000000000 0000000000000000");
  CHECK(capsule(fabrics::property_set(nvme::reg::cc, 0x460001, false), 4) ==
        "7f40040000000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000040 0000000014000000 0100460000000000 0000000000000000");
  CHECK(capsule(fabrics::property_set(0x28, 0x1122334455667788, true), 4) ==
        "7f40040000000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000040 0100000028000000 8877665544332211 0000000000000000");
}

TEST_CASE("disconnect") {
  CHECK(capsule(fabrics::disconnect(), 5) ==
        "7f40050008000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000040 0000000000000000 0000000000000000 0000000000000000");
}

TEST_CASE("a keyed data block has 24 bits of length and 32 of key") {
  const nvme::DataPointer most = nvme::sgl_keyed_data_block(~uint64_t{0}, fabrics::largest_keyed, 0xffffffff);
  CHECK(most.prp1 == ~uint64_t{0});
  CHECK(most.prp2 == 0x40ffffffffffffff);
  CHECK(most.sgl);
}

TEST_CASE("the result of connect") {
  constexpr fabrics::ConnectResult plain{0x0000abcd};
  CHECK(plain.cntlid() == 0xabcd);
  CHECK_FALSE(plain.authentication());
  CHECK_FALSE(plain.secure_channel());
  CHECK(fabrics::ConnectResult{1u << 17}.authentication());
  CHECK_FALSE(fabrics::ConnectResult{1u << 17}.secure_channel());
  CHECK(fabrics::ConnectResult{1u << 18}.secure_channel());
  CHECK(fabrics::ConnectResult{0x00010100}.offset() == 256);
  CHECK(fabrics::ConnectResult{0x00010100}.in_data());
}

TEST_CASE("fields of identify") {
  std::array<uint8_t, nvme::identify_bytes> page{};
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<uint8_t>(i * 7 + i / 256 + 1);
  const auto at = [&](size_t offset, uint32_t bytes) { return nvme::load_le(page.data() + offset, bytes); };
  const fabrics::IdentifyFabrics view{page.data()};
  CHECK(view.kas() == at(320, 2));
  CHECK(view.ioccsz() == at(1792, 4));
  CHECK(view.iorcsz() == at(1796, 4));
  CHECK(view.icdoff() == at(1800, 2));
  CHECK(view.fcatt() == at(1802, 1));
  CHECK(view.msdbd() == at(1803, 1));
  CHECK(view.ofcs() == at(1804, 2));
  CHECK(view.dctype() == at(1806, 1));
}
