// SPDX-License-Identifier: MIT
// Our layouts and numbers for RDMA devices against those of the headers that are installed: rdma-core's and the Linux
// UAPI. Checked by the compiler.

#include <cstddef>

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#endif
#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>
#endif
#if __has_include(<rdma/bnxt_re-abi.h>)
#include <rdma/bnxt_re-abi.h>
#endif
#if __has_include(<rdma/vmw_pvrdma-abi.h>)
#include <rdma/vmw_pvrdma-abi.h>
#endif
#if __has_include(<rdma/rdma_user_rxe.h>) && __has_include(<rdma/ib_user_verbs.h>)
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#endif

#include <xio/vendors/bnxt/layout.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/ernic/status.hpp>
#include <xio/vendors/mlx5/layout.hpp>
#include <xio/vendors/mlx5/status.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

#include "catch.hpp"
#include "skip.hpp"

namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs);
}

#if __has_include(<infiniband/mlx5dv.h>)
namespace mlx5 = xio::mlx5;

static_assert(sizeof(mlx5::ControlSegment) == sizeof(mlx5_wqe_ctrl_seg));
static_assert(offsetof(mlx5::ControlSegment, opmod_index_opcode) == offsetof(mlx5_wqe_ctrl_seg, opmod_idx_opcode));
static_assert(offsetof(mlx5::ControlSegment, qpn_ds) == offsetof(mlx5_wqe_ctrl_seg, qpn_ds));
static_assert(offsetof(mlx5::ControlSegment, signature_flags) == offsetof(mlx5_wqe_ctrl_seg, signature));
static_assert(offsetof(mlx5::ControlSegment, signature_flags) + 3 == offsetof(mlx5_wqe_ctrl_seg, fm_ce_se));
static_assert(offsetof(mlx5::ControlSegment, immediate) == offsetof(mlx5_wqe_ctrl_seg, imm));
static_assert(sizeof(mlx5::RemoteAddressSegment) == sizeof(mlx5_wqe_raddr_seg));
static_assert(offsetof(mlx5::RemoteAddressSegment, address) == offsetof(mlx5_wqe_raddr_seg, raddr));
static_assert(offsetof(mlx5::RemoteAddressSegment, rkey) == offsetof(mlx5_wqe_raddr_seg, rkey));
static_assert(sizeof(mlx5::AtomicSegment) == sizeof(mlx5_wqe_atomic_seg));
static_assert(offsetof(mlx5::AtomicSegment, swap_add) == offsetof(mlx5_wqe_atomic_seg, swap_add));
static_assert(offsetof(mlx5::AtomicSegment, compare) == offsetof(mlx5_wqe_atomic_seg, compare));
static_assert(sizeof(mlx5::DataSegment) == sizeof(mlx5_wqe_data_seg));
static_assert(offsetof(mlx5::DataSegment, byte_count) == offsetof(mlx5_wqe_data_seg, byte_count));
static_assert(offsetof(mlx5::DataSegment, lkey) == offsetof(mlx5_wqe_data_seg, lkey));
static_assert(offsetof(mlx5::DataSegment, address) == offsetof(mlx5_wqe_data_seg, addr));
static_assert(sizeof(mlx5::InlineHeader) == sizeof(mlx5_wqe_inl_data_seg));
static_assert(sizeof(mlx5::AddressVector) == sizeof(mlx5_wqe_av));
static_assert(offsetof(mlx5::AddressVector, key) == offsetof(mlx5_wqe_av, key));
static_assert(offsetof(mlx5::AddressVector, destination_qpn) == offsetof(mlx5_wqe_av, dqp_dct));
static_assert(offsetof(mlx5::AddressVector, rate_sl) == offsetof(mlx5_wqe_av, stat_rate_sl));
static_assert(offsetof(mlx5::AddressVector, path) == offsetof(mlx5_wqe_av, fl_mlid));
static_assert(offsetof(mlx5::AddressVector, remote_lid) == offsetof(mlx5_wqe_av, rlid));
static_assert(offsetof(mlx5::AddressVector, remote_mac) == offsetof(mlx5_wqe_av, rmac));
static_assert(offsetof(mlx5::AddressVector, traffic_class) == offsetof(mlx5_wqe_av, tclass));
static_assert(offsetof(mlx5::AddressVector, hop_limit) == offsetof(mlx5_wqe_av, hop_limit));
static_assert(offsetof(mlx5::AddressVector, gid_flow) == offsetof(mlx5_wqe_av, grh_gid_fl));
static_assert(offsetof(mlx5::AddressVector, remote_gid) == offsetof(mlx5_wqe_av, rgid));
static_assert(sizeof(mlx5::SrqNextSegment) == sizeof(mlx5_wqe_srq_next_seg));
static_assert(offsetof(mlx5::SrqNextSegment, next) == offsetof(mlx5_wqe_srq_next_seg, next_wqe_index));
static_assert(sizeof(mlx5::UmrControlSegment) == sizeof(mlx5_wqe_umr_ctrl_seg));
static_assert(offsetof(mlx5::UmrControlSegment, klm_octowords) == offsetof(mlx5_wqe_umr_ctrl_seg, klm_octowords));
static_assert(offsetof(mlx5::UmrControlSegment, mkey_mask) == offsetof(mlx5_wqe_umr_ctrl_seg, mkey_mask));
static_assert(sizeof(mlx5::MkeySegment) == sizeof(mlx5_wqe_mkey_context_seg));
static_assert(offsetof(mlx5::MkeySegment, access_flags) == offsetof(mlx5_wqe_mkey_context_seg, access_flags));
static_assert(offsetof(mlx5::MkeySegment, qpn_mkey) == offsetof(mlx5_wqe_mkey_context_seg, qpn_mkey));
static_assert(offsetof(mlx5::MkeySegment, flags_pd) == offsetof(mlx5_wqe_mkey_context_seg, flags_pd));
static_assert(offsetof(mlx5::MkeySegment, start) == offsetof(mlx5_wqe_mkey_context_seg, start_addr));
static_assert(offsetof(mlx5::MkeySegment, length) == offsetof(mlx5_wqe_mkey_context_seg, len));
static_assert(offsetof(mlx5::MkeySegment, log_page_size) == offsetof(mlx5_wqe_mkey_context_seg, log_page_size));
static_assert(sizeof(mlx5::KlmSegment) == sizeof(mlx5_wqe_umr_klm_seg));
static_assert(offsetof(mlx5::KlmSegment, mkey) == offsetof(mlx5_wqe_umr_klm_seg, mkey));
static_assert(offsetof(mlx5::KlmSegment, address) == offsetof(mlx5_wqe_umr_klm_seg, address));
static_assert(sizeof(mlx5::Cqe) == sizeof(mlx5_cqe64));
static_assert(offsetof(mlx5::Cqe, ml_path) == offsetof(mlx5_cqe64, ml_path));
static_assert(offsetof(mlx5::Cqe, slid) == offsetof(mlx5_cqe64, slid));
static_assert(offsetof(mlx5::Cqe, flags_source_qpn) == offsetof(mlx5_cqe64, flags_rqpn));
static_assert(offsetof(mlx5::Cqe, srqn_user_index) == offsetof(mlx5_cqe64, srqn_uidx));
static_assert(offsetof(mlx5::Cqe, immediate) == offsetof(mlx5_cqe64, imm_inval_pkey));
static_assert(offsetof(mlx5::Cqe, byte_count) == offsetof(mlx5_cqe64, byte_cnt));
static_assert(offsetof(mlx5::Cqe, timestamp) == offsetof(mlx5_cqe64, timestamp));
static_assert(offsetof(mlx5::Cqe, opcode_qpn) == offsetof(mlx5_cqe64, sop_drop_qpn));
static_assert(offsetof(mlx5::Cqe, wqe_counter) == offsetof(mlx5_cqe64, wqe_counter));
static_assert(offsetof(mlx5::Cqe, signature) == offsetof(mlx5_cqe64, signature));
static_assert(offsetof(mlx5::Cqe, opcode_owner) == offsetof(mlx5_cqe64, op_own));
static_assert(sizeof(mlx5::ErrorCqe) == sizeof(mlx5_err_cqe));
static_assert(offsetof(mlx5::ErrorCqe, vendor_syndrome) == offsetof(mlx5_err_cqe, vendor_err_synd));
static_assert(offsetof(mlx5::ErrorCqe, syndrome) == offsetof(mlx5_err_cqe, syndrome));
static_assert(offsetof(mlx5::ErrorCqe, opcode_qpn) == offsetof(mlx5_err_cqe, s_wqe_opcode_qpn));
static_assert(offsetof(mlx5::ErrorCqe, wqe_counter) == offsetof(mlx5_err_cqe, wqe_counter));
static_assert(offsetof(mlx5::ErrorCqe, opcode_owner) == offsetof(mlx5_err_cqe, op_own));

