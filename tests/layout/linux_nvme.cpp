// SPDX-License-Identifier: MIT
// Our layouts and numbers of NVMe over Fabrics against those of Linux's own driver and target. Compiling it is the
// test: linux_nvme.sh finds the kernel's headers and brings what they take from others.

#include <cstddef>

#include <linux/nvme-rdma.h>
#include <linux/nvme.h>

#include <xio/vendors/nvme/fabrics.hpp>

namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

// Fields of a command by the words that encode() stores.
static_assert(sizeof(nvme_command) == sizeof(nvme::Sqe));
static_assert(offsetof(nvmf_common_command, fctype) == offsetof(nvme::Sqe, nsid));
static_assert(offsetof(nvmf_connect_command, dptr) == offsetof(nvme::Sqe, prp1));
static_assert(offsetof(nvmf_connect_command, recfmt) == offsetof(nvme::Sqe, cdw10));
static_assert(offsetof(nvmf_connect_command, qid) == offsetof(nvme::Sqe, cdw10) + 2);
static_assert(offsetof(nvmf_connect_command, sqsize) == offsetof(nvme::Sqe, cdw11));
static_assert(offsetof(nvmf_connect_command, cattr) == offsetof(nvme::Sqe, cdw11) + 2);
static_assert(offsetof(nvmf_connect_command, kato) == offsetof(nvme::Sqe, cdw12));
static_assert(offsetof(nvmf_property_get_command, attrib) == offsetof(nvme::Sqe, cdw10));
static_assert(offsetof(nvmf_property_get_command, offset) == offsetof(nvme::Sqe, cdw11));
static_assert(offsetof(nvmf_property_set_command, attrib) == offsetof(nvme::Sqe, cdw10));
static_assert(offsetof(nvmf_property_set_command, offset) == offsetof(nvme::Sqe, cdw11));
static_assert(offsetof(nvmf_property_set_command, value) == offsetof(nvme::Sqe, cdw12));

static_assert(sizeof(nvme_keyed_sgl_desc) == 16 && offsetof(nvme_keyed_sgl_desc, addr) == 0);
static_assert(offsetof(nvme_keyed_sgl_desc, length) == 8 && sizeof(nvme_keyed_sgl_desc::length) == 3);
static_assert(offsetof(nvme_keyed_sgl_desc, key) == 11 && offsetof(nvme_keyed_sgl_desc, type) == 15);
static_assert(nvme::sgl_keyed_data_block(0, 0xffffff, 0).prp2 << 8 == 0xffffffull << 8);
static_assert(nvme::sgl_keyed_data_block(0, 0, 0xffffffff).prp2 << 8 == 0xffffffffull << 24 << 8);
static_assert(fabrics::no_data().prp2 >> 56 == NVME_KEY_SGL_FMT_DATA_DESC << 4);
static_assert(nvme::psdt_sgl >> 8 == NVME_CMD_SGL_METABUF);

static_assert(sizeof(nvmf_connect_data) == sizeof(fabrics::ConnectData));
static_assert(offsetof(nvmf_connect_data, hostid) == offsetof(fabrics::ConnectData, host_id));
static_assert(offsetof(nvmf_connect_data, cntlid) == offsetof(fabrics::ConnectData, cntlid));
static_assert(offsetof(nvmf_connect_data, subsysnqn) == offsetof(fabrics::ConnectData, subsystem));
static_assert(offsetof(nvmf_connect_data, hostnqn) == offsetof(fabrics::ConnectData, host));
static_assert(NVMF_NQN_FIELD_LEN == fabrics::nqn_field_bytes && NVMF_NQN_SIZE == fabrics::longest_nqn);
static_assert(NVME_RDMA_IP_PORT == fabrics::rdma_port && NVME_AQ_DEPTH == fabrics::most_admin_entries);
static_assert(fabrics::ConnectResult{NVME_CONNECT_AUTHREQ_ATR}.authentication());
static_assert(fabrics::ConnectResult{NVME_CONNECT_AUTHREQ_ASCR}.secure_channel());

