#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_stop.sh XIO-TESTER: Ctrl-C, SIGTERM, --duration, and controllers that stop answering or vanish
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

report=$work/report.json
serial=stop$$
controller=qemu:size=16M,device=serial=$serial

# begin FLAGS...: an endless run in the background, which has done its first operations when this returns.
begin() {
  rm -f "$report"
  : >"$work/err" # what an earlier run wrote must not count
  setsid "$tester" nvme-ep --controller "$controller" --batch-size 8 --json "$report" "$@" >"$work/out" 2>"$work/err" &
  run=$!
  eventually started || fail "did not start: $*"
}
started() { grep -q "per second" "$work/err"; }
no_process_left() { [ -z "$(qemu_processes $serial)" ]; }
ended() { ! kill -0 "$run" 2>/dev/null; }

# expect STATUS TITLE EXPRESSION...
expect() {
  local wanted=$1 title=$2
  shift 2
  if ! eventually ended; then
    fail "$title: does not end"
    # Where it hangs is worth knowing.
    if command -v gdb >/dev/null; then gdb -p "$run" -batch -ex "thread apply all backtrace 16" 2>/dev/null; fi
    kill -9 "$run"
    return
  fi
  wait "$run"
  local status=$?
  if [ "$status" -eq "$wanted" ] && check_json "$report" "$@" >>"$work/out" && eventually no_process_left; then
    pass
  else
    fail "$title: exit status $status, processes $(qemu_processes $serial)"
    cat "$work/out" "$work/err"
  fi
}

for signal in INT TERM; do
  begin --read-io 100 --infinite --progress --num-queues 2
  kill -$signal "$run"
  expect 130 "SIG$signal" "j['interrupted']" "phases['read']['completed'] > 0" "phases['read']['failed'] == 0" \
    "phases['read']['submitted'] == phases['read']['completed']"
done

# The whole process group, as a terminal does it.
begin --write-io 100 --infinite --progress
kill -INT -- "-$run"
expect 130 "Ctrl-C" "j['interrupted']" "phases['write']['failed'] == 0"

# QEMU stands still: deadlines pass, and everything ends.
begin --read-io 100 --infinite --progress --deadline 5000
kill -STOP "$(qemu_processes $serial)"
expect 1 "QEMU stopped" "not j['interrupted']" "phases['read']['completed'] > 0" \
  "[e['status'] for e in phases['read']['errors']] == ['timed_out']" "'no longer responds: QEMU was stopped by a signal' in j['trouble']"

# QEMU is gone: whatever the deadline, nobody waits for it. A second is the bound; the fastest run keeps it on a busy machine too.
fastest=1000000
for transport in remote qtest; do
  for shape in "--num-queues 2" "--waves 2 --wave-size 8 --depth 32" "--num-queues 1"; do
    controller=qemu:size=16M,transport=$transport,device=serial=$serial
    # shellcheck disable=SC2086
    begin --read-io 100 --infinite --progress --deadline 600000 $shape
    began=$(date +%s%3N)
    kill -KILL "$(qemu_processes $serial)"
    expect 1 "QEMU killed, $transport, $shape" "phases['read']['completed'] > 0" "not j['interrupted']" \
      "'QEMU is gone: killed by signal 9' in j['trouble']" \
      "phases['read']['completed'] + phases['read']['failed'] == phases['read']['submitted']"
    [ -s "$report" ] || continue
    took=$(($(date -r "$report" +%s%3N) - began))
    printf 'QEMU killed, %s, %s: %d ms\n' $transport "$shape" $took
    if [ $took -lt $fastest ]; then fastest=$took; fi
  done
done
if [ "$fastest" -le 1000 ]; then pass; else fail "after QEMU was killed it took $fastest ms at least"; fi
controller=qemu:size=16M,device=serial=$serial

# A report ends too, with the status of a failure.
setsid "$tester" report --controller "$controller" --tables single,batched --duration 60 >"$work/out" 2>"$work/err" &
run=$!
there() { [ -n "$(qemu_processes $serial)" ]; }
eventually there || fail "report does not start"
sleep 1
kill -KILL "$(qemu_processes $serial)"
if eventually ended; then
  wait "$run"
  status=$?
  if [ $status -eq 1 ] && grep -q "QEMU is gone" "$work/out"; then pass; else
    fail "report, QEMU killed: exit status $status"
    cat "$work/out" "$work/err"
  fi
else
  fail "report does not end when QEMU is killed"
  kill -9 "$run"
fi

# The tester is gone: QEMU must not stay.
begin --read-io 100 --infinite --progress
[ -n "$(qemu_processes $serial)" ] || fail "no QEMU to be seen"
kill -KILL "$run"
wait "$run" 2>/dev/null
if eventually no_process_left; then pass; else fail "QEMU outlives a killed tester"; fi

# A limited time repeats the reads, and ends well.
if "$tester" nvme-ep --controller "$controller" --read-io 10 --duration 0.3 --batch-size 4 --json "$report" >"$work/out" 2>&1 &&
  check_json "$report" "phases['read']['completed'] > 10" "phases['read']['repeated']" "j['exit_status'] == 0" \
    >>"$work/out"; then
  pass
else
  fail "--duration"
  cat "$work/out"
fi

# With - the report is all that standard output gets.
if [ "$("$tester" nvme-ep --controller emulated --read-io 4 --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["exit_status"])')" = 0 ]; then
  pass
else
  fail "--json -"
fi
finish "ends"