static_assert(same(mlx5::Opcode::nop, MLX5_OPCODE_NOP));
static_assert(same(mlx5::Opcode::send_invalidate, MLX5_OPCODE_SEND_INVAL));
static_assert(same(mlx5::Opcode::rdma_write, MLX5_OPCODE_RDMA_WRITE));
static_assert(same(mlx5::Opcode::rdma_write_immediate, MLX5_OPCODE_RDMA_WRITE_IMM));
static_assert(same(mlx5::Opcode::send, MLX5_OPCODE_SEND));
static_assert(same(mlx5::Opcode::send_immediate, MLX5_OPCODE_SEND_IMM));
static_assert(same(mlx5::Opcode::tso, MLX5_OPCODE_TSO));
static_assert(same(mlx5::Opcode::rdma_read, MLX5_OPCODE_RDMA_READ));
static_assert(same(mlx5::Opcode::compare_swap, MLX5_OPCODE_ATOMIC_CS));
static_assert(same(mlx5::Opcode::fetch_add, MLX5_OPCODE_ATOMIC_FA));
static_assert(same(mlx5::Opcode::masked_compare_swap, MLX5_OPCODE_ATOMIC_MASKED_CS));
static_assert(same(mlx5::Opcode::masked_fetch_add, MLX5_OPCODE_ATOMIC_MASKED_FA));
static_assert(same(mlx5::Opcode::fast_register, MLX5_OPCODE_FMR));
static_assert(same(mlx5::Opcode::local_invalidate, MLX5_OPCODE_LOCAL_INVAL));
static_assert(same(mlx5::Opcode::config_command, MLX5_OPCODE_CONFIG_CMD));
static_assert(same(mlx5::Opcode::set_psv, MLX5_OPCODE_SET_PSV));
static_assert(same(mlx5::Opcode::umr, MLX5_OPCODE_UMR));
static_assert(same(mlx5::Opcode::tag_matching, MLX5_OPCODE_TAG_MATCHING));
static_assert(same(mlx5::Opcode::flow_table_access, MLX5_OPCODE_FLOW_TBL_ACCESS));
static_assert(same(mlx5::Opcode::memory_to_memory, MLX5_OPCODE_MMO));
static_assert(same(mlx5::control_flag::solicited, MLX5_WQE_CTRL_SOLICITED));
static_assert(same(mlx5::control_flag::completion, MLX5_WQE_CTRL_CQ_UPDATE));
static_assert(same(mlx5::control_flag::small_fence, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE));
static_assert(same(mlx5::control_flag::fence, MLX5_WQE_CTRL_FENCE));
static_assert(same(mlx5::wqebb_bytes, MLX5_SEND_WQE_BB) && same(mlx5::inline_bit, MLX5_INLINE_SEG));
static_assert(same(mlx5::invalid_lkey, MLX5_INVALID_LKEY));
static_assert(same(mlx5::extended_address_vector, MLX5_EXTENDED_UD_AV));
static_assert(same(mlx5::umr_check_free, MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE));
static_assert(same(mlx5::umr_inline, MLX5_WQE_UMR_CTRL_FLAG_INLINE));
static_assert(same(mlx5::umr_mask_mkey, MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY));
static_assert(same(mlx5::umr_mask_qpn, MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN));
static_assert(same(mlx5::umr_mask_free, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE));
static_assert(same(mlx5::mkey_free, MLX5_WQE_MKEY_CONTEXT_FREE));
static_assert(same(mlx5::receive_record, MLX5_RCV_DBR) && same(mlx5::send_record, MLX5_SND_DBR));
static_assert(same(mlx5::uar_cq_doorbell, MLX5_CQ_DOORBELL));
static_assert(same(mlx5::arm_solicited_only, MLX5_CQ_DB_REQ_NOT_SOL));
static_assert(same(mlx5::owner_bit, MLX5_CQE_OWNER_MASK));
static_assert(same(mlx5::inline_scatter_32, MLX5_INLINE_SCATTER_32));
static_assert(same(mlx5::inline_scatter_64, MLX5_INLINE_SCATTER_64));

