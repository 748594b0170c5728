// SPDX-License-Identifier: MIT
// Our layouts and numbers against those of the Linux UAPI and of libnvme, where they are installed.

#include <cstddef>
#include <string>

#include <linux/nvme_ioctl.h>
#include <nvme/types.h>

#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/layout.hpp>
#include <xio/vendors/nvme/opcodes.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>
#include <xio/vendors/nvme/registers.hpp>
#include <xio/vendors/nvme/status_names.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

// The words of a passthrough command lie where they lie in the entry; its lengths take the place of PRP entry 2.
static_assert(offsetof(nvme_passthru_cmd, nsid) == offsetof(nvme::Sqe, nsid));
static_assert(offsetof(nvme_passthru_cmd, cdw2) == offsetof(nvme::Sqe, cdw2));
static_assert(offsetof(nvme_passthru_cmd, cdw3) == offsetof(nvme::Sqe, cdw3));
static_assert(offsetof(nvme_passthru_cmd, metadata) == offsetof(nvme::Sqe, mptr));
static_assert(offsetof(nvme_passthru_cmd, addr) == offsetof(nvme::Sqe, prp1));
static_assert(offsetof(nvme_passthru_cmd, metadata_len) == offsetof(nvme::Sqe, prp2));
static_assert(offsetof(nvme_passthru_cmd, cdw10) == offsetof(nvme::Sqe, cdw10));
static_assert(offsetof(nvme_passthru_cmd, cdw11) == offsetof(nvme::Sqe, cdw11));
static_assert(offsetof(nvme_passthru_cmd, cdw12) == offsetof(nvme::Sqe, cdw12));
static_assert(offsetof(nvme_passthru_cmd, cdw13) == offsetof(nvme::Sqe, cdw13));
static_assert(offsetof(nvme_passthru_cmd, cdw14) == offsetof(nvme::Sqe, cdw14));
static_assert(offsetof(nvme_passthru_cmd, cdw15) == offsetof(nvme::Sqe, cdw15));

static_assert(sizeof(nvme_dsm_range) == sizeof(nvme::DsmRange));
static_assert(offsetof(nvme_dsm_range, cattr) == offsetof(nvme::DsmRange, attributes));
static_assert(offsetof(nvme_dsm_range, nlb) == offsetof(nvme::DsmRange, blocks));
static_assert(offsetof(nvme_dsm_range, slba) == offsetof(nvme::DsmRange, lba));
static_assert(sizeof(nvme_copy_range) == sizeof(nvme::CopyRange));
static_assert(offsetof(nvme_copy_range, slba) == offsetof(nvme::CopyRange, lba));
static_assert(offsetof(nvme_copy_range, nlb) == offsetof(nvme::CopyRange, last_block));
static_assert(offsetof(nvme_copy_range, eilbrt) == offsetof(nvme::CopyRange, reference_tag));
// The tag comes before its mask in the specification; libnvme 1.3 has them the other way round.
static_assert(offsetof(nvme_copy_range, eilbrt) + 4 == offsetof(nvme::CopyRange, tags));
static_assert(sizeof(nvmf_connect_data) == sizeof(nvme::fabrics::ConnectData));
static_assert(offsetof(nvmf_connect_data, cntlid) == offsetof(nvme::fabrics::ConnectData, cntlid));
static_assert(offsetof(nvmf_connect_data, subsysnqn) == offsetof(nvme::fabrics::ConnectData, subsystem));
static_assert(offsetof(nvmf_connect_data, hostnqn) == offsetof(nvme::fabrics::ConnectData, host));
static_assert(sizeof(nvmf_discovery_log) == sizeof(nvme::fabrics::DiscoveryHeader));
static_assert(offsetof(nvmf_discovery_log, numrec) == offsetof(nvme::fabrics::DiscoveryHeader, entries));
static_assert(offsetof(nvmf_discovery_log, recfmt) == offsetof(nvme::fabrics::DiscoveryHeader, format));
static_assert(sizeof(nvmf_disc_log_entry) == sizeof(nvme::fabrics::DiscoveryEntry));
static_assert(offsetof(nvmf_disc_log_entry, adrfam) == offsetof(nvme::fabrics::DiscoveryEntry, family));
static_assert(offsetof(nvmf_disc_log_entry, subtype) == offsetof(nvme::fabrics::DiscoveryEntry, subsystem_type));
static_assert(offsetof(nvmf_disc_log_entry, treq) == offsetof(nvme::fabrics::DiscoveryEntry, requirements));
static_assert(offsetof(nvmf_disc_log_entry, portid) == offsetof(nvme::fabrics::DiscoveryEntry, port));
static_assert(offsetof(nvmf_disc_log_entry, cntlid) == offsetof(nvme::fabrics::DiscoveryEntry, cntlid));
static_assert(offsetof(nvmf_disc_log_entry, asqsz) == offsetof(nvme::fabrics::DiscoveryEntry, admin_entries));
static_assert(offsetof(nvmf_disc_log_entry, eflags) == offsetof(nvme::fabrics::DiscoveryEntry, flags));
static_assert(offsetof(nvmf_disc_log_entry, trsvcid) == offsetof(nvme::fabrics::DiscoveryEntry, service));
static_assert(offsetof(nvmf_disc_log_entry, subnqn) == offsetof(nvme::fabrics::DiscoveryEntry, subsystem));
static_assert(offsetof(nvmf_disc_log_entry, traddr) == offsetof(nvme::fabrics::DiscoveryEntry, address));
static_assert(offsetof(nvmf_disc_log_entry, tsas) == offsetof(nvme::fabrics::DiscoveryEntry, specific));
static_assert(sizeof(nvme_id_ctrl) == nvme::identify_bytes && sizeof(nvme_id_ns) == nvme::identify_bytes);

