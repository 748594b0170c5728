// SPDX-License-Identifier: MIT
// Our encoders against libnvme's for random requests: the words that libnvme hands to the kernel are caught at its
// ioctl.

#include <cstdarg>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <libnvme.h>

#include <xio/host/nvme/kernel_passthrough.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/fabrics.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

// The function that is loaded without its header.
static_assert(std::is_same_v<decltype(::nvme_submit_admin_passthru), xio::host::detail::LibnvmePassthrough::Submit>);

namespace {

nvme_passthru_cmd caught;
unsigned long caught_request;

}  // namespace

// Takes the place of the C library's function for the whole program, libnvme included.
extern "C" int ioctl(int, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  const void* const command = va_arg(arguments, const void*);
  va_end(arguments);
  caught_request = request;
  std::memcpy(&caught, command, sizeof caught);
  return 0;
}

namespace {

constexpr int rounds = 2000;

class Random {
 public:
  uint64_t operator()(unsigned width) { return engine_() >> (64 - width); }
  uint32_t word(unsigned width = 32) { return static_cast<uint32_t>((*this)(width)); }
  uint16_t half(unsigned width = 16) { return static_cast<uint16_t>((*this)(width)); }
  uint8_t byte(unsigned width = 8) { return static_cast<uint8_t>((*this)(width)); }
  bool flag() { return (*this)(1) != 0; }

 private:
  std::mt19937_64 engine_{20240607};
};

void expect_caught(const nvme::Command& command, bool admin = false) {
  const nvme::Sqe entry = nvme::encode(command, 0);
  const bool admin_request = caught_request == NVME_IOCTL_ADMIN_CMD || caught_request == NVME_IOCTL_ADMIN64_CMD;
  REQUIRE(admin == admin_request);
  REQUIRE(entry.cdw0 == (caught.opcode | static_cast<uint32_t>(caught.flags) << 8));
  REQUIRE(entry.nsid == caught.nsid);
  REQUIRE(entry.cdw2 == caught.cdw2);
  REQUIRE(entry.cdw3 == caught.cdw3);
  REQUIRE(entry.cdw10 == caught.cdw10);
  REQUIRE(entry.cdw11 == caught.cdw11);
  REQUIRE(entry.cdw12 == caught.cdw12);
  REQUIRE(entry.cdw13 == caught.cdw13);
  REQUIRE(entry.cdw14 == caught.cdw14);
  REQUIRE(entry.cdw15 == caught.cdw15);
}

/// The setters that a 16-bit control field of libnvme stands for.
nvme::Command with_control(nvme::Command command, uint16_t control) {
  if (control & NVME_IO_LR) command = command.limited_retry();
  if (control & NVME_IO_FUA) command = command.force_unit_access();
  if (control & NVME_IO_PRINFO_PRACT) command = command.protection_action();
  if (control & NVME_IO_PRINFO_PRCHK_GUARD) command = command.protection_check(nvme::cdw12::check_guard);
  if (control & NVME_IO_PRINFO_PRCHK_APP) command = command.protection_check(nvme::cdw12::check_application_tag);
  if (control & NVME_IO_PRINFO_PRCHK_REF) command = command.protection_check(nvme::cdw12::check_reference_tag);
  if (control & NVME_IO_DEAC) command = command.deallocate();
  if (control & NVME_IO_STC) command = command.storage_tag_check();
  return command;
}

constexpr uint16_t known_control = NVME_IO_LR | NVME_IO_FUA | NVME_IO_PRINFO_PRACT | NVME_IO_PRINFO_PRCHK_GUARD |
                                   NVME_IO_PRINFO_PRCHK_APP | NVME_IO_PRINFO_PRCHK_REF | NVME_IO_DEAC | NVME_IO_STC;

}  // namespace