static_assert(same(mlx5::CqeOpcode::request, MLX5_CQE_REQ));
static_assert(same(mlx5::CqeOpcode::response_write_immediate, MLX5_CQE_RESP_WR_IMM));
static_assert(same(mlx5::CqeOpcode::response_send, MLX5_CQE_RESP_SEND));
static_assert(same(mlx5::CqeOpcode::response_send_immediate, MLX5_CQE_RESP_SEND_IMM));
static_assert(same(mlx5::CqeOpcode::response_send_invalidate, MLX5_CQE_RESP_SEND_INV));
static_assert(same(mlx5::CqeOpcode::resize, MLX5_CQE_RESIZE_CQ));
static_assert(same(mlx5::CqeOpcode::no_packet, MLX5_CQE_NO_PACKET));
static_assert(same(mlx5::CqeOpcode::signature_error, MLX5_CQE_SIG_ERR));
static_assert(same(mlx5::CqeOpcode::request_error, MLX5_CQE_REQ_ERR));
static_assert(same(mlx5::CqeOpcode::response_error, MLX5_CQE_RESP_ERR));
static_assert(same(mlx5::CqeOpcode::invalid, MLX5_CQE_INVALID));
static_assert(same(mlx5::Syndrome::local_length, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR));
static_assert(same(mlx5::Syndrome::local_qp_operation, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR));
static_assert(same(mlx5::Syndrome::local_protection, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR));
static_assert(same(mlx5::Syndrome::flushed, MLX5_CQE_SYNDROME_WR_FLUSH_ERR));
static_assert(same(mlx5::Syndrome::memory_window_bind, MLX5_CQE_SYNDROME_MW_BIND_ERR));
static_assert(same(mlx5::Syndrome::bad_response, MLX5_CQE_SYNDROME_BAD_RESP_ERR));
static_assert(same(mlx5::Syndrome::local_access, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR));
static_assert(same(mlx5::Syndrome::remote_invalid_request, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR));
static_assert(same(mlx5::Syndrome::remote_access, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR));
static_assert(same(mlx5::Syndrome::remote_operation, MLX5_CQE_SYNDROME_REMOTE_OP_ERR));
static_assert(same(mlx5::Syndrome::transport_retry_exceeded, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR));
static_assert(same(mlx5::Syndrome::rnr_retry_exceeded, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR));
static_assert(same(mlx5::Syndrome::remote_aborted, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR));
#endif