namespace {

template <class Ours, class Theirs>
void same(const char* what, Ours ours, Theirs theirs) {
  INFO(what);
  CHECK(static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs));
}

template <class Structure>
const uint8_t* bytes_of(const Structure& structure) {
  return reinterpret_cast<const uint8_t*>(&structure);
}

}  // namespace

TEST_CASE("identify controller fields") {
  nvme_id_ctrl theirs{};
  auto* const page = reinterpret_cast<uint8_t*>(&theirs);
  for (size_t i = 0; i < sizeof theirs; ++i) page[i] = static_cast<uint8_t>(i * 7 + i / 256 + 1);
  const nvme::IdentifyController ours{bytes_of(theirs)};
  same("vid", ours.vid(), theirs.vid);
  same("ssvid", ours.ssvid(), theirs.ssvid);
  CHECK(ours.serial().data == bytes_of(theirs.sn));
  CHECK(ours.model().data == bytes_of(theirs.mn));
  CHECK(ours.firmware().data == bytes_of(theirs.fr));
  CHECK(ours.subnqn().data == bytes_of(theirs.subnqn));
  same("sn", ours.serial().bytes, sizeof theirs.sn);
  same("mn", ours.model().bytes, sizeof theirs.mn);
  same("fr", ours.firmware().bytes, sizeof theirs.fr);
  same("mdts", ours.mdts(), theirs.mdts);
  same("cntlid", ours.cntlid(), theirs.cntlid);
  same("ver", ours.ver(), theirs.ver);
  same("oaes", ours.oaes(), theirs.oaes);
  same("ctratt", ours.ctratt(), theirs.ctratt);
  same("cntrltype", ours.cntrltype(), theirs.cntrltype);
  same("crdt1", ours.crdt(1), theirs.crdt1);
  same("crdt2", ours.crdt(2), theirs.crdt2);
  same("crdt3", ours.crdt(3), theirs.crdt3);
  same("oacs", ours.oacs(), theirs.oacs);
  same("acl", ours.acl(), theirs.acl);
  same("aerl", ours.aerl(), theirs.aerl);
  same("lpa", ours.lpa(), theirs.lpa);
  same("sqes", ours.sqes(), theirs.sqes);
  same("cqes", ours.cqes(), theirs.cqes);
  same("maxcmd", ours.maxcmd(), theirs.maxcmd);
  same("nn", ours.nn(), theirs.nn);
  same("oncs", ours.oncs(), theirs.oncs);
  same("fuses", ours.fuses(), theirs.fuses);
  same("vwc", ours.vwc(), theirs.vwc);
  same("awun", ours.awun(), theirs.awun);
  same("awupf", ours.awupf(), theirs.awupf);
  same("ocfs", ours.ocfs(), theirs.ocfs);
  same("sgls", ours.sgls(), theirs.sgls);
  same("mnan", ours.mnan(), theirs.mnan);
  const nvme::fabrics::IdentifyFabrics fabrics{bytes_of(theirs)};
  same("kas", fabrics.kas(), theirs.kas);
  same("ioccsz", fabrics.ioccsz(), theirs.ioccsz);
  same("iorcsz", fabrics.iorcsz(), theirs.iorcsz);
  same("icdoff", fabrics.icdoff(), theirs.icdoff);
  same("fcatt", fabrics.fcatt(), theirs.fcatt);
  same("msdbd", fabrics.msdbd(), theirs.msdbd);
  same("ofcs", fabrics.ofcs(), theirs.ofcs);
  same("dctype", fabrics.dctype(), theirs.dctype);
  same("security", nvme::oacs::security, NVME_CTRL_OACS_SECURITY);
  same("namespace management", nvme::oacs::namespace_management, NVME_CTRL_OACS_NS_MGMT);
  same("doorbell buffer config", nvme::oacs::doorbell_buffer_config, NVME_CTRL_OACS_DBBUF_CFG);
  same("compare", nvme::oncs::compare, NVME_CTRL_ONCS_COMPARE);
  same("write uncorrectable", nvme::oncs::write_uncorrectable, NVME_CTRL_ONCS_WRITE_UNCORRECTABLE);
  same("dataset management", nvme::oncs::dataset_management, NVME_CTRL_ONCS_DSM);
  same("write zeroes", nvme::oncs::write_zeroes, NVME_CTRL_ONCS_WRITE_ZEROES);
  same("reservations", nvme::oncs::reservations, NVME_CTRL_ONCS_RESERVATIONS);
  same("verify", nvme::oncs::verify, NVME_CTRL_ONCS_VERIFY);
  same("copy", nvme::oncs::copy, NVME_CTRL_ONCS_COPY);
  same("SGL support", nvme::sgls::support_mask, NVME_CTRL_SGLS_SUPPORTED);
  same("keyed", nvme::sgls::keyed, NVME_CTRL_SGLS_KEYED);
  same("bit bucket", nvme::sgls::bit_bucket, NVME_CTRL_SGLS_BIT_BUCKET);
  same("oversize", nvme::sgls::oversize, NVME_CTRL_SGLS_OVERSIZE);
}