TEST_CASE("commands that name a range of blocks") {
  Random random;
  for (int round = 0; round < rounds; ++round) {
    nvme_io_args args{};
    args.args_size = sizeof args;
    args.slba = random(64);
    args.nsid = random.word();
    args.nlb = random.half();
    args.control = random.half() & known_control;
    args.reftag_u64 = random.word();
    args.apptag = random.half();
    args.appmask = random.half();
    args.dspec = random.half();
    args.dsm = random.byte();
    struct {
      uint8_t opcode;
      nvme::Command command;
    } const kinds[] = {
        {nvme_cmd_read, nvme::read(args.slba, args.nlb + 1u)},
        {nvme_cmd_write, nvme::write(args.slba, args.nlb + 1u)},
        {nvme_cmd_compare, nvme::compare(args.slba, args.nlb + 1u)},
        {nvme_cmd_write_zeroes, nvme::write_zeroes(args.slba, args.nlb + 1u)},
        {nvme_cmd_verify, nvme::verify(args.slba, args.nlb + 1u)},
        {nvme_cmd_write_uncor, nvme::write_uncorrectable(args.slba, args.nlb + 1u)},
    };
    for (const auto& kind : kinds) {
      nvme_io(&args, kind.opcode);
      expect_caught(with_control(kind.command, args.control)
                        .nsid(args.nsid)
                        .directive(0, args.dspec)
                        .hints(args.dsm)
                        .reference_tag(static_cast<uint32_t>(args.reftag_u64))
                        .application_tag(args.apptag, args.appmask));
    }
  }
}

TEST_CASE("flush, ranges and copies") {
  Random random;
  std::vector<nvme_dsm_range> ranges(256);
  std::vector<nvme_copy_range> sources(256);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t nsid = random.word();
    nvme_flush(3, nsid);
    expect_caught(nvme::flush().nsid(nsid));

    nvme_dsm_args dsm{};
    dsm.args_size = sizeof dsm;
    dsm.dsm = ranges.data();
    dsm.nsid = nsid;
    dsm.attrs = random.word(3);
    dsm.nr_ranges = static_cast<uint16_t>(1 + random(8));
    nvme_dsm(&dsm);
    expect_caught(nvme::dataset_management(dsm.nr_ranges, dsm.attrs).nsid(nsid));
    CHECK(caught.data_len == dsm.nr_ranges * sizeof(nvme::DsmRange));

    nvme_copy_args copy{};
    copy.args_size = sizeof copy;
    copy.copy = sources.data();
    copy.sdlba = random(64);
    copy.nsid = nsid;
    copy.nr = static_cast<uint16_t>(1 + random(8));
    copy.fua = random.flag();
    copy.lr = random.flag();
    copy.prinfor = random.byte(4);
    copy.prinfow = random.byte(4);
    copy.dtype = random.byte(4);
    copy.dspec = random.half();
    copy.ilbrt_u64 = random.word();
    copy.lbat = random.half();
    copy.lbatm = random.half();
    nvme_copy(&copy);
    nvme::Command command = nvme::copy(copy.sdlba, copy.nr)
                                .nsid(nsid)
                                .flags(static_cast<uint32_t>(copy.prinfor) << 12)
                                .protection_check(static_cast<uint32_t>(copy.prinfow) << 26)
                                .directive(copy.dtype, copy.dspec)
                                .reference_tag(static_cast<uint32_t>(copy.ilbrt_u64))
                                .application_tag(copy.lbat, copy.lbatm);
    if (copy.fua) command = command.force_unit_access();
    if (copy.lr) command = command.limited_retry();
    expect_caught(command);
    CHECK(caught.data_len == copy.nr * sizeof(nvme::CopyRange));
  }
}

