#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_kv_runs.sh XIO-TESTER: kv-ep on namespaces of the in-process controller: sizes, waves, queues, statuses, wrong values
# shellcheck source=tests/emulation/tester_runs.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_runs.sh" "$1" kv-ep

expect 0 "what a new user types" "verified 1000 of 1000 values" "$completed == [1000] * 3" \
  "$operations == ['store', 'retrieve', 'delete']" "j['phases'][0]['bytes'] == 1000 * 4096" "j['phases'][1]['verified_values'] == 1000" \
  "all(p['latency_us']['min'] > 0 and p['per_second'] > 0 for p in j['phases'])" -- --controller emulated:keys=16 --verify
expect 0 "waves share a queue" "verified 600 of 600 values" "$completed == [600] * 5" \
  "j['setup']['waves_per_queue'] == 6" "j['phases'][0]['doorbells']['per_operation'] < 1" "0 < j['phases'][0]['bytes'] < 600 * 65536" \
  -- --controller emulated:keys=16/0,delay=1-50,reorder=8 --waves 6 --wave-size 32 --keys 600 --value-size 0-64K --verify \
  --operations store,retrieve,exist,delete,absent
expect 0 "queues, and short keys" "verified 200 of 200 values" "j['setup']['key_bytes'] == 1" "j['setup']['queues'] == 3" \
  -- --controller emulated:keys=7 --key-size 1 --keys 200 --num-queues 3 --waves 2 --wave-size 8 --value-size 13 --queue-length 8 --verify
expect 0 "another namespace" "namespace   2: 1048576 bytes" "j['controller']['namespace'] == 2" "j['controller']['longest_key'] == 9" \
  -- --controller emulated:keys=0/9,size=1M --namespace 2 --keys 10

# What the device answers.
error="j['phases'][0]['errors']"
expect 1 "keys that do not exist" "retrieve error: unwritten (NVMe 0x087" "$completed == [0]" "$error[0]['count'] == 50" \
  "$error[0]['status'] == 'unwritten'" "$error[0]['first_key'] == 0" "j['phases'][0]['failed'] == 50" \
  -- --controller emulated:keys=16 --operations retrieve --keys 50 --verify
expect 1 "no room" "store error: capacity" "$completed[0] == 15" "$error[0]['first_key'] == 15" \
  -- --controller emulated:keys=16,size=64K --operations store --keys 20
expect 1 "keys that are not gone" "absent error: conflict" "j['phases'][1]['errors'][0]['count'] == 30" \
  -- --controller emulated:keys=16 --operations store,absent --keys 30
expect 1 "every tenth store fails" "store error: write_error (NVMe 0x280" "$completed == [90]" "$error[0]['count'] == 10" \
  "$error[0]['device_status'] & 0x7ff == 0x280" -- --controller emulated:keys=16,fail=store-280-10 --operations store --keys 100

# What contradicts itself or the namespace.
values=(kv-ep --controller emulated:keys=8,values=4K)
refuse 2 "--controller is required" kv-ep
refuse 2 "namespace 1 of emulated stores no values under keys" kv-ep --controller emulated
refuse 2 "--key-size 9 is more than the longest key of namespace 1, 8 bytes" "${values[@]}" --key-size 9
refuse 2 "--key-size: 17 is not accepted" "${values[@]}" --key-size 17
refuse 2 "--keys 257 do not differ in 1 bytes" "${values[@]}" --key-size 1 --keys 257
refuse 2 "--value-size 4097 is more than the longest value of namespace 1, 4096 bytes" "${values[@]}" --value-size 1-4097
refuse 2 "--value-size 8193 is more than one command of this controller moves, 8192 bytes (MDTS)" kv-ep --controller emulated:keys=8,mdts=1 --value-size 8193
refuse 2 "--value-size: 8-4 is not accepted; bytes are, as 4096 or 512-64K" "${values[@]}" --value-size 8-4
refuse 2 "--operations: erase is not accepted; store, retrieve, exist, delete and absent are" "${values[@]}" --operations store,erase
refuse 2 "list items must not be empty" "${values[@]}" --operations store,
refuse 2 "--queue-length 4096 is more than the controller's queues hold" "${values[@]}" --queue-length 4096
refuse 2 "--num-queues 65 is more than the controller granted; give at most 64" "${values[@]}" --num-queues 65
refuse 2 "has no blocks; xio-tester kv-ep is for those" nvme-ep --controller emulated:keys=8 --read-io 4
finish "runs of kv-ep"