TEST_CASE("identify namespace fields") {
  nvme_id_ns theirs{};
  auto* const page = reinterpret_cast<uint8_t*>(&theirs);
  for (size_t i = 0; i < sizeof theirs; ++i) page[i] = static_cast<uint8_t>(i * 5 + i / 256 + 3);
  const nvme::IdentifyNamespace ours{bytes_of(theirs)};
  same("nsze", ours.nsze(), theirs.nsze);
  same("ncap", ours.ncap(), theirs.ncap);
  same("nuse", ours.nuse(), theirs.nuse);
  same("nsfeat", ours.nsfeat(), theirs.nsfeat);
  same("nlbaf", ours.nlbaf(), theirs.nlbaf);
  same("flbas", ours.flbas(), theirs.flbas);
  same("mc", ours.mc(), theirs.mc);
  same("dpc", ours.dpc(), theirs.dpc);
  same("dps", ours.dps(), theirs.dps);
  same("nmic", ours.nmic(), theirs.nmic);
  same("dlfeat", ours.dlfeat(), theirs.dlfeat);
  same("noiob", ours.noiob(), theirs.noiob);
  same("mssrl", ours.mssrl(), theirs.mssrl);
  same("mcl", ours.mcl(), theirs.mcl);
  same("msrc", ours.msrc(), theirs.msrc);
  same("nsattr", ours.nsattr(), theirs.nsattr);
  CHECK(ours.nguid() == theirs.nguid);
  CHECK(ours.eui64() == theirs.eui64);
  for (uint32_t i = 0; i < 16; ++i) {
    same("lbaf.ms", ours.format(i).metadata_bytes(), theirs.lbaf[i].ms);
    same("lbaf.ds", ours.format(i).block_shift(), theirs.lbaf[i].ds);
    same("lbaf.rp", ours.format(i).relative_performance(), theirs.lbaf[i].rp & 3);
  }
}