#if __has_include(<rdma/bnxt_re-abi.h>)
static_assert(same(xio::bnxt::abi_version, BNXT_RE_ABI_VERSION));
#endif

#if __has_include(<rdma/vmw_pvrdma-abi.h>)
namespace ernic = xio::ernic;

static_assert(same(ernic::abi_version, PVRDMA_UVERBS_ABI_VERSION));
static_assert(ernic::sq_sge_offset == sizeof(pvrdma_sq_wqe_hdr));
static_assert(offsetof(ernic::SqHeader, wr_id) == offsetof(pvrdma_sq_wqe_hdr, wr_id));
static_assert(offsetof(ernic::SqHeader, sges) == offsetof(pvrdma_sq_wqe_hdr, num_sge));
static_assert(offsetof(ernic::SqHeader, total_bytes) == offsetof(pvrdma_sq_wqe_hdr, total_len));
static_assert(offsetof(ernic::SqHeader, opcode) == offsetof(pvrdma_sq_wqe_hdr, opcode));
static_assert(offsetof(ernic::SqHeader, send_flags) == offsetof(pvrdma_sq_wqe_hdr, send_flags));
static_assert(offsetof(ernic::SqHeader, immediate) == offsetof(pvrdma_sq_wqe_hdr, ex.imm_data));
static_assert(ernic::sq_operation_offset == offsetof(pvrdma_sq_wqe_hdr, wr));
constexpr size_t operation = ernic::sq_operation_offset;
static_assert(operation + offsetof(ernic::RdmaOperation, remote_address) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.rdma.remote_addr));
static_assert(operation + offsetof(ernic::RdmaOperation, rkey) == offsetof(pvrdma_sq_wqe_hdr, wr.rdma.rkey));
static_assert(operation + offsetof(ernic::AtomicOperation, compare_add) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.atomic.compare_add));
static_assert(operation + offsetof(ernic::AtomicOperation, swap) == offsetof(pvrdma_sq_wqe_hdr, wr.atomic.swap));
static_assert(operation + offsetof(ernic::AtomicOperation, rkey) == offsetof(pvrdma_sq_wqe_hdr, wr.atomic.rkey));
static_assert(operation + offsetof(ernic::DatagramOperation, remote_qkey) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.ud.remote_qkey));
static_assert(operation + offsetof(ernic::DatagramOperation, address_vector) == offsetof(pvrdma_sq_wqe_hdr, wr.ud.av));
static_assert(sizeof(ernic::AddressVector) == sizeof(pvrdma_av));
static_assert(offsetof(ernic::AddressVector, destination_gid) == offsetof(pvrdma_av, dgid));
static_assert(offsetof(ernic::AddressVector, gid_index) == offsetof(pvrdma_av, gid_index));
static_assert(offsetof(ernic::AddressVector, destination_mac) == offsetof(pvrdma_av, dmac));
static_assert(sizeof(ernic::RqHeader) == sizeof(pvrdma_rq_wqe_hdr) && sizeof(ernic::Sge) == sizeof(pvrdma_sge));
static_assert(offsetof(ernic::Sge, length) == offsetof(pvrdma_sge, length));
static_assert(offsetof(ernic::Sge, lkey) == offsetof(pvrdma_sge, lkey));
static_assert(sizeof(ernic::Cqe) == sizeof(pvrdma_cqe));
static_assert(offsetof(ernic::Cqe, qp) == offsetof(pvrdma_cqe, qp));
static_assert(offsetof(ernic::Cqe, opcode) == offsetof(pvrdma_cqe, opcode));
static_assert(offsetof(ernic::Cqe, status) == offsetof(pvrdma_cqe, status));
static_assert(offsetof(ernic::Cqe, byte_count) == offsetof(pvrdma_cqe, byte_len));
static_assert(offsetof(ernic::Cqe, immediate) == offsetof(pvrdma_cqe, imm_data));
static_assert(offsetof(ernic::Cqe, source_qpn) == offsetof(pvrdma_cqe, src_qp));
static_assert(offsetof(ernic::Cqe, flags) == offsetof(pvrdma_cqe, wc_flags));
static_assert(offsetof(ernic::Cqe, vendor_error) == offsetof(pvrdma_cqe, vendor_err));
static_assert(offsetof(ernic::Cqe, slid) == offsetof(pvrdma_cqe, slid));
static_assert(offsetof(ernic::Cqe, source_mac) == offsetof(pvrdma_cqe, smac));
static_assert(offsetof(ernic::Cqe, network_header_type) == offsetof(pvrdma_cqe, network_hdr_type));

