// SPDX-License-Identifier: MIT
// Controller registers and Identify data.

#include <string>
#include <vector>

#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/registers.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

namespace {

std::string text(const nvme::Text& from) { return {reinterpret_cast<const char*>(from.data), from.bytes}; }

void store(std::vector<uint8_t>& page, uint32_t offset, uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) page[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}
void store(std::vector<uint8_t>& page, uint32_t offset, const std::string& value) {
  for (size_t i = 0; i < value.size(); ++i) page[offset + i] = static_cast<uint8_t>(value[i]);
}

}  // namespace

TEST_CASE("controller capabilities") {
  constexpr nvme::Cap cap{0x0042'0131'2801'03ff};
  CHECK(cap.mqes() == 0x3ff);
  CHECK(cap.cqr());
  CHECK(cap.ams() == 0);
  CHECK(cap.to() == 0x28);
  CHECK(cap.dstrd() == 1);
  CHECK(cap.nssrs());
  CHECK(cap.css() == 0x9);
  CHECK_FALSE(cap.bps());
  CHECK(cap.mpsmin() == 2);
  CHECK(cap.mpsmax() == 4);
  CHECK_FALSE(cap.cmbs());
  CHECK(nvme::Cap{uint64_t{1} << 57}.cmbs());
  CHECK(nvme::Cap{uint64_t{1} << 56}.pmrs());
  CHECK(nvme::Cap{uint64_t{3} << 17}.ams() == 3);
}

TEST_CASE("controller configuration is composed field by field") {
  constexpr nvme::Cc cc = nvme::Cc{}.en(true).iosqes(6).iocqes(4);
  CHECK(cc.raw == 0x00460001);
  CHECK(cc.css(6).mps(4).raw == 0x00460261);
  CHECK(cc.mps(15).mps(1).mps() == 1);
  CHECK(cc.shn(1).en(false).raw == 0x00464000);
  CHECK(cc.mps(0xff).raw == (0x00460001 | 0x780));
}

TEST_CASE("status, admin queues and memory buffer") {
  CHECK(nvme::Csts{1}.rdy());
  CHECK(nvme::Csts{2}.cfs());
  CHECK(nvme::Csts{8}.shst() == 2);
  CHECK(nvme::Csts{0xffffffff}.gone());
  CHECK_FALSE(nvme::Csts{3}.gone());
  CHECK(nvme::Aqa::of(4096, 2).raw == 0x00010fff);
  CHECK(nvme::Aqa{0x00010fff}.asqs() == 0xfff);
  CHECK(nvme::Cmbsz{0x00010210}.wds());
  CHECK(nvme::Cmbsz{0x00010210}.bytes() == 16u << 20);
  CHECK(nvme::Cmbmsc::at(0x12345678).raw == 0x12345003);
  CHECK(nvme::Vs{0x00010400}.mjr() == 1);
  CHECK(nvme::Vs{0x00010400}.mnr() == 4);
}

TEST_CASE("doorbells of neighbouring queues never meet") {
  for (uint32_t dstrd = 0; dstrd < 16; ++dstrd) {
    const uint64_t stride = uint64_t{4} << dstrd;
    for (uint32_t qid : {0u, 1u, 2u, 255u, 65534u}) {
      CHECK(nvme::cq_head_doorbell(qid, dstrd) == nvme::sq_tail_doorbell(qid, dstrd) + stride);
      CHECK(nvme::sq_tail_doorbell(qid + 1, dstrd) == nvme::cq_head_doorbell(qid, dstrd) + stride);
    }
  }
  CHECK(nvme::sq_tail_doorbell(0, 7) == 0x1000);
  CHECK(nvme::sq_tail_slot(65535, 15) == 65535ull * 2 * 131072);
}

TEST_CASE("identify controller") {
  std::vector<uint8_t> page(nvme::identify_bytes);
  store(page, 0, 0x1b36, 2);
  store(page, 4, "serial              ");
  store(page, 24, "QEMU NVMe Ctrl                          ");
  store(page, 64, "7.2.0   ");
  page[77] = 7;
  store(page, 80, 0x00010400, 4);
  store(page, 128, 10, 2);
  store(page, 256, 0x10a, 2);
  page[512] = 0x66;
  page[513] = 0x44;
  store(page, 516, 256, 4);
  store(page, 520, 0x15d, 2);
  page[525] = 7;
  store(page, 536, 1, 4);
  store(page, 768, "nqn.2019-08.org.qemu:serial");
  const nvme::IdentifyController controller{page.data()};
  CHECK(controller.vid() == 0x1b36);
  CHECK(text(controller.serial()) == "serial");
  CHECK(text(controller.model()) == "QEMU NVMe Ctrl");
  CHECK(text(controller.firmware()) == "7.2.0");
  CHECK(text(controller.subnqn()) == "nqn.2019-08.org.qemu:serial");
  CHECK(controller.mdts() == 7);
  CHECK(controller.ver() == 0x10400);
  CHECK(controller.crdt(1) == 10);
  CHECK((controller.oacs() & nvme::oacs::doorbell_buffer_config) != 0);
  CHECK((controller.oacs() & nvme::oacs::namespace_management) != 0);
  CHECK(controller.sqes() == 0x66);
  CHECK(controller.cqes() == 0x44);
  CHECK(controller.nn() == 256);
  CHECK((controller.oncs() & nvme::oncs::copy) != 0);
  CHECK((controller.oncs() & nvme::oncs::write_uncorrectable) == 0);
  CHECK((controller.vwc() & 1) == 1);
  CHECK((controller.sgls() & nvme::sgls::support_mask) == 1);
  std::vector<uint8_t> blank(nvme::identify_bytes);
  CHECK(nvme::IdentifyController{blank.data()}.model().bytes == 0);
}

TEST_CASE("identify namespace") {
  std::vector<uint8_t> page(nvme::identify_bytes);
  store(page, 0, 0x123456789a, 8);
  store(page, 8, 0x1000, 8);
  page[25] = 7;
  page[26] = 0x14;
  page[29] = 1;
  store(page, 128 + 4 * 4, 0x010c0008, 4);
  const nvme::IdentifyNamespace ns{page.data()};
  CHECK(ns.nsze() == 0x123456789a);
  CHECK(ns.ncap() == 0x1000);
  CHECK(ns.format_index() == 4);
  CHECK(ns.extended_blocks());
  CHECK(ns.format().block_shift() == 12);
  CHECK(ns.format().metadata_bytes() == 8);
  CHECK(ns.format().relative_performance() == 1);
  CHECK((ns.dps() & 7) == 1);
  // More than 16 formats: two more bits of the index.
  page[25] = 40;
  page[26] = 0x44;
  CHECK(ns.format_index() == 0x24);
}