TEST_CASE("registers") {
  same("cap", nvme::reg::cap, NVME_REG_CAP);
  same("vs", nvme::reg::vs, NVME_REG_VS);
  same("intms", nvme::reg::intms, NVME_REG_INTMS);
  same("intmc", nvme::reg::intmc, NVME_REG_INTMC);
  same("cc", nvme::reg::cc, NVME_REG_CC);
  same("csts", nvme::reg::csts, NVME_REG_CSTS);
  same("nssr", nvme::reg::nssr, NVME_REG_NSSR);
  same("aqa", nvme::reg::aqa, NVME_REG_AQA);
  same("asq", nvme::reg::asq, NVME_REG_ASQ);
  same("acq", nvme::reg::acq, NVME_REG_ACQ);
  same("cmbloc", nvme::reg::cmbloc, NVME_REG_CMBLOC);
  same("cmbsz", nvme::reg::cmbsz, NVME_REG_CMBSZ);
  same("bpinfo", nvme::reg::bpinfo, NVME_REG_BPINFO);
  same("bprsel", nvme::reg::bprsel, NVME_REG_BPRSEL);
  same("bpmbl", nvme::reg::bpmbl, NVME_REG_BPMBL);
  same("cmbmsc", nvme::reg::cmbmsc, NVME_REG_CMBMSC);
  same("cmbsts", nvme::reg::cmbsts, NVME_REG_CMBSTS);
  same("crto", nvme::reg::crto, NVME_REG_CRTO);
  same("pmrcap", nvme::reg::pmrcap, NVME_REG_PMRCAP);
  same("pmrctl", nvme::reg::pmrctl, NVME_REG_PMRCTL);
  same("pmrsts", nvme::reg::pmrsts, NVME_REG_PMRSTS);
  same("pmrebs", nvme::reg::pmrebs, NVME_REG_PMREBS);
  same("pmrswtp", nvme::reg::pmrswtp, NVME_REG_PMRSWTP);
  same("pmrmscl", nvme::reg::pmrmscl, NVME_REG_PMRMSCL);
  same("pmrmscu", nvme::reg::pmrmscu, NVME_REG_PMRMSCU);
  // Every single bit of a register is seen by the same field on both sides.
  for (uint32_t bit = 0; bit < 64; ++bit) {
    const uint64_t raw = uint64_t{1} << bit;
    const nvme::Cap cap{raw};
    same("mqes", cap.mqes(), NVME_CAP_MQES(raw));
    same("cqr", cap.cqr(), NVME_CAP_CQR(raw));
    same("ams", cap.ams(), NVME_CAP_AMS(raw));
    same("to", cap.to(), NVME_CAP_TO(raw));
    same("dstrd", cap.dstrd(), NVME_CAP_DSTRD(raw));
    same("nssrs", cap.nssrs(), NVME_CAP_NSSRC(raw));
    same("css", cap.css(), NVME_CAP_CSS(raw));
    same("bps", cap.bps(), NVME_CAP_BPS(raw));
    same("mpsmin", cap.mpsmin(), NVME_CAP_MPSMIN(raw));
    same("mpsmax", cap.mpsmax(), NVME_CAP_MPSMAX(raw));
    same("pmrs", cap.pmrs(), NVME_CAP_PMRS(raw));
    same("cmbs", cap.cmbs(), NVME_CAP_CMBS(raw));
    if (bit >= 32) continue;
    const auto word = static_cast<uint32_t>(raw);
    const nvme::Cc cc{word};
    same("cc.en", cc.en(), NVME_CC_EN(word));
    same("cc.css", cc.css(), NVME_CC_CSS(word));
    same("cc.mps", cc.mps(), NVME_CC_MPS(word));
    same("cc.ams", cc.ams(), NVME_CC_AMS(word));
    same("cc.shn", cc.shn(), NVME_CC_SHN(word));
    same("cc.iosqes", cc.iosqes(), NVME_CC_IOSQES(word));
    same("cc.iocqes", cc.iocqes(), NVME_CC_IOCQES(word));
    const nvme::Csts csts{word};
    same("csts.rdy", csts.rdy(), NVME_CSTS_RDY(word));
    same("csts.cfs", csts.cfs(), NVME_CSTS_CFS(word));
    same("csts.shst", csts.shst(), NVME_CSTS_SHST(word));
    same("csts.nssro", csts.nssro(), NVME_CSTS_NSSRO(word));
    same("csts.pp", csts.pp(), NVME_CSTS_PP(word));
    same("aqa.asqs", nvme::Aqa{word}.asqs(), NVME_AQA_ASQS(word));
    same("aqa.acqs", nvme::Aqa{word}.acqs(), NVME_AQA_ACQS(word));
    const nvme::Cmbsz size{word};
    same("cmbsz.sqs", size.sqs(), NVME_CMBSZ_SQS(word));
    same("cmbsz.cqs", size.cqs(), NVME_CMBSZ_CQS(word));
    same("cmbsz.lists", size.lists(), NVME_CMBSZ_LISTS(word));
    same("cmbsz.rds", size.rds(), NVME_CMBSZ_RDS(word));
    same("cmbsz.wds", size.wds(), NVME_CMBSZ_WDS(word));
    same("cmbsz.szu", size.szu(), NVME_CMBSZ_SZU(word));
    same("cmbsz.sz", size.sz(), NVME_CMBSZ_SZ(word));
    const nvme::Cmbloc location{word};
    same("cmbloc.bir", location.bir(), NVME_CMBLOC_BIR(word));
    same("cmbloc.ofst", location.ofst(), NVME_CMBLOC_OFST(word));
  }
}

