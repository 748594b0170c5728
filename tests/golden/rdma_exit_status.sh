#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rdma_exit_status.sh XIO-GOLDEN DATA: the replayer notices what it must in each kind of case of the RDMA files in DATA.
set -uo pipefail

golden=$1
data=$2
file=
source "$(dirname "$0")/expect.sh"

one_failed=' 1 failed, '
# wrong VENDOR NAME EXPRESSION: with the change, one case fails.
wrong() {
  file=$data/$1.json
  spoil "$1_$2" "$3"
  expect 1 "$one_failed" "$scratch/$1_$2.json"
}

wrong mlx5 entry '\|"id":"write_256_sig"|s|"hex":"0000000801abcd03|"hex":"0000000901abcd03|'
wrong mlx5 more '\|"id":"recv_sge4"|s|"rq":\[.*\],"events"|"rq":[],"events"|'
wrong mlx5 record '\|"id":"write_256_sig"|s|"len":1,"hex":"01"|"len":1,"hex":"02"|'
wrong mlx5 record_after '\|"id":"write_256_sig"|s|"db_record":"0000000000000001"|"db_record":"0000000000000002"|'
wrong mlx5 doorbell '\|"id":"write_256_sig"|s|"size":8,"hex":"00000008|"size":8,"hex":"00000108|'
wrong mlx5 doorbell_place '\|"id":"write_256_sig"|s|"off":3072,"size":8|"off":3328,"size":8|'
wrong mlx5 copy '\|"id":"bf_inline_wrap_copy"|s|"off":3136,"size":64,"hex":"fa01|"off":3136,"size":64,"hex":"fa02|'
# Two events of the driver change places.
record='{"ev":"mem_changed","region":"qp_dbrec",[^}]*}'
wrong mlx5 doorbell_first '\|"id":"write_256_sig"|s|\('"$record"'\),\({"ev":"barrier"[^}]*}\),\({"ev":"mmio_store"[^}]*}\)|\3,\2,\1|'
expect 1 'expected the doorbell, a barrier, qp_dbrec' "$scratch/mlx5_doorbell_first.json"
wrong mlx5 record_first '\|"id":"write_256_sig"|s|\({"ev":"mem_changed","region":"sq"[^}]*}\),\({"ev":"barrier"[^}]*}\),\('"$record"'\)|\3,\2,\1|'
expect 1 'expected qp_dbrec + 0x7, a barrier, sq' "$scratch/mlx5_record_first.json"
wrong mlx5 after '\|"id":"local_inv"|s|"fm_cache":32|"fm_cache":0|'
wrong mlx5 refused '\|"id":"too_many_sge_rejected"|s|"ret":12|"ret":0|'
wrong mlx5 taken '\|"id":"write_256_sig"|s|"ret":0|"ret":22|'
wrong mlx5 status '\|"id":"req_err_synd_13"|s|"REM_ACCESS_ERR"|"REM_OP_ERR"|'
wrong mlx5 detail '\|"id":"resp_err_synd_00"|s|"vendor_err":103|"vendor_err":104|'
wrong mlx5 wr_id '\|"id":"req_ok_write"|s|"wr_id":"0x000000000000a005"|"wr_id":"0x000000000000a006"|'
wrong mlx5 key '\|"id":"resp_send_inv_len1"|s|0xd4c3b2a1|0xa1b2c3d4|'
wrong mlx5 source '\|"id":"resp_send_inv_len1"|s|"src_qp":1193046|"src_qp":1|'
wrong mlx5 bytes '\|"id":"resp_send_inv_len1"|s|"byte_len":1,|"byte_len":2,|'
wrong mlx5 arm '\|"id":"arm_ci5_sn1_sol"|s|"size":8,"hex":"11000005|"size":8,"hex":"11000006|'