TEST_CASE("zones") {
  Random random;
  std::vector<uint8_t> buffer(1u << 16);
  constexpr nvme_zns_send_action actions[] = {NVME_ZNS_ZSA_CLOSE,     NVME_ZNS_ZSA_FINISH,  NVME_ZNS_ZSA_OPEN,
                                              NVME_ZNS_ZSA_RESET,     NVME_ZNS_ZSA_OFFLINE, NVME_ZNS_ZSA_SET_DESC_EXT,
                                              NVME_ZNS_ZSA_ZRWA_FLUSH};
  for (int round = 0; round < rounds; ++round) {
    nvme_zns_append_args append{};
    append.args_size = sizeof append;
    append.zslba = random(64);
    append.nsid = random.word();
    append.nlb = random.half();
    append.control = random.half() & known_control;
    append.ilbrt_u64 = random.word();
    append.lbat = random.half();
    append.lbatm = random.half();
    nvme_zns_append(&append);
    nvme::Command command = with_control(nvme::zone_append(append.zslba, append.nlb + 1u),
                                         static_cast<uint16_t>(append.control & ~NVME_IO_ZNS_APPEND_PIREMAP));
    if (append.control & NVME_IO_ZNS_APPEND_PIREMAP) command = command.remap_reference_tag();
    expect_caught(command.nsid(append.nsid)
                      .reference_tag(static_cast<uint32_t>(append.ilbrt_u64))
                      .application_tag(append.lbat, append.lbatm));

    nvme_zns_mgmt_send_args send{};
    send.args_size = sizeof send;
    send.slba = random(64);
    send.nsid = append.nsid;
    send.zsa = actions[random(3) % 7];
    send.select_all = random.flag();
    send.zsaso = random.flag();
    nvme_zns_mgmt_send(&send);
    nvme::ZoneSendRequest zone;
    zone.action = static_cast<nvme::ZoneSendAction>(send.zsa);
    zone.zone_lba = send.slba;
    zone.all_zones = send.select_all;
    zone.option = send.zsaso != 0;
    expect_caught(nvme::zone_management_send(zone).nsid(send.nsid));

    nvme_zns_mgmt_recv_args receive{};
    receive.args_size = sizeof receive;
    receive.data = buffer.data();
    receive.slba = random(64);
    receive.nsid = append.nsid;
    receive.zra = random.flag() ? NVME_ZNS_ZRA_EXTENDED_REPORT_ZONES : NVME_ZNS_ZRA_REPORT_ZONES;
    receive.data_len = 4 * (1 + random.word(14));
    receive.zrasf = random.half(8);
    receive.zras_feat = random.flag();
    nvme_zns_mgmt_recv(&receive);
    nvme::ZoneReceiveRequest report;
    report.action = static_cast<nvme::ZoneReceiveAction>(receive.zra);
    report.zone_lba = receive.slba;
    report.bytes = receive.data_len;
    report.state = receive.zrasf;
    report.partial = receive.zras_feat;
    expect_caught(nvme::zone_management_receive(report).nsid(receive.nsid));
  }
}

TEST_CASE("reservations and I/O management") {
  Random random;
  std::vector<uint8_t> buffer(1u << 16);
  for (int round = 0; round < rounds; ++round) {
    nvme_resv_register_args enrol{};
    enrol.args_size = sizeof enrol;
    enrol.nsid = random.word();
    enrol.rrega = static_cast<nvme_resv_rrega>(random(2) % 3);
    enrol.cptpl = static_cast<nvme_resv_cptpl>(random.flag() ? 2 : 3);
    enrol.iekey = random.flag();
    nvme_resv_register(&enrol);
    expect_caught(
        nvme::reservation_register(static_cast<uint32_t>(enrol.rrega), enrol.iekey, static_cast<uint32_t>(enrol.cptpl))
            .nsid(enrol.nsid));
    CHECK(caught.data_len == 16);

    nvme_resv_acquire_args acquire{};
    acquire.args_size = sizeof acquire;
    acquire.nsid = enrol.nsid;
    acquire.racqa = static_cast<nvme_resv_racqa>(random(2) % 3);
    acquire.rtype = static_cast<nvme_resv_rtype>(1 + random(2));
    acquire.iekey = random.flag();
    nvme_resv_acquire(&acquire);
    expect_caught(nvme::reservation_acquire(static_cast<uint32_t>(acquire.racqa), static_cast<uint32_t>(acquire.rtype),
                                            acquire.iekey)
                      .nsid(acquire.nsid));

    nvme_resv_release_args release{};
    release.args_size = sizeof release;
    release.nsid = enrol.nsid;
    release.rrela = static_cast<nvme_resv_rrela>(random(1));
    release.rtype = static_cast<nvme_resv_rtype>(1 + random(2));
    release.iekey = random.flag();
    nvme_resv_release(&release);
    expect_caught(nvme::reservation_release(static_cast<uint32_t>(release.rrela), static_cast<uint32_t>(release.rtype),
                                            release.iekey)
                      .nsid(release.nsid));

    nvme_resv_report_args report{};
    report.args_size = sizeof report;
    report.report = reinterpret_cast<nvme_resv_status*>(buffer.data());
    report.nsid = enrol.nsid;
    report.len = 4 * (1 + random.word(14));
    report.eds = random.flag();
    nvme_resv_report(&report);
    expect_caught(nvme::reservation_report(report.len, report.eds).nsid(report.nsid));

    nvme_io_mgmt_recv_args receive{};
    receive.args_size = sizeof receive;
    receive.data = buffer.data();
    receive.nsid = enrol.nsid;
    receive.data_len = 4 * (1 + random.word(14));
    receive.mo = random.byte(4);  // libnvme 1.3 cuts off more, and the specific value altogether.
    nvme_io_mgmt_recv(&receive);
    expect_caught(nvme::io_management_receive(receive.mo, receive.mos, receive.data_len).nsid(receive.nsid));

    nvme_io_mgmt_send_args send{};
    send.args_size = sizeof send;
    send.nsid = enrol.nsid;
    send.mo = random.byte(4);
    send.mos = random.half(8);
    nvme_io_mgmt_send(&send);
    expect_caught(nvme::io_management_send(send.mo, send.mos).nsid(send.nsid));
  }
}