TEST_CASE("numbers of commands, features, log pages and identify structures") {
  same("flush", nvme::Opcode::flush, nvme_cmd_flush);
  same("write", nvme::Opcode::write, nvme_cmd_write);
  same("read", nvme::Opcode::read, nvme_cmd_read);
  same("write uncorrectable", nvme::Opcode::write_uncorrectable, nvme_cmd_write_uncor);
  same("compare", nvme::Opcode::compare, nvme_cmd_compare);
  same("write zeroes", nvme::Opcode::write_zeroes, nvme_cmd_write_zeroes);
  same("dsm", nvme::Opcode::dataset_management, nvme_cmd_dsm);
  same("verify", nvme::Opcode::verify, nvme_cmd_verify);
  same("resv register", nvme::Opcode::reservation_register, nvme_cmd_resv_register);
  same("resv report", nvme::Opcode::reservation_report, nvme_cmd_resv_report);
  same("resv acquire", nvme::Opcode::reservation_acquire, nvme_cmd_resv_acquire);
  same("io mgmt recv", nvme::Opcode::io_management_receive, nvme_cmd_io_mgmt_recv);
  same("resv release", nvme::Opcode::reservation_release, nvme_cmd_resv_release);
  same("copy", nvme::Opcode::copy, nvme_cmd_copy);
  same("io mgmt send", nvme::Opcode::io_management_send, nvme_cmd_io_mgmt_send);
  same("zone mgmt send", nvme::Opcode::zone_management_send, nvme_zns_cmd_mgmt_send);
  same("zone mgmt recv", nvme::Opcode::zone_management_receive, nvme_zns_cmd_mgmt_recv);
  same("zone append", nvme::Opcode::zone_append, nvme_zns_cmd_append);
  same("delete sq", nvme::AdminOpcode::delete_io_sq, nvme_admin_delete_sq);
  same("create sq", nvme::AdminOpcode::create_io_sq, nvme_admin_create_sq);
  same("get log", nvme::AdminOpcode::get_log_page, nvme_admin_get_log_page);
  same("delete cq", nvme::AdminOpcode::delete_io_cq, nvme_admin_delete_cq);
  same("create cq", nvme::AdminOpcode::create_io_cq, nvme_admin_create_cq);
  same("identify", nvme::AdminOpcode::identify, nvme_admin_identify);
  same("abort", nvme::AdminOpcode::abort, nvme_admin_abort_cmd);
  same("set features", nvme::AdminOpcode::set_features, nvme_admin_set_features);
  same("get features", nvme::AdminOpcode::get_features, nvme_admin_get_features);
  same("async event", nvme::AdminOpcode::async_event_request, nvme_admin_async_event);
  same("ns mgmt", nvme::AdminOpcode::namespace_management, nvme_admin_ns_mgmt);
  same("fw commit", nvme::AdminOpcode::firmware_commit, nvme_admin_fw_commit);
  same("fw download", nvme::AdminOpcode::firmware_image_download, nvme_admin_fw_download);
  same("self test", nvme::AdminOpcode::device_self_test, nvme_admin_dev_self_test);
  same("ns attach", nvme::AdminOpcode::namespace_attachment, nvme_admin_ns_attach);
  same("keep alive", nvme::AdminOpcode::keep_alive, nvme_admin_keep_alive);
  same("directive send", nvme::AdminOpcode::directive_send, nvme_admin_directive_send);
  same("directive recv", nvme::AdminOpcode::directive_receive, nvme_admin_directive_recv);
  same("virtual mgmt", nvme::AdminOpcode::virtualization_management, nvme_admin_virtual_mgmt);
  same("mi send", nvme::AdminOpcode::mi_send, nvme_admin_nvme_mi_send);
  same("mi recv", nvme::AdminOpcode::mi_receive, nvme_admin_nvme_mi_recv);
  same("capacity mgmt", nvme::AdminOpcode::capacity_management, nvme_admin_capacity_mgmt);
  same("lockdown", nvme::AdminOpcode::lockdown, nvme_admin_lockdown);
  same("dbbuf", nvme::AdminOpcode::doorbell_buffer_config, nvme_admin_dbbuf);
  same("fabrics", nvme::AdminOpcode::fabrics, nvme_admin_fabrics);
  same("format", nvme::AdminOpcode::format_nvm, nvme_admin_format_nvm);
  same("security send", nvme::AdminOpcode::security_send, nvme_admin_security_send);
  same("security recv", nvme::AdminOpcode::security_receive, nvme_admin_security_recv);
  same("sanitize", nvme::AdminOpcode::sanitize, nvme_admin_sanitize_nvm);
  same("lba status", nvme::AdminOpcode::get_lba_status, nvme_admin_get_lba_status);

  same("arbitration", nvme::FeatureId::arbitration, NVME_FEAT_FID_ARBITRATION);
  same("vwc", nvme::FeatureId::volatile_write_cache, NVME_FEAT_FID_VOLATILE_WC);
  same("queues", nvme::FeatureId::number_of_queues, NVME_FEAT_FID_NUM_QUEUES);
  same("coalescing", nvme::FeatureId::interrupt_coalescing, NVME_FEAT_FID_IRQ_COALESCE);
  same("async events", nvme::FeatureId::async_event_configuration, NVME_FEAT_FID_ASYNC_EVENT);
  same("hmb", nvme::FeatureId::host_memory_buffer, NVME_FEAT_FID_HOST_MEM_BUF);
  same("timestamp", nvme::FeatureId::timestamp, NVME_FEAT_FID_TIMESTAMP);
  same("kato", nvme::FeatureId::keep_alive_timer, NVME_FEAT_FID_KATO);
  same("host behavior", nvme::FeatureId::host_behavior, NVME_FEAT_FID_HOST_BEHAVIOR);
  same("host id", nvme::FeatureId::host_identifier, NVME_FEAT_FID_HOST_ID);
  same("write protect", nvme::FeatureId::namespace_write_protection, NVME_FEAT_FID_WRITE_PROTECT);
  same("fdp", nvme::FeatureId::flexible_data_placement, NVME_FEAT_FID_FDP);
  same("error log", nvme::LogId::error_information, NVME_LOG_LID_ERROR);
  same("smart", nvme::LogId::smart, NVME_LOG_LID_SMART);
  same("firmware", nvme::LogId::firmware_slot, NVME_LOG_LID_FW_SLOT);
  same("changed ns", nvme::LogId::changed_namespaces, NVME_LOG_LID_CHANGED_NS);
  same("effects", nvme::LogId::command_effects, NVME_LOG_LID_CMD_EFFECTS);
  same("ana", nvme::LogId::asymmetric_namespace_access, NVME_LOG_LID_ANA);
  same("persistent event", nvme::LogId::persistent_event, NVME_LOG_LID_PERSISTENT_EVENT);
  same("fdp events", nvme::LogId::fdp_events, NVME_LOG_LID_FDP_EVENTS);
  same("sanitize log", nvme::LogId::sanitize_status, NVME_LOG_LID_SANITIZE);
  same("changed zones", nvme::LogId::changed_zones, NVME_LOG_LID_ZNS_CHANGED_ZONES);
  same("cns ns", nvme::Cns::namespace_data, NVME_IDENTIFY_CNS_NS);
  same("cns ctrl", nvme::Cns::controller, NVME_IDENTIFY_CNS_CTRL);
  same("cns active", nvme::Cns::active_namespaces, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST);
  same("cns desc", nvme::Cns::namespace_descriptors, NVME_IDENTIFY_CNS_NS_DESC_LIST);
  same("cns csi ns", nvme::Cns::namespace_of_command_set, NVME_IDENTIFY_CNS_CSI_NS);
  same("cns csi ctrl", nvme::Cns::controller_of_command_set, NVME_IDENTIFY_CNS_CSI_CTRL);
  same("cns independent", nvme::Cns::namespace_independent, NVME_IDENTIFY_CNS_CSI_INDEPENDENT_ID_NS);
  same("cns command sets", nvme::Cns::command_sets, NVME_IDENTIFY_CNS_COMMAND_SET_STRUCTURE);
  same("csi zns", nvme::CommandSet::zoned, NVME_CSI_ZNS);
  same("zone reset", nvme::ZoneSendAction::reset, NVME_ZNS_ZSA_RESET);
  same("zone flush", nvme::ZoneSendAction::flush_random_write_area, NVME_ZNS_ZSA_ZRWA_FLUSH);
  same("zone report", nvme::ZoneReceiveAction::extended_report, NVME_ZNS_ZRA_EXTENDED_REPORT_ZONES);
}