static_assert(same(ernic::Opcode::rdma_write, PVRDMA_WR_RDMA_WRITE));
static_assert(same(ernic::Opcode::send, PVRDMA_WR_SEND) && same(ernic::Opcode::rdma_read, PVRDMA_WR_RDMA_READ));
static_assert(same(ernic::Opcode::compare_swap, PVRDMA_WR_ATOMIC_CMP_AND_SWP));
static_assert(same(ernic::Opcode::fetch_add, PVRDMA_WR_ATOMIC_FETCH_AND_ADD));
static_assert(same(ernic::Opcode::send_invalidate, PVRDMA_WR_SEND_WITH_INV));
static_assert(same(ernic::Opcode::local_invalidate, PVRDMA_WR_LOCAL_INV));
static_assert(same(ernic::Opcode::error, PVRDMA_WR_ERROR));
static_assert(same(ernic::CqeOpcode::fetch_add, PVRDMA_WC_FETCH_ADD));
static_assert(same(ernic::CqeOpcode::masked_fetch_add, PVRDMA_WC_MASKED_FETCH_ADD));
static_assert(same(ernic::CqeOpcode::receive_rdma_immediate, PVRDMA_WC_RECV_RDMA_WITH_IMM));
static_assert(same(ernic::CqeStatus::flushed, PVRDMA_WC_WR_FLUSH_ERR));
static_assert(same(ernic::CqeStatus::bad_response, PVRDMA_WC_BAD_RESP_ERR));
static_assert(same(ernic::CqeStatus::remote_access, PVRDMA_WC_REM_ACCESS_ERR));
static_assert(same(ernic::CqeStatus::rnr_retry_exceeded, PVRDMA_WC_RNR_RETRY_EXC_ERR));
static_assert(same(ernic::CqeStatus::remote_aborted, PVRDMA_WC_REM_ABORT_ERR));
static_assert(same(ernic::CqeStatus::general, PVRDMA_WC_GENERAL_ERR));
static_assert(same(ernic::cqe_flag::immediate, PVRDMA_WC_WITH_IMM));
static_assert(same(ernic::cqe_flag::invalidated, PVRDMA_WC_WITH_INVALIDATE));
static_assert(same(ernic::cqe_flag::checksum_ok, PVRDMA_WC_IP_CSUM_OK));
static_assert(same(ernic::uar_qp_offset, PVRDMA_UAR_QP_OFFSET) && same(ernic::uar_cq_offset, PVRDMA_UAR_CQ_OFFSET));
static_assert(same(ernic::uar_srq_offset, PVRDMA_UAR_SRQ_OFFSET));
static_assert(same(ernic::uar_handle_mask, PVRDMA_UAR_HANDLE_MASK));
static_assert(ernic::uar_qp_send == static_cast<uint32_t>(PVRDMA_UAR_QP_SEND));
static_assert(ernic::uar_qp_receive == static_cast<uint32_t>(PVRDMA_UAR_QP_RECV));
static_assert(ernic::uar_cq_arm_solicited == static_cast<uint32_t>(PVRDMA_UAR_CQ_ARM_SOL));
static_assert(ernic::uar_cq_arm == static_cast<uint32_t>(PVRDMA_UAR_CQ_ARM));
static_assert(ernic::uar_cq_poll == static_cast<uint32_t>(PVRDMA_UAR_CQ_POLL));
#endif