TEST_CASE("identify, features and log pages") {
  Random random;
  std::vector<uint8_t> buffer(1u << 20);
  for (int round = 0; round < rounds; ++round) {
    nvme_identify_args identify{};
    identify.args_size = sizeof identify;
    identify.data = buffer.data();
    identify.cns = static_cast<nvme_identify_cns>(random(5));
    identify.csi = static_cast<nvme_csi>(random(2) % 3);
    identify.nsid = random.word();
    identify.cntid = random.half();
    identify.cns_specific_id = random.half();
    identify.uuidx = random.byte(7);
    nvme_identify(&identify);
    nvme::IdentifyRequest request;
    request.cns = static_cast<nvme::Cns>(identify.cns);
    request.command_set = static_cast<nvme::CommandSet>(identify.csi);
    request.nsid = identify.nsid;
    request.cntid = identify.cntid;
    request.specific = identify.cns_specific_id;
    request.uuid_index = identify.uuidx;
    expect_caught(nvme::identify(request), true);

    nvme_set_features_args set{};
    set.args_size = sizeof set;
    set.nsid = random.word();
    set.cdw11 = random.word();
    set.cdw12 = random.word();
    set.cdw13 = random.word();
    set.cdw15 = random.word();
    set.save = random.flag();
    set.fid = random.byte();
    nvme_set_features(&set);
    expect_caught(nvme::set_features(static_cast<nvme::FeatureId>(set.fid), set.cdw11, set.save)
                      .nsid(set.nsid)
                      .dword(12, set.cdw12)
                      .dword(13, set.cdw13)
                      .dword(15, set.cdw15),
                  true);

    nvme_get_features_args get{};
    get.args_size = sizeof get;
    get.nsid = random.word();
    get.sel = static_cast<nvme_get_features_sel>(random(2));
    get.cdw11 = random.word();
    get.fid = random.byte();
    nvme_get_features(&get);
    expect_caught(nvme::get_features(static_cast<nvme::FeatureId>(get.fid), static_cast<nvme::FeatureSelect>(get.sel))
                      .nsid(get.nsid)
                      .dword(11, get.cdw11),
                  true);

    nvme_get_log_args log{};
    log.args_size = sizeof log;
    log.log = buffer.data();
    log.lid = static_cast<nvme_cmd_get_log_lid>(random(8));
    log.len = 4 * (1 + random.word(18));
    log.lpo = random(40) & ~uint64_t{3};
    log.nsid = random.word();
    log.csi = static_cast<nvme_csi>(random(2) % 3);
    log.lsi = random.half();
    log.lsp = random.byte(7);
    log.uuidx = random.byte(7);
    log.rae = random.flag();
    log.ot = random.flag();
    nvme_get_log(&log);
    nvme::LogPageRequest page;
    page.log = static_cast<nvme::LogId>(log.lid);
    page.bytes = log.len;
    page.offset = log.lpo;
    page.nsid = log.nsid;
    page.command_set = static_cast<nvme::CommandSet>(log.csi);
    page.specific_identifier = log.lsi;
    page.specific = log.lsp;
    page.uuid_index = log.uuidx;
    page.retain_event = log.rae;
    page.index_offset = log.ot;
    expect_caught(nvme::get_log_page(page), true);
  }
}

TEST_CASE("properties of fabrics") {
  namespace fabrics = nvme::fabrics;
  Random random;
  for (int i = 0; i < rounds; ++i) {
    // libnvme takes the eight bytes of those registers that have as many.
    const bool eight = random.flag();
    const int offset = eight ? NVME_REG_CAP : NVME_REG_CC;
    __u64 value = random(64);
    nvme_get_property_args get{};
    get.args_size = sizeof get;
    get.value = &value;
    get.offset = offset;
    nvme_get_property(&get);
    expect_caught(fabrics::property_get(static_cast<uint64_t>(offset), eight), true);
    nvme_set_property_args set{};
    set.args_size = sizeof set;
    set.value = eight ? random(64) : random(32);
    set.offset = offset;
    nvme_set_property(&set);
    expect_caught(fabrics::property_set(static_cast<uint64_t>(offset), set.value, eight), true);
  }
}
