#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# perftest.sh [XIO-TESTER]: writes between the two soft-RoCE devices of the guest, by perftest and by rdma-ep, side by
# side. Prints a table: the medians of XIO_PERFTEST_REPEATS (default 1) runs of XIO_PERFTEST_ITERATIONS (default 1024, and
# 8192 where instructions are counted), of which each of perftest is followed by one of ours, and the median of the ratios of such pairs
#
# With XIO_PERFTEST_INSTRUCTIONS=1 the guest has one processor, whose time counts instructions: the table shows the
# instructions for each write, of the program and the kernel together, and hardly differs between runs. There is no
# latency then: both sides of perftest's poll, and would share the processor.
#
# TCG makes every instruction dear, so the figures say how long the way through the software is, and nothing of a NIC or
# a network. Both sides of both programs have the same processors and the same low priority: they poll all the
# time, and what the kernel does for them comes first. They are as many as the machine has, two to four: where processors of a
# guest take turns, who polls on one of them keeps the kernel of the guest from working on another.

set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
repeats=${XIO_PERFTEST_REPEATS:-1}
instructions=${XIO_PERFTEST_INSTRUCTIONS:-0}
iterations=1024
# What rdma-ep does once in a run, half a million instructions, must not count.
if [ "$instructions" = 1 ]; then iterations=8192; fi
iterations=${XIO_PERFTEST_ITERATIONS:-$iterations}

if [ "${XIO_GUEST:-}" != 1 ]; then
  for tool in ib_write_bw ib_write_lat; do
    command -v $tool >/dev/null || { echo "skipped: no $tool (Debian: perftest)" && exit 77; }
  done
  # perftest reads the TSC. So that our clock does too, and not the HPET, which costs a guest an exit, the kernel keeps to it.
  processors=$(nproc)
  processors=(--cpus $((processors < 2 ? 2 : processors > 4 ? 4 : processors)))
  if [ "$instructions" = 1 ]; then processors=(--instructions); fi
  exec "$here/../../scripts/guest" --modules rdma_rxe,ib_uverbs,rdma_ucm,veth "${processors[@]}" --limit 540 \
    --kernel "clocksource=tsc tsc=reliable" -- \
    env XIO_PERFTEST_ITERATIONS="$iterations" XIO_PERFTEST_REPEATS="$repeats" XIO_PERFTEST_INSTRUCTIONS="$instructions" \
    "$here/rxe_devices.sh" nodes "$here/perftest.sh" "$@"
fi
tester=${1:-}

# both PORT SERVER... -- CLIENT...: the client begins when the server listens on its port of TCP
both() {
  local port=$1 commands=() server result=0
  shift
  while [ "$1" != -- ]; do commands+=("$1") && shift; done
  shift
  nice -n 19 timeout 60 "${commands[@]}" >/run/server 2>&1 &
  server=$!
  for _ in {1..100}; do
    if grep -q "$(printf ':%04X 0*:0000 0A ' "$port")" /proc/net/tcp /proc/net/tcp6; then break; fi
    sleep 0.1
  done
  nice -n 19 timeout 60 "$@" >/run/client 2>&1 || result=$?
  if [ $result -ne 0 ]; then kill "$server" 2>/dev/null || true; fi
  wait "$server" || result=$?
  if [ $result -ne 0 ]; then
    cat /run/server /run/client >&2
    return 1
  fi
}

# perftest TOOL BYTES COLUMN FLAGS...: the column of the line of figures
perftest() {
  local tool=$1 bytes=$2 column=$3
  local options=(-x 1 -s "$bytes" -n "$iterations" -F "${@:4}")
  both 18515 "$tool" -d rxe0 "${options[@]}" -- "$tool" -d rxe1 "${options[@]}" 127.0.0.1
  awk -v bytes="$bytes" -v column="$column" '$1 == bytes { print $column; found = 1 } END { exit !found }' /run/client
}

# ours TABLE BYTES COLUMN FLAGS...: the column of the table's row
ours() {
  local table=$1 bytes=$2 column=$3
  local options=(--transfer-size "$bytes" --iterations "$iterations" "${@:4}")
  both 18520 "$tester" rdma-ep --device rxe0 --server "${options[@]}" -- \
    "$tester" rdma-ep --device rxe1 --client --server-host 127.0.0.1 "${options[@]}"
  awk -v table="^$table" -v column="$column" '$0 ~ table { inside = 1 } inside && $2 ~ /^(B|KiB)$/ {
    print $column; found = 1; exit } END { exit !found }' /run/client
}

# runs THEIRS OURS: what the two commands print, "-" where there is no rdma-ep, a line for each repetition
runs() {
  local theirs mine=-
  for _ in $(seq "$repeats"); do
    theirs=$($1) || return 1
    if [ -n "$tester" ]; then mine=$($2) || return 1; fi
    echo "$theirs $mine"
  done
}

# row NAME UNIT FACTOR INVERSE THEIRS OURS: runs the two commands, and prints a line; their figure is multiplied first; INVERSE, if
# not 0, is divided by both. Where perftest has taken no time, as it says of too few operations, there is no ratio
row() {
  local lines
  lines=$(runs "$5" "$6") || exit 1
  awk -v name="$1 ($2)" -v factor="$3" -v inverse="$4" '
    function median(of, count, i, j, swap) {
      for (i = 2; i <= count; ++i)
        for (j = i; j > 1 && of[j - 1] > of[j]; --j) { swap = of[j]; of[j] = of[j - 1]; of[j - 1] = swap }
      return count ? of[int((count + 1) / 2)] : "-"
    }
    function figure(value, form) { return value == "-" ? "-" : sprintf(form, value) }
    {
      their = $1 ~ /^[0-9.]+$/ && $1 > 0 ? $1 * factor : 0
      our = $2 ~ /^[0-9.]+$/ ? $2 : 0
      if (inverse) { their = their ? inverse / their : 0; our = our ? inverse / our : 0 }
      if (their) theirs[++known] = their
      if (our) ours[++own] = our
      if (their && our) ratios[++pairs] = our / their
    }
    END {
      printf "%-44s %12s %12s %8s\n", name, figure(median(theirs, known), "%.1f"), figure(median(ours, own), "%.1f"),
        figure(median(ratios, pairs), "%.3f")
    }' <<<"$lines"
}

printf '%-44s %12s %12s %8s\n' "guest under TCG, soft-RoCE over veth" perftest rdma-ep ratio
for bytes in 64 4096; do
  for shape in "1 1" "64 1" "64 16"; do
    read -r depth batch <<<"$shape"
    # Column 5 is the message rate in millions in a second.
    theirs="perftest ib_write_bw $bytes 5 -t $depth -Q $batch -l $batch"
    # perftest reads the clock for each call that posts, and for each completion.
    mine="ours operations.per.second $bytes 4 --depth $depth --batch-size $batch --less-timing"
    if [ "$instructions" = 1 ]; then
      row "write of $bytes B, depth $depth, batch $batch" "instructions" 1000000 1000000000 "$theirs" "$mine"
    else
      row "writes of $bytes B, depth $depth, batch $batch" "per second" 1000000 0 "$theirs" "$mine"
    fi
  done
done
if [ "$instructions" = 1 ]; then exit; fi
for bytes in 64 4096; do
  # The median of both. Each write is answered by one, and seen by polling memory: half of the round trip.
  row "write of $bytes B, latency" us 1 0 "perftest ib_write_lat $bytes 5" "ours latency,.us $bytes 6 --ping-pong"
done