#if __has_include(<rdma/rdma_user_rxe.h>) && __has_include(<rdma/ib_user_verbs.h>)
namespace rxe = xio::rxe;

static_assert(sizeof(rxe::QueueHeader) == offsetof(rxe_queue_buf, data));
static_assert(offsetof(rxe::QueueHeader, index_mask) == offsetof(rxe_queue_buf, index_mask));
static_assert(offsetof(rxe::QueueHeader, producer_index) == offsetof(rxe_queue_buf, producer_index));
static_assert(offsetof(rxe::QueueHeader, consumer_index) == offsetof(rxe_queue_buf, consumer_index));
static_assert(offsetof(rxe::SendHeader, opcode) == offsetof(rxe_send_wr, opcode));
static_assert(offsetof(rxe::SendHeader, send_flags) == offsetof(rxe_send_wr, send_flags));
static_assert(offsetof(rxe::SendHeader, immediate) == offsetof(rxe_send_wr, ex.imm_data));
static_assert(offsetof(rxe::SendWqe, operation) == offsetof(rxe_send_wr, wr));
static_assert(offsetof(rxe::SendWqe, status) == sizeof(rxe_send_wr));
constexpr size_t rxe_operation = offsetof(rxe::SendWqe, operation);
static_assert(rxe_operation + offsetof(rxe::RdmaOperation, rkey) == offsetof(rxe_send_wr, wr.rdma.rkey));
static_assert(rxe_operation + offsetof(rxe::AtomicOperation, compare_add) ==
              offsetof(rxe_send_wr, wr.atomic.compare_add));
