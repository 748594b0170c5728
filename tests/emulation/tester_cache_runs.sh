#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_cache_runs.sh XIO-TESTER: cache-ep on drives of the in-process controller: few frames, many lanes, drives, errors, wrong values
# shellcheck source=tests/emulation/tester_runs.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_runs.sh" "$1" cache-ep

pages="j['phases'][-1]['pages']"
expect 0 "gets of what the drive holds" "pages read" "$completed == [10000]" "$operations == ['get']" "j['setup']['frames'] == 256" \
  "0 < $pages['read'] <= 10000" "$pages['written'] == 0" "'verified_elements' not in j['phases'][0]" -- --controller emulated
expect 0 "put, flushed, compared" "verified 2000 of 2000 elements" "$completed == [32768, 1, 2000]" "$operations == ['put', 'flush', 'get']" \
  "j['phases'][0]['pages']['written'] + j['phases'][1]['pages']['written'] >= 64" \
  -- --controller emulated --operations put,flush,get --range 256K --cache-size 64K --gets 2000 --verify
expect 0 "lanes outnumber the frames of two drives" "verified 4096 of 4096 elements" "j['setup']['waves'] == 4" "len(j['controllers']) == 2" \
  "j['phases'][0]['doorbells']['seen'] > 0" "j['phases'][2]['doorbells']['per_operation'] < 1" \
  -- --controller emulated:delay=1-50,reorder=8 --controller emulated --waves 4 --wave-size 32 --page-size 512 --cache-size 4K --ways 4 \
  --range 16K --operations put,flush,get --gets 4096 --verify --num-queues 2
expect 0 "all hits but one per page" "verified 5000 of 5000 elements" "$pages['read'] == 0" \
  -- --controller emulated --range 64K --operations put,get --gets 5000 --access-pattern sequential --verify

# What is wrong, and what a drive answers.
expect 1 "another seed's values" "element 0 differs" "j['phases'][0]['verified_elements'] == 0" "j['phases'][0]['wrong_elements'][0] == 0" \
  -- --controller emulated --gets 10 --access-pattern sequential --verify
expect 1 "a page that cannot be read" "get error: read_error (NVMe 0x281" "j['phases'][0]['errors'][0]['status'] == 'read_error'" \
  "0 < j['phases'][0]['failed'] < 4000" "$pages['read_errors'] > 0" \
  -- --controller emulated:fail=read-281-7 --gets 4000 --range 1M --cache-size 32K
expect 1 "pages that cannot be written" "flush error: write_error (NVMe 0x280" "j['phases'][1]['failed'] > 0" "$pages['write_errors'] > 0" \
  -- --controller emulated:fail=write-280 --operations put,flush --range 16K --cache-size 64K
refuse 2 "--controller is required" cache-ep
refuse 2 "--operations: forget is not accepted; put, flush and get are" cache-ep --controller emulated --operations forget
refuse 2 "page_bytes = 256 is not accepted" cache-ep --controller emulated --page-size 256
refuse 2 "--range 1099511627776 is not accepted" cache-ep --controller emulated --range 1T
refuse 2 "a page cache is for controllers on PCIe" cache-ep --controller fabrics:traddr=192.0.2.1,nqn=x
finish "runs of cache-ep"