TEST_CASE("numbers of fabrics") {
  namespace fabrics = nvme::fabrics;
  same("property set", fabrics::CommandType::property_set, nvme_fabrics_type_property_set);
  same("connect", fabrics::CommandType::connect, nvme_fabrics_type_connect);
  same("property get", fabrics::CommandType::property_get, nvme_fabrics_type_property_get);
  same("auth send", fabrics::CommandType::authentication_send, nvme_fabrics_type_auth_send);
  same("auth receive", fabrics::CommandType::authentication_receive, nvme_fabrics_type_auth_receive);
  same("disconnect", fabrics::CommandType::disconnect, nvme_fabrics_type_disconnect);
  same("nqn", fabrics::nqn_field_bytes, NVME_NQN_LENGTH);
  same("port", fabrics::rdma_port, NVME_RDMA_IP_PORT);
  CHECK(std::string(fabrics::discovery_nqn) == NVME_DISC_SUBSYS_NAME);
  same("rdma", fabrics::TransportType::rdma, NVMF_TRTYPE_RDMA);
  same("fc", fabrics::TransportType::fibre_channel, NVMF_TRTYPE_FC);
  same("tcp", fabrics::TransportType::tcp, NVMF_TRTYPE_TCP);
  same("loop", fabrics::TransportType::loop, NVMF_TRTYPE_LOOP);
  same("ipv4", fabrics::AddressFamily::ipv4, NVMF_ADDR_FAMILY_IP4);
  same("ipv6", fabrics::AddressFamily::ipv6, NVMF_ADDR_FAMILY_IP6);
  same("infiniband", fabrics::AddressFamily::infiniband, NVMF_ADDR_FAMILY_IB);
  same("discovery subsystem", fabrics::SubsystemType::discovery, NVME_NQN_DISC);
  same("nvm subsystem", fabrics::SubsystemType::nvm, NVME_NQN_NVME);
  same("this discovery subsystem", fabrics::SubsystemType::this_discovery, NVME_NQN_CURR);
  same("format", fabrics::sc::incompatible_format, NVME_SCT_CMD_SPECIFIC << NVME_SCT_SHIFT | NVME_SC_CONNECT_FORMAT);
  same("busy", fabrics::sc::controller_busy, NVME_SCT_CMD_SPECIFIC << NVME_SCT_SHIFT | NVME_SC_CONNECT_CTRL_BUSY);
  same("parameters", fabrics::sc::invalid_parameters,
       NVME_SCT_CMD_SPECIFIC << NVME_SCT_SHIFT | NVME_SC_CONNECT_INVALID_PARAM);
  same("restart", fabrics::sc::restart_discovery,
       NVME_SCT_CMD_SPECIFIC << NVME_SCT_SHIFT | NVME_SC_CONNECT_RESTART_DISC);
  same("host", fabrics::sc::invalid_host, NVME_SCT_CMD_SPECIFIC << NVME_SCT_SHIFT | NVME_SC_CONNECT_INVALID_HOST);
}