wrong bnxt table '\|"id":"p7_static_msn/write_256_sig"|s|"hex":"23c1ab24c1ab0000"}\]|"hex":"23c1ab25c1ab0000"}]|'
wrong bnxt psn '\|"id":"p5_static_psn16/read_256_sig"|s|"hex":"23c1ab0424c1ab000000000000000000","mask"|"hex":"23c1ab0524c1ab000000000000000000","mask"|'
wrong bnxt epoch '\|"id":"p7_static_msn/wrap_minus1_epoch0_write"|s|"size":8,"hex":"000000012c1b0a04"|"size":8,"hex":"000000002c1b0a04"|'
wrong bnxt push '\|"id":"p7_static_msn_push/push_inline_64"|s|"off":288,"size":8,"hex":"252c|"off":288,"size":8,"hex":"252d|'
wrong bnxt receive '\|"id":"recv_sge1"|s|"off":0,"hex":"80000300|"off":0,"hex":"80000400|'
wrong bnxt after '\|"id":"p7_static_msn/write_256_sig"|s|"msn":1}|"msn":2}|'
wrong bnxt queue '\|"id":"p7_static_msn/ok_send"|s|"qp_handle":"0x00007fff|"qp_handle":"0x00007ffe|'
wrong bnxt head '\|"id":"p7_variable_msn/cq_wrap"|s|"hex":"0200000167450344"|"hex":"0200000067450344"|'
wrong bnxt flags '\|"id":"p7_static_msn/recv_ok_send_imm"|s|"wc_flags":2|"wc_flags":0|'
wrong bnxt sequence '\|"id":"p7_static_msn/seq_mixed"|s|"hex":"020000002c1b0a04"|"hex":"030000002c1b0a04"|'

wrong bnxt doorbell_first '\|"id":"p7_static_msn/write_256_sig"|s|\("events":\[\)\(.*\),\({"ev":"mmio_store"[^}]*}\)|\1\3,{"ev":"barrier","kind":"mmio_wc_start"},\2|'
expect 1 'expected the doorbell, a barrier, sq' "$scratch/bnxt_doorbell_first.json"

wrong ionic color '\|"id":"v1_sge4_128B/write_256_unsig"|s|0401001000000000|0401000000000000|'
wrong ionic copy '\|"id":"v1_cmb_wc_expdb_64B/write_256_sig"|s|"size":64,"hex":"00000000|"size":64,"hex":"01000000|'
wrong ionic message '\|"id":"msn_one_cqe_completes_three"|s|"sq_msn_cons":3|"sq_msn_cons":2|'
wrong ionic order '\|"id":"local_inv_between_blocks_until_npg"|s|"sq_cons":1|"sq_cons":2|'
wrong ionic arm '\|"id":"arm_sol_any7_sol3_prod5"|s|"hex":"0400025604000000"|"hex":"0400015604000000"|'

wrong ernic state '\|"id":"sge4_256B/write_256_sig"|s|"len":1,"hex":"01"|"len":1,"hex":"03"|'
wrong ernic batch '\|"id":"fill_ring_9th_rejected"|s|"bad_wr_index":8|"bad_wr_index":7|'
wrong ernic opcode '\|"id":"ok_opcode_4"|s|"FETCH_ADD"|"COMP_SWAP"|'
wrong ernic poll '\|"id":"empty"|s|"hex":"c5000080"|"hex":"c5000040"|'

file=$data/ernic.json
spoil part 's/"cq_arm":/"cq_arms":/'
expect 2 'cannot be replayed' "$scratch/part.json"
spoil operation '\|"id":"sge4_256B/write_256_sig"|s|"opcode":"RDMA_WRITE"|"opcode":"BIND_MW"|'
expect 0 'operation not offered' "$scratch/operation.json"
spoil flag '\|"id":"sge4_256B/write_256_sig"|s|"SIGNALED"|"FANCY"|'
expect 1 'unknown flag FANCY' "$scratch/flag.json"

exit $((failures != 0))
