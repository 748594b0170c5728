#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_tools.sh XIO-TESTER: info, list and test-ep
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

report=$work/report.json

# expect TITLE WORDS EXPRESSION... -- ARGUMENT...
expect() {
  local title=$1 words=$2 expressions=()
  shift 2
  while [ "$1" != -- ]; do
    expressions+=("$1")
    shift
  done
  shift
  if "$tester" "$@" --json "$report" >"$work/out" 2>&1 && grep -qF -- "$words" "$work/out" &&
    check_json "$report" "j['tool'] == 'xio-tester'" "j['schema'] == 1" "j['version']" "${expressions[@]}" >>"$work/out"; then
    pass
  else
    fail "$title"
    cat "$work/out"
  fi
}

expect "info on QEMU" "QEMU, not an SSD" "j['controller']['model'].startswith('QEMU')" \
  "j['controller']['capabilities']['largest_queue'] == 2048" "j['controller']['namespaces'][0]['block_bytes'] == 4096" \
  -- info --controller qemu:lba=4096
# The two kinds of metadata, and zones.
expect "info without metadata" "131072 blocks of 512 bytes, no metadata" \
  "j['controller']['namespaces'][0]['metadata_place'] == 'none'" "j['controller']['namespaces'][0]['command_set'] == 'NVM'" \
  -- info --controller qemu
expect "info on metadata apart" "bytes, 8 bytes of metadata apart from each" "len(j['controller']['namespaces']) == 1" \
  "j['controller']['namespaces'][0]['metadata_bytes'] == 8" "j['controller']['namespaces'][0]['metadata_place'] == 'apart'" \
  "j['controller']['namespaces'][0]['protection_type'] == 0" -- info --controller qemu:ms=8
expect "info on protection information" "8 bytes of metadata apart from each, protection type 3" \
  "j['controller']['namespaces'][0]['protection_type'] == 3" -- info --controller qemu:ms=8,pi=3
expect "info on metadata in the blocks" "16 bytes of metadata in each, protection type 1" \
  "j['controller']['namespaces'][0]['metadata_place'] == 'in the blocks'" -- info --controller qemu:ms=16,mset=1,pi=1
expect "info on zones" "16384 blocks of 4096 bytes, zoned, no metadata" \
  "j['controller']['namespaces'][0]['command_set'] == 'zoned'" -- info --controller qemu:lba=4096,zoned=1M
for format in ms=8 ms=8,pi=1 ms=16,pi=3 ms=8,mset=1 ms=8,mset=1,pi=2; do
  for operation in --read-io --write-io; do
    if "$tester" nvme-ep --controller qemu:$format $operation 4 >"$work/out" 2>"$work/err" || [ $? -ne 2 ] ||
      [ -s "$work/out" ] || ! grep -q "^xio-tester: namespace 1 .* of metadata .*; format it without" "$work/err"; then
      fail "$format is refused for $operation"
      cat "$work/out" "$work/err"
    else
      pass
    fi
  done
done
expect "info on the model" "in-process model, not a drive" "len(j['controller']['namespaces']) == 2" \
  "j['controller']['capabilities']['doorbell_stride_bytes'] == 16" "j['controller']['capabilities']['largest_queue'] == 32" \
  -- info --controller emulated:lba=512/4096,dstrd=2,mqes=31
expect "info on values under keys" "67108864 bytes of values under keys, 0 in use; keys of 1 to 16 bytes, values of at most 4096" \
  "j['controller']['namespaces'][0]['command_set'] == 'key value'" "j['controller']['namespaces'][0]['capacity_bytes'] == 64 << 20" \
  "j['controller']['namespaces'][0]['formats'] == [{'longest_key': 16, 'longest_value': 4096, 'most_keys': 0}]" \
  "j['controller']['namespaces'][1]['block_bytes'] == 512" -- info --controller emulated:keys=16/0,values=4K
expect "info without a controller" "executors" "'controller' not in j" "j['offers']['executors'] == ['host', 'gpu'] or j['offers']['executors'] == ['host'] and not j['offers']['gpu_targets']" -- info
expect "list" "NVMe controller of QEMU" "j['controllers'][0]['controller'] == 'emulated'" \
  "any(c['controller'].startswith('qemu') and c['offered'] for c in j['controllers'])" -- list

for mode in polling doorbell; do
  for threads in 1 3; do
    for batch in 1 5 64; do
      rings=$([ $mode = polling ] && echo 300 || echo $(((300 + batch - 1) / batch)))
      expect "test-ep $mode, $threads endpoints, batch $batch" "verified $((300 * threads)) of $((300 * threads))" \
        "j['round_trips'] == 300 * $threads" "j['wrong_answers'] == 0" "j['exit_status'] == 0" \
        "round(j['doorbells_per_round_trip'] * 300) == $rings" "j['latency_us']['p50'] <= j['latency_us']['max']" \
        "sum(bar['count'] for bar in j['histogram_us']) == 300 * $threads" \
        -- test-ep --iterations 300 --mode $mode --threads $threads --batch-size $batch --histogram
    done
  done
done
# What the clock is read for: one look finds the answers that are announced together.
expect "test-ep, less timing" "verified 8 of 8" "j['latency_us']['min'] == j['latency_us']['max'] > 0" "j['setup']['less_timing']" \
  -- test-ep --executor host --iterations 8 --batch-size 8 --less-timing
expect "test-ep, steps" "dequeue and compare" "list(j['steps_ns']) == ['build', 'enqueue', 'doorbell', 'poll', 'dequeue']" \
  "all(v > 0 for v in j['steps_ns'].values())" "j['setup']['substep_timing'] and j['round_trips'] == 600" \
  "sum(j['steps_ns'].values()) * 600 <= j['seconds'] * 1e9 * 2" \
  -- test-ep --iterations 300 --threads 2 --batch-size 8 --substep-timing
finish "tools"