TEST_CASE("status codes and flags") {
  struct Code {
    uint32_t ours;
    int sct;
    int sc;
  };
  const Code codes[] = {
      {nvme::sc::invalid_opcode, NVME_SCT_GENERIC, NVME_SC_INVALID_OPCODE},
      {nvme::sc::invalid_field, NVME_SCT_GENERIC, NVME_SC_INVALID_FIELD},
      {nvme::sc::command_id_conflict, NVME_SCT_GENERIC, NVME_SC_CMDID_CONFLICT},
      {nvme::sc::data_transfer_error, NVME_SCT_GENERIC, NVME_SC_DATA_XFER_ERROR},
      {nvme::sc::internal_error, NVME_SCT_GENERIC, NVME_SC_INTERNAL},
      {nvme::sc::abort_requested, NVME_SCT_GENERIC, NVME_SC_ABORT_REQ},
      {nvme::sc::aborted_sq_deletion, NVME_SCT_GENERIC, NVME_SC_ABORT_QUEUE},
      {nvme::sc::aborted_failed_fused, NVME_SCT_GENERIC, NVME_SC_FUSED_FAIL},
      {nvme::sc::invalid_namespace_or_format, NVME_SCT_GENERIC, NVME_SC_INVALID_NS},
      {nvme::sc::prp_offset_invalid, NVME_SCT_GENERIC, NVME_SC_PRP_INVALID_OFFSET},
      {nvme::sc::sgl_granularity_invalid, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_GRANULARITY},
      {nvme::sc::namespace_write_protected, NVME_SCT_GENERIC, NVME_SC_NS_WRITE_PROTECTED},
      {nvme::sc::admin_command_media_not_ready, NVME_SCT_GENERIC, NVME_SC_ADMIN_CMD_MEDIA_NOT_READY},
      {nvme::sc::lba_out_of_range, NVME_SCT_GENERIC, NVME_SC_LBA_RANGE},
      {nvme::sc::capacity_exceeded, NVME_SCT_GENERIC, NVME_SC_CAP_EXCEEDED},
      {nvme::sc::format_in_progress, NVME_SCT_GENERIC, NVME_SC_FORMAT_IN_PROGRESS},
      {nvme::sc::completion_queue_invalid, NVME_SCT_CMD_SPECIFIC, NVME_SC_CQ_INVALID},
      {nvme::sc::invalid_queue_identifier, NVME_SCT_CMD_SPECIFIC, NVME_SC_QID_INVALID},
      {nvme::sc::invalid_queue_size, NVME_SCT_CMD_SPECIFIC, NVME_SC_QUEUE_SIZE},
      {nvme::sc::invalid_queue_deletion, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_QUEUE},
      {nvme::sc::feature_not_saveable, NVME_SCT_CMD_SPECIFIC, NVME_SC_FEATURE_NOT_SAVEABLE},
      {nvme::sc::zone_group_originator_invalid, NVME_SCT_CMD_SPECIFIC, NVME_SC_ZONEGRP_ORIGINATOR_INVLD},
      {nvme::sc::conflicting_attributes, NVME_SCT_CMD_SPECIFIC, NVME_SC_BAD_ATTRIBUTES},
      {nvme::sc::command_size_limit_exceeded, NVME_SCT_CMD_SPECIFIC, NVME_SC_CMD_SIZE_LIMIT_EXCEEDED},
      {nvme::sc::authentication_required, NVME_SCT_CMD_SPECIFIC, NVME_SC_AUTH_REQUIRED},
      {nvme::sc::zone_invalid_operation_request, NVME_SCT_CMD_SPECIFIC, NVME_SC_ZNS_INVALID_OP_REQUEST},
      {nvme::sc::zone_boundary_error, NVME_SCT_CMD_SPECIFIC, NVME_SC_ZNS_BOUNDARY_ERROR},
      {nvme::sc::invalid_zone_state_transition, NVME_SCT_CMD_SPECIFIC, NVME_SC_ZNS_INVAL_TRANSITION},
      {nvme::sc::write_fault, NVME_SCT_MEDIA, NVME_SC_WRITE_FAULT},
      {nvme::sc::compare_failure, NVME_SCT_MEDIA, NVME_SC_COMPARE_FAILED},
      {nvme::sc::storage_tag_check_error, NVME_SCT_MEDIA, NVME_SC_STORAGE_TAG_CHECK},
      {nvme::sc::ana_transition, NVME_SCT_PATH, NVME_SC_ANA_TRANSITION},
      {nvme::sc::controller_path_error, NVME_SCT_PATH, NVME_SC_CTRL_PATH_ERROR},
      {nvme::sc::aborted_by_host, NVME_SCT_PATH, NVME_SC_CMD_ABORTED_BY_HOST},
  };
  for (const Code& code : codes) {
    INFO(nvme::status_name(code.ours));
    CHECK(code.ours == static_cast<uint32_t>(code.sct << NVME_SCT_SHIFT | code.sc));
  }
  same("vendor", nvme::sct::vendor, NVME_SCT_VS);
  same("retry delay", nvme::make_status_field(0, false, false, 3), NVME_SC_CRD);
  same("more", nvme::make_status_field(0, false, true), NVME_SC_MORE);
  same("do not retry", nvme::make_status_field(0, true), NVME_SC_DNR);
}