static_assert(rxe_operation + offsetof(rxe::AtomicOperation, swap) == offsetof(rxe_send_wr, wr.atomic.swap));
static_assert(rxe_operation + offsetof(rxe::AtomicOperation, rkey) == offsetof(rxe_send_wr, wr.atomic.rkey));
static_assert(rxe_operation + offsetof(rxe::BindOperation, mr_lkey) == offsetof(rxe_send_wr, wr.mw.mr_lkey));
static_assert(rxe_operation + offsetof(rxe::BindOperation, access) == offsetof(rxe_send_wr, wr.mw.access));
static_assert(offsetof(rxe::SendWqe, status) == offsetof(rxe_send_wqe, status));
static_assert(offsetof(rxe::SendWqe, iova) == offsetof(rxe_send_wqe, iova));
static_assert(offsetof(rxe::SendWqe, first_psn) == offsetof(rxe_send_wqe, first_psn));
static_assert(offsetof(rxe::SendWqe, ssn) == offsetof(rxe_send_wqe, ssn));
static_assert(offsetof(rxe::SendWqe, has_rd_atomic) == offsetof(rxe_send_wqe, has_rd_atomic));
static_assert(offsetof(rxe::SendWqe, dma) == offsetof(rxe_send_wqe, dma));
static_assert(offsetof(rxe::ReceiveWqe, dma) == offsetof(rxe_recv_wqe, dma));
static_assert(offsetof(rxe::DmaState, residue) == offsetof(rxe_dma_info, resid));
static_assert(offsetof(rxe::DmaState, current) == offsetof(rxe_dma_info, cur_sge));
static_assert(offsetof(rxe::DmaState, sges) == offsetof(rxe_dma_info, num_sge));
static_assert(offsetof(rxe::DmaState, sge_offset) == offsetof(rxe_dma_info, sge_offset));
// The pointers follow the last fixed word at once; the header's own list is not to be trusted in C++ (H35).
static_assert(sizeof(rxe::DmaState) == offsetof(rxe_dma_info, reserved) + 4);
static_assert(sizeof(rxe::Sge) == sizeof(rxe_sge) && offsetof(rxe::Sge, lkey) == offsetof(rxe_sge, lkey));
static_assert(sizeof(rxe::Cqe) == sizeof(ib_uverbs_wc));
static_assert(offsetof(rxe::Cqe, status) == offsetof(ib_uverbs_wc, status));
static_assert(offsetof(rxe::Cqe, opcode) == offsetof(ib_uverbs_wc, opcode));
static_assert(offsetof(rxe::Cqe, byte_count) == offsetof(ib_uverbs_wc, byte_len));
static_assert(offsetof(rxe::Cqe, immediate) == offsetof(ib_uverbs_wc, ex.imm_data));
static_assert(offsetof(rxe::Cqe, qpn) == offsetof(ib_uverbs_wc, qp_num));
static_assert(offsetof(rxe::Cqe, flags) == offsetof(ib_uverbs_wc, wc_flags));
static_assert(offsetof(rxe::Cqe, port) == offsetof(ib_uverbs_wc, port_num));
static_assert(same(rxe::Opcode::send, IB_UVERBS_WR_SEND) && same(rxe::Opcode::rdma_read, IB_UVERBS_WR_RDMA_READ));
static_assert(same(rxe::Opcode::compare_swap, IB_UVERBS_WR_ATOMIC_CMP_AND_SWP));
static_assert(same(rxe::Opcode::local_invalidate, IB_UVERBS_WR_LOCAL_INV));
static_assert(same(rxe::Opcode::bind, IB_UVERBS_WR_BIND_MW));
static_assert(same(rxe::Opcode::send_invalidate, IB_UVERBS_WR_SEND_WITH_INV));
static_assert(same(rxe::CqeOpcode::local_invalidate, IB_UVERBS_WC_LOCAL_INV));
#endif

