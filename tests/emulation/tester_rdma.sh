#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_rdma.sh XIO-TESTER TEST-RDMA-LOOPBACK: rdma-ep from the command line: shapes, ends, bad input
loopback=${2:?usage: ${0##*/} XIO-TESTER TEST-RDMA-LOOPBACK}
set -- "$1" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
report=$work/report.json
mapfile -t vendors < <("$here/../../scripts/vendors")

# run_case EXPRESSION FLAGS...: everything arrives; the Python expression holds for each transfer size `s`.
run_case() {
  local expression=$1
  shift
  if "$tester" rdma-ep --verify --iterations 400 --json "$report" "$@" >"$work/out" 2>&1 &&
    check_json "$report" "j['exit_status'] == 0 and j['heading'] == 'in-process model, not a NIC' and j['sizes']" \
      "all(s['completed'] == s['verified'] == 400 and s['failed'] == s['wrong'] == 0 for s in j['sizes'])" \
      "all(s['completions']['per_batch'] == 1 and s['doorbells']['sq'] == s['batches'] for s in j['sizes'])" \
      "all(s['latency_us']['min'] <= s['latency_us']['p50'] <= s['latency_us']['p99.99'] <= s['latency_us']['max'] for s in j['sizes'])" \
      "not any(s['violations'] for s in j['sizes'])" "all($expression for s in j['sizes'])" >>"$work/out" 2>&1 &&
    grep -q "^verified" "$work/out" && [ "$(grep -c "(in-process model, not a NIC)" "$work/out")" -ge 5 ]; then
    pass
  else
    fail "$*"
    cat "$work/out"
  fi
}

# Waves that share a queue pair.
for provider in "${vendors[@]}"; do
  for flags in "--waves 2 --wave-size 8 --batch-size 16" "--waves 3 --op read --depth 7 --num-queues 2" \
    "--wave-size 8 --op fetch-add --batch-size 0" "--waves 2 --wave-size 32 --no-loopback --batch-size 1 --runs 2"; do
    # shellcheck disable=SC2086  # several flags
    if "$tester" rdma-ep --provider $provider --verify --iterations 403 --json "$report" $flags >"$work/out" 2>&1 &&
      check_json "$report" "j['exit_status'] == 0 and j['setup']['sharing'] == 'grid' and j['sizes']" \
        "all(s['completed'] == s['verified'] == 403 * j['setup']['runs'] for s in j['sizes'])" \
        "all(s['failed'] == s['wrong'] == 0 for s in j['sizes'])" "not any(s['violations'] for s in j['sizes'])" \
        "all(0 < s['doorbells']['sq'] <= s['batches'] for s in j['sizes'])" >>"$work/out" 2>&1; then
      pass
    else
      fail "$provider $flags"
      cat "$work/out"
    fi
  done
done

for provider in "${vendors[@]}"; do
  for queues in 1 4; do
    for immediate in "" --write-imm; do
      common=(--provider $provider --num-queues $queues --transfer-size 0,8,250,4K ${immediate:+"$immediate"})
      received="s['received'] == s['completions']['receive'] == ${immediate:+40}0"
      run_case "s['batches'] == 400 and $received" "${common[@]}" --batch-size 1
      run_case "s['batches'] == 400 / 16 + ($queues == 4) * 3 and $received" "${common[@]}" --batch-size 16
      run_case "s['batches'] == 4 and $received" "${common[@]}" --batch-size 0 --sq-depth $((400 / queues / (4 / queues)))
    done
  done
done
run_case "s['received'] == 400" --op send --no-loopback --batch-size 8 --depth 24 --transfer-size 100,64K
run_case "s['runs'][0]['seed'] == 7" --op read --seed 7 --batch-size 8 --queue-mem vram
run_case "s['transfer_size'] == 8" --op fetch-add --batch-size 0 --num-queues 3
run_case "s['inline']" --inline-threshold 64 --transfer-size 8,64 --lfsr-seed 0x1234
run_case "sum(b['count'] for b in s['histogram_us']) == 400" --histogram --cq-depth 2 --transfer-size 1K

# Ping-pong: two writes of each operation, none of them in a batch.
for provider in "${vendors[@]}"; do
  for flags in "--transfer-size 1,64,4K" "--transfer-size 250 --num-queues 3 --runs 2" "--transfer-size 8 --duration 0.1"; do
    # shellcheck disable=SC2086  # several flags
    if "$tester" rdma-ep --provider $provider --ping-pong --verify --iterations 100 --json "$report" $flags >"$work/out" 2>&1 &&
      check_json "$report" "j['exit_status'] == 0 and j['setup']['ping_pong'] and not j['setup']['loopback'] and j['sizes']" \
        "all(s['completed'] == s['verified'] == s['batches'] for s in j['sizes'])" \
        "all(s['completed'] == 100 * j['setup']['runs'] or s['repeated'] and s['completed'] > 0 for s in j['sizes'])" \
        "all(s['completions']['written'] == s['doorbells']['sq'] == 2 * s['completed'] for s in j['sizes'])" \
        "all(s['failed'] == s['wrong'] == 0 and s['depth'] == 1 and not s['violations'] for s in j['sizes'])" >>"$work/out" 2>&1 &&
      grep -q "^latency, us: half of a round trip (in-process model, not a NIC)" "$work/out" && grep -q "operations, on both sides" "$work/out"; then
      pass
    else
      fail "--ping-pong $provider $flags"
      cat "$work/out"
    fi
  done
done

# What the clock is read for. One batch that leaves together: its operations share both readings.
"$tester" rdma-ep --executor host --less-timing --transfer-size 64,4K --iterations 16 --batch-size 16 --depth 16 --verify --json "$report" \
  >"$work/out" 2>&1 &&
  check_json "$report" "all(s['verified'] == 16 and s['latency_us']['min'] == s['latency_us']['max'] > 0 for s in j['sizes'])" \
    "j['flags']['--iterations'] == '16' and j['flags']['--less-timing'] is True and '--seed' not in j['flags']" \
    "j['setup']['less_timing'] and not j['setup']['substep_timing'] and 'steps_ns' not in j['sizes'][0]" &&
  grep -q "timing      one clock reading for a batch" "$work/out" && pass || fail "--less-timing"
run_case "s['latency_us']['min'] < s['latency_us']['max']" --executor host --batch-size 16 --depth 16
run_case "s['received'] == 400" --executor host --less-timing --op send --batch-size 8 --depth 24 --transfer-size 100,64K
for flags in "--provider mlx5 --batch-size 16" "--provider rxe --waves 2 --wave-size 8 --batch-size 16 --less-timing" \
  "--provider bnxt --write-imm" "--provider ionic --op read --num-queues 2" "--provider ernic --op fetch-add"; do
  # shellcheck disable=SC2086  # several flags
  if "$tester" rdma-ep --substep-timing --verify --iterations 403 --json "$report" $flags >"$work/out" 2>&1 &&
    check_json "$report" "all(s['verified'] == 403 and list(s['steps_ns']) == ['post', 'sq_doorbell', 'cq_poll'] for s in j['sizes'])" \
      "all(v > 0 for s in j['sizes'] for v in s['steps_ns'].values())" "j['setup']['executor'] == 'host'" \
      "all(sum(s['steps_ns'].values()) * s['completed'] <= s['seconds'] * 1e9 * j['setup']['queues'] * j['setup']['waves'] * j['setup']['wave_size'] for s in j['sizes'])" &&
    grep -q "^steps, ns per operation (in-process model" "$work/out"; then
    pass
  else
    fail "--substep-timing $flags"
    cat "$work/out"
  fi
done

# Runs, each with a seed of its own; a limited time.
"$tester" rdma-ep --runs 3 --iterations 20 --verify --json "$report" >"$work/out" 2>&1 &&
  check_json "$report" "[s['transfer_size'] for s in j['sizes']] == [256, 1024, 4096, 65536, 1048576]" \
    "all([r['seed'] for r in s['runs']] == [1, 2, 3] and s['verified'] == 60 for s in j['sizes'])" \
    "all(s['mb_per_s']['min'] <= s['mb_per_s']['mean'] <= s['mb_per_s']['max'] for s in j['sizes'])" &&
  grep -q "^throughput, MB/s, over 3 runs" "$work/out" && pass || fail "runs"
"$tester" rdma-ep --transfer-size 64 --iterations 1 --duration 0.2 --batch-size 4 --json "$report" >"$work/out" 2>&1 &&
  check_json "$report" "j['sizes'][0]['completed'] > 1 and j['sizes'][0]['repeated']" && pass || fail "--duration"

# The other name.
"$loopback" --provider bnxt --transfer-size 64 --iterations 5 --verify --json "$report" >"$work/out" 2>&1 &&
  check_json "$report" "j['command'] == 'rdma-ep' and j['setup']['loopback'] and j['sizes'][0]['verified'] == 5" &&
  pass || fail "test-rdma-loopback"
[ "$("$tester" rdma-ep --transfer-size 64 --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["exit_status"])')" = 0 ] &&
  pass || fail "--json -"

# Signals end an endless run, and it says how far it came.
started() { grep -q "per second" "$work/err"; }
ended() { ! kill -0 "$run" 2>/dev/null; }
for signal in INT TERM; do
  rm -f "$report"
  : >"$work/err"
  setsid "$tester" rdma-ep --infinite --verify --progress --num-queues 2 --batch-size 16 --transfer-size 64,512 \
    --iterations 100 --json "$report" >"$work/out" 2>"$work/err" &
  run=$!
  eventually started || fail "did not start"
  kill -$signal "$run"
  if ! eventually ended; then
    fail "does not end after SIG$signal"
    kill -9 "$run"
    continue
  fi
  wait "$run"
  status=$?
  if [ $status -eq 130 ] && check_json "$report" "j['interrupted'] and j['exit_status'] == 130 and not j['trouble']" \
    "j['sizes'][0]['completed'] == 100 and j['sizes'][1]['completed'] > 1000" \
    "all(s['failed'] == s['wrong'] == 0 and s['submitted'] == s['completed'] == s['verified'] for s in j['sizes'])" \
    >>"$work/out" && grep -q "partial results" "$work/out"; then
    pass
  else
    fail "SIG$signal: exit status $status"
    cat "$work/out" "$work/err"
  fi
done

# expect STATUS WORDS ARGUMENT...: one line on standard error with these words, and nothing else.
expect() {
  local wanted=$1 words=$2
  shift 2
  timeout 60 "$tester" rdma-ep "$@" >"$work/out" 2>"$work/err"
  local status=$?
  if [ "$status" -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err" &&
    [ ! -s "$work/out" ]; then
    pass
  else
    fail "exit status $status (not $wanted) or not one line with '$words': $*"
    cat "$work/err" "$work/out"
  fi
}

# Verbs devices: this machine's are named, and where it has none that is said.
if [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
  expect 2 "--device no_such_nic does not exist; " --device no_such_nic
else
  expect 77 "--device no_such_nic: " --device no_such_nic
  expect 77 "--device rxe0: " --device rxe0 --server
  expect 77 "--device rxe0: " --device rxe0 --client --server-host 10.0.0.1
fi
# Two nodes.
expect 2 "--device emulated: emulated NICs are connected only within one process" --server
expect 2 "--device emulated: emulated NICs are connected only within one process" --client --server-host 10.0.0.1
expect 2 "give --client too" --server-host 10.0.0.1
expect 2 "--server-host is for --client" --device rxe0 --server --server-host 10.0.0.1
expect 2 "--listen is for --server" --device rxe0 --client --listen 10.0.0.1
expect 2 "give --server too" --listen 10.0.0.1
expect 2 "--server and --client exclude each other" --device rxe0 --server --client
expect 2 "--loopback is for one process" --device rxe0 --server --loopback
expect 2 "--no-loopback is for one process" --device rxe0 --client --no-loopback
expect 2 "1 to 65535" --port 0
expect 2 "1 to 65535" --port 65536
# Launchers: the environment of one process says that it is one of several.
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 expect 2 "Open MPI has started 3 processes" --device rxe0
PMI_RANK=1 PMI_SIZE=2 expect 2 "--device emulated" --transfer-size 64
SLURM_PROCID=x SLURM_NTASKS=2 expect 2 "SLURM_PROCID is 'x'" --transfer-size 64
expect 2 "$(IFS="|" && echo "${vendors[*]}")" --provider infiniband
expect 2 "write|read|send|fetch-add" --op scatter
expect 2 "host|vram" --queue-mem disk
for flag in --iterations --num-queues --batch-size --depth --sq-depth --cq-depth --inline-threshold --seed --runs \
  --deadline --transfer-size --lfsr-seed --duration; do
  expect 2 "$flag" $flag many
done
expect 2 "--iterations: 0" --iterations 0
expect 2 "1 to 256" --num-queues 0
expect 2 "1 to 256" --num-queues 257
expect 2 "0 to 16384" --batch-size 16385
expect 2 "--transfer-size: 2G" --transfer-size 256,2G
expect 2 "--transfer-size: -1" --transfer-size=-1
expect 2 "--sq-depth 8" --sq-depth 8 --depth 9
expect 2 "at least 33" --depth 32 --cq-depth 16
expect 2 "0 to 64" --inline-threshold 65
expect 2 "hold no data" --provider ernic --inline-threshold 1
expect 2 "8 bytes" --op fetch-add --transfer-size 16
expect 2 "--write-imm" --op read --write-imm
expect 2 "--op read: --ping-pong writes" --ping-pong --op read
expect 2 "--write-imm: --ping-pong" --ping-pong --write-imm
expect 2 "--loopback: --ping-pong needs two queue pairs" --ping-pong --loopback
expect 2 "--batch-size 0: --ping-pong" --ping-pong --batch-size 0
expect 2 "--depth 2: --ping-pong has one write" --ping-pong --depth 2
expect 2 "--waves 2: --ping-pong" --ping-pong --waves 2
expect 2 "--wave-size 32: --ping-pong" --ping-pong --wave-size 32
expect 2 "--less-timing: --ping-pong" --ping-pong --less-timing
expect 2 "--substep-timing: --ping-pong" --ping-pong --substep-timing
expect 2 "--transfer-size 0: --ping-pong polls the last byte" --ping-pong --transfer-size 64,0
expect 2 "exclude" --infinite --duration 1
expect 2 "--runs" --infinite --runs 2
expect 2 "8 GiB" --transfer-size 1G --sq-depth 16 --batch-size 0
expect 2 "/nowhere/report.json" --json /nowhere/report.json
expect 77 "--substep-timing: kernels of rdma-ep time their steps only on the CPU" --substep-timing --executor gpu
expect 2 "--no-such-flag" --no-such-flag
expect 77 "--executor gpu" --executor gpu
expect 77 "--waves 4: receives are consumed in queue-pair order" --waves 4 --op send
expect 77 "--wave-size 64: receives" --wave-size 64 --write-imm
expect 2 "--depth 15 is less than the 16 lanes" --waves 2 --wave-size 8 --depth 15
expect 2 "--sq-depth 7 is less than the 8 lanes" --waves 8 --sq-depth 7
SLURM_PROCID=3 SLURM_NTASKS=4 "$tester" rdma-ep --no-loopback --transfer-size 64 --iterations 5 --verify \
  >"$work/out" 2>&1 && grep -q "^verified 5 of 5" "$work/out" && pass || fail "each process of a job alone"
finish "rdma-ep"
