#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exit_status.sh XIO-GOLDEN FILE: the replayer notices what it must, in each part of FILE, and says it by its exit status.
set -uo pipefail

golden=$1
file=$2
source "$(dirname "$0")/expect.sh"

expect 0 ' 0 failed, ' "$file"

one_failed=' 1 failed, '
spoil entry '/"id":"read_len512_off0"/s/"hex":"02000b0001/"hex":"02000b0002/'
expect 1 "$one_failed" "$scratch/entry.json"
spoil list '/"id":"read_len8192_off10"/s/0x00007f0012342000/0x00007f0012343000/'
expect 1 "$one_failed" "$scratch/list.json"
spoil sgl '/"id":"sgl_write_two"/s/"hex":"00003412007f00000002/"hex":"00003412007f00000004/'
expect 1 "$one_failed" "$scratch/sgl.json"
spoil doorbell '/"id":"doorbell_qid5_dstrd3"/s/"off":320/"off":316/'
expect 1 "$one_failed" "$scratch/doorbell.json"
spoil shadow '/"id":"shadow_event_behind"/s/"eventidx":2/"eventidx":3/'
expect 1 "$one_failed" "$scratch/shadow.json"
spoil fused '/"id":"fused_compare_and_write"/s/"events_first":\[\]/"events_first":[{"ev":"mmio_store","region":"doorbells","off":24,"size":4,"hex":"01000000"}]/'
expect 1 "$one_failed" "$scratch/fused.json"
spoil refused '/"id":"unaligned_buffer_rejected"/s/0x7f0012340002/0x7f0012340004/'
expect 1 "$one_failed" "$scratch/refused.json"
spoil admin '/"id":"admin_set_num_queues_16"/s/0f000f00/0f001000/'
expect 1 "$one_failed" "$scratch/admin.json"
spoil status '/"id":"status_bit_crd"/s/"crd":1/"crd":0/'
expect 1 "$one_failed" "$scratch/status.json"
spoil phase '/"id":"wrong_phase"/s/0b000000"/0b000100"/'
expect 1 "$one_failed" "$scratch/phase.json"
spoil head '/"id":"max1_of_2"/s/"cq_head":1/"cq_head":2/'
expect 1 "$one_failed" "$scratch/head.json"
spoil word '/"id":"write_pi_tags"/s/"cdw15":"0x33441122"/"cdw15":"0x11223344"/'
expect 1 "$one_failed" "$scratch/word.json"
spoil chain '/"id":"prp_chain_514_pages"/s/0x1001ff000/0x1001fe000/'
expect 1 "$one_failed" "$scratch/chain.json"
spoil offset '/"id":"doorbell_dstrd2_qid3"/s/0x1060/0x1064/'
expect 1 "$one_failed" "$scratch/offset.json"
spoil register '/"id":"aqa_16_64"/s/"ASQS":15/"ASQS":14/'
expect 1 "$one_failed" "$scratch/register.json"

# Numbers that memory would be made or found by.
spoil identifier 's/"submitted_cids": *\[[0-9]*/"submitted_cids":[4294967296/'
expect 1 'a number that is too large: 4294967296' "$scratch/identifier.json"
spoil entries '/"id":"wrong_phase"/s/"entries": *[0-9]*/"entries":4294967296/'
expect 1 'a number that is too large: 4294967296' "$scratch/entries.json"

spoil unknown '/"id":"verify"/s/"command":"VERIFY"/"command":"SANITIZE"/;/"id":"verify"/s/"hex":"0c/"hex":"84/'
expect 0 'operation not offered' "$scratch/unknown.json"

spoil vendor 's/"vendor": *"nvme"/"vendor": "nobody"/'
expect 2 'vendor "nobody" has no handler' "$scratch/vendor.json"
spoil part 's/"passthru":/"passthrough":/'
expect 2 'cannot be replayed' "$scratch/part.json"
spoil id 's/"id":"verify"/"name":"verify"/'
expect 2 'no id' "$scratch/id.json"
echo '{"vendor": "nvme"}' >"$scratch/empty.json"
expect 2 'no cases' "$scratch/empty.json"
head -c 1000 "$file" >"$scratch/torn.json"
expect 2 'torn.json' "$scratch/torn.json"
expect 2 'cannot be read' "$scratch/none.json"
expect 2 'usage' --unknown
expect 0 'operation_not_offered' --list-skips

# What is printed must arrive.
work=$scratch
pass() { :; }
fail() {
  failures=$((failures + 1))
  printf '%s\n' "$*"
}
# shellcheck source=tests/unwritable.sh
. "$(dirname "$0")/../unwritable.sh"
cannot_print "$golden" --list-skips
cannot_print "$golden" "$file"

exit $((failures != 0))