static_assert(sizeof(nvme_rdma_cm_req) == sizeof(fabrics::RdmaRequest));
static_assert(offsetof(nvme_rdma_cm_req, recfmt) == offsetof(fabrics::RdmaRequest, format));
static_assert(offsetof(nvme_rdma_cm_req, qid) == offsetof(fabrics::RdmaRequest, qid));
static_assert(offsetof(nvme_rdma_cm_req, hrqsize) == offsetof(fabrics::RdmaRequest, receive_entries));
static_assert(offsetof(nvme_rdma_cm_req, hsqsize) == offsetof(fabrics::RdmaRequest, last_entry));
static_assert(sizeof(nvme_rdma_cm_rep) == sizeof(fabrics::RdmaAccept));
static_assert(offsetof(nvme_rdma_cm_rep, crqsize) == offsetof(fabrics::RdmaAccept, receive_entries));
static_assert(sizeof(nvme_rdma_cm_rej) == sizeof(fabrics::RdmaReject));
static_assert(offsetof(nvme_rdma_cm_rej, sts) == offsetof(fabrics::RdmaReject, status));
static_assert(NVME_RDMA_CM_INVALID_LEN == static_cast<int>(fabrics::RdmaStatus::invalid_length));
static_assert(NVME_RDMA_CM_INVALID_RECFMT == static_cast<int>(fabrics::RdmaStatus::invalid_format));
static_assert(NVME_RDMA_CM_INVALID_QID == static_cast<int>(fabrics::RdmaStatus::invalid_qid));
static_assert(NVME_RDMA_CM_INVALID_HSQSIZE == static_cast<int>(fabrics::RdmaStatus::invalid_send_entries));
static_assert(NVME_RDMA_CM_INVALID_HRQSIZE == static_cast<int>(fabrics::RdmaStatus::invalid_receive_entries));
static_assert(NVME_RDMA_CM_NO_RSC == static_cast<int>(fabrics::RdmaStatus::no_resources));
static_assert(NVME_RDMA_CM_INVALID_IRD == static_cast<int>(fabrics::RdmaStatus::invalid_reads_in_flight));
static_assert(NVME_RDMA_CM_INVALID_ORD == static_cast<int>(fabrics::RdmaStatus::invalid_reads_to_peer));

static_assert(sizeof(nvmf_disc_rsp_page_entry) == sizeof(fabrics::DiscoveryEntry));
static_assert(offsetof(nvmf_disc_rsp_page_entry, trtype) == offsetof(fabrics::DiscoveryEntry, transport));
static_assert(offsetof(nvmf_disc_rsp_page_entry, adrfam) == offsetof(fabrics::DiscoveryEntry, family));
static_assert(offsetof(nvmf_disc_rsp_page_entry, subtype) == offsetof(fabrics::DiscoveryEntry, subsystem_type));
static_assert(offsetof(nvmf_disc_rsp_page_entry, treq) == offsetof(fabrics::DiscoveryEntry, requirements));
static_assert(offsetof(nvmf_disc_rsp_page_entry, trsvcid) == offsetof(fabrics::DiscoveryEntry, service));
static_assert(offsetof(nvmf_disc_rsp_page_entry, subnqn) == offsetof(fabrics::DiscoveryEntry, subsystem));
static_assert(offsetof(nvmf_disc_rsp_page_entry, traddr) == offsetof(fabrics::DiscoveryEntry, address));
static_assert(offsetof(nvmf_disc_rsp_page_entry, tsas) == offsetof(fabrics::DiscoveryEntry, specific));

static_assert(offsetof(nvme_id_ctrl, kas) == 320 && offsetof(nvme_id_ctrl, ioccsz) == 1792);
static_assert(offsetof(nvme_id_ctrl, iorcsz) == 1796 && offsetof(nvme_id_ctrl, icdoff) == 1800);
static_assert(offsetof(nvme_id_ctrl, msdbd) == 1803 && offsetof(nvme_id_ctrl, dctype) == 1806);