#if __has_include(<infiniband/verbs.h>)
// Soft-RoCE reports in the verbs' numbers, and ERNIC its statuses.
static_assert(same(xio::rxe::send_flag::fence, IBV_SEND_FENCE));
static_assert(same(xio::rxe::send_flag::signaled, IBV_SEND_SIGNALED));
static_assert(same(xio::rxe::send_flag::solicited, IBV_SEND_SOLICITED));
static_assert(same(xio::rxe::send_flag::inline_data, IBV_SEND_INLINE));
static_assert(same(xio::rxe::cqe_flag::grh, IBV_WC_GRH) && same(xio::rxe::cqe_flag::immediate, IBV_WC_WITH_IMM));
static_assert(same(xio::rxe::cqe_flag::invalidated, IBV_WC_WITH_INV));
static_assert(same(xio::rxe::CqeOpcode::receive, IBV_WC_RECV));
static_assert(same(xio::rxe::CqeOpcode::receive_rdma_immediate, IBV_WC_RECV_RDMA_WITH_IMM));
static_assert(same(xio::rxe::CqeOpcode::fetch_add, IBV_WC_FETCH_ADD));

template <class CqeStatus>
constexpr bool statuses_of_the_verbs() {
  return same(CqeStatus::ok, IBV_WC_SUCCESS) && same(CqeStatus::local_length, IBV_WC_LOC_LEN_ERR) &&
         same(CqeStatus::local_qp_operation, IBV_WC_LOC_QP_OP_ERR) &&
         same(CqeStatus::local_eec_operation, IBV_WC_LOC_EEC_OP_ERR) &&
         same(CqeStatus::local_protection, IBV_WC_LOC_PROT_ERR) && same(CqeStatus::flushed, IBV_WC_WR_FLUSH_ERR) &&
         same(CqeStatus::memory_window_bind, IBV_WC_MW_BIND_ERR) &&
         same(CqeStatus::bad_response, IBV_WC_BAD_RESP_ERR) && same(CqeStatus::local_access, IBV_WC_LOC_ACCESS_ERR) &&
         same(CqeStatus::remote_invalid_request, IBV_WC_REM_INV_REQ_ERR) &&
         same(CqeStatus::remote_access, IBV_WC_REM_ACCESS_ERR) &&
         same(CqeStatus::remote_operation, IBV_WC_REM_OP_ERR) &&
         same(CqeStatus::transport_retry_exceeded, IBV_WC_RETRY_EXC_ERR) &&
         same(CqeStatus::rnr_retry_exceeded, IBV_WC_RNR_RETRY_EXC_ERR) &&
         same(CqeStatus::local_rdd_violation, IBV_WC_LOC_RDD_VIOL_ERR) &&
         same(CqeStatus::remote_invalid_rd_request, IBV_WC_REM_INV_RD_REQ_ERR) &&
         same(CqeStatus::remote_aborted, IBV_WC_REM_ABORT_ERR) &&
         same(CqeStatus::invalid_eec_number, IBV_WC_INV_EECN_ERR) &&
         same(CqeStatus::invalid_eec_state, IBV_WC_INV_EEC_STATE_ERR) && same(CqeStatus::fatal, IBV_WC_FATAL_ERR) &&
         same(CqeStatus::response_timeout, IBV_WC_RESP_TIMEOUT_ERR) && same(CqeStatus::general, IBV_WC_GENERAL_ERR);
}
static_assert(statuses_of_the_verbs<xio::rxe::CqeStatus>() && statuses_of_the_verbs<xio::ernic::CqeStatus>());
#endif

}  // namespace

TEST_CASE("headers of RDMA devices were there to compare with", "[H20]") {
#if !__has_include(<infiniband/mlx5dv.h>)
  return xio_tests::skip("no infiniband/mlx5dv.h (Debian: libibverbs-dev)");
#elif !__has_include(<rdma/bnxt_re-abi.h>) || !__has_include(<rdma/vmw_pvrdma-abi.h>) || \
    !__has_include(<rdma/rdma_user_rxe.h>)
  return xio_tests::skip("no rdma/*-abi.h (Debian: linux-libc-dev)");
#else
  SUCCEED();
#endif
}
