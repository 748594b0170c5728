#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_rdma.sh [--corners] XIO-TESTER: rdma-ep on soft-RoCE's devices of rxe_devices.sh all: alone, two nodes, bad input
#
# --corners: every operation and every size of batches at least once, instead of all of them together.
#
# The guest is slow, and the slower the busier the machine is: every case is as short as it can be, tables are read by
# the shell, and deadlines are long.

set -uo pipefail
corners=no
if [ "${1:-}" = --corners ]; then
  corners=yes
  shift
fi
tester=${1:?usage: ${0##*/} [--corners] XIO-TESTER}
patient=(--deadline 60000 --connect-deadline 60000)
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
trap 'rm -rf "$work"' EXIT
# wrong TITLE: fails, with what all programs said
wrong() {
  tail -n 40 "$work"/*.out "$work"/*.err >"$work/out" 2>/dev/null
  fail "$@"
}

# right FILE OPERATIONS BATCHES [COMPLETIONS]: every size has so many operations, and one completion for each batch; all verified
right() {
  local file=$1 operations=$2 batches=$3 completions=${4:-$3}
  grep -q "^rdma-ep on rxe.*: soft-RoCE: the kernel's rxe driver" "$file" &&
    awk -v operations="$operations" -v batches="$batches" -v completions="$completions" '
      /^counts/ { counts = 1; next }
      counts && /^$/ { counts = 0 }
      counts && $2 ~ /^(B|KiB)$/ {
        ++rows
        if ($3 != operations || $4 != 0 || $5 != batches || (!server && ($6 != completions || $7 != completions))) wrong = 1
      }
      /each connected to one of the client/ { server = 1 }
      /^verified/ { if ($2 != $4 || $2 != rows * operations) wrong = 1; verified = 1 }
      END { exit wrong || !rows || !verified }' "$file"
}

# alone DEVICE OPERATIONS BATCHES FLAGS...
alone() {
  local device=$1 operations=$2 batches=$3
  shift 3
  rm -f "$work"/*
  if "$tester" rdma-ep --device "$device" --verify "${patient[@]}" --iterations "$operations" "$@" >"$work/run.out" 2>"$work/run.err" &&
    right "$work/run.out" "$operations" "$batches" && [ ! -s "$work/run.err" ]; then
    pass "$device $*"
  else
    wrong "$device $*"
  fi
}

# start_server FLAGS...: returns when it listens on its port, 18520
start_server() {
  rm -f "$work"/*
  "$tester" rdma-ep --device rxe0 --verify "${patient[@]}" "$@" >"$work/server.out" 2>"$work/server.err" &
  server=$!
  local _
  for _ in {1..600}; do
    if grep -q ':4858 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6; then return 0; fi
    sleep 0.05
  done
  wrong "no server"
}
client() { "$tester" rdma-ep --device rxe1 --verify "${patient[@]}" "$@" >"$work/client.out" 2>"$work/client.err"; }

# nodes OPERATIONS BATCHES FLAGS...: rxe1 sends to rxe0
nodes() {
  local operations=$1 batches=$2 here_status there_status
  shift 2
  start_server --server --iterations "$operations" "$@"
  client --client --server-host 127.0.0.1 --iterations "$operations" "$@"
  here_status=$?
  wait "$server"
  there_status=$?
  if [ $here_status -eq 0 ] && [ $there_status -eq 0 ] && right "$work/client.out" "$operations" "$batches" &&
    right "$work/server.out" "$operations" "$batches"; then
    pass "two nodes: $*"
  else
    wrong "two nodes ($here_status, $there_status): $*"
  fi
}

sizes=(--transfer-size "0,61,4K")
if [ $corners = no ]; then
  for batch in 1 16 0; do
    case $batch in
      1) batches=32 ;;
      16) batches=2 ;;
      0) batches=4 ;;
    esac
    common=(--batch-size "$batch")
    if [ "$batch" = 0 ]; then common+=(--sq-depth 8); fi
    alone rxe_lo 32 "$batches" "${common[@]}" "${sizes[@]}"
    alone rxe_lo 32 "$batches" "${common[@]}" --write-imm --transfer-size "0,61"
    alone rxe_lo 32 "$batches" "${common[@]}" --op read --transfer-size 61
    alone rxe_lo 32 "$batches" "${common[@]}" --op send --transfer-size "0,61"
    alone rxe_lo 32 "$batches" "${common[@]}" --op fetch-add
  done
  # The other device's cases are those of two nodes, below, and these.
  alone rxe0 32 32 "${sizes[@]}"
  alone rxe0 32 2 --write-imm --batch-size 16 --transfer-size 61
  alone rxe0 32 4 --op read --batch-size 0 --sq-depth 8 --transfer-size 4K
  alone rxe0 32 2 --op send --batch-size 16 --transfer-size 61
  alone rxe0 32 32 --op fetch-add
  nodes 32 32 "${sizes[@]}"
  nodes 64 8 --op read --batch-size 8 --transfer-size 4K
  nodes 64 4 --op fetch-add --batch-size 16
else
  alone rxe_lo 32 32 "${sizes[@]}"
  alone rxe_lo 32 2 --batch-size 16 --write-imm --transfer-size "0,61"
  alone rxe_lo 32 4 --batch-size 0 --sq-depth 8 --op read --transfer-size 61
  alone rxe_lo 32 32 --op send --transfer-size "0,61"
  alone rxe_lo 32 2 --batch-size 16 --op fetch-add
fi
alone rxe0 64 16 --no-loopback --num-queues 4 --batch-size 4 --transfer-size 1K --inline-threshold 64
alone rxe_lo 32 32 --transfer-size 512 --inline-threshold 512 --cq-depth 2
# Waves that share a queue pair: how many of their lanes post together differs.
rm -f "$work"/*
if "$tester" rdma-ep --device rxe_lo --verify "${patient[@]}" --iterations 64 --waves 2 --wave-size 8 --transfer-size 61,4K \
  >"$work/run.out" 2>"$work/run.err" && grep -q "^verified 128 of 128" "$work/run.out"; then
  pass "two waves on one queue pair"
else
  wrong "two waves on one queue pair"
fi

nodes 96 6 --batch-size 16 --num-queues 2 --transfer-size 61,64K
nodes 64 4 --write-imm --batch-size 0 --sq-depth 16 "${sizes[@]}"
nodes 64 16 --op send --batch-size 4 "${sizes[@]}"

# Both sides write, and poll for what the other one writes.
rm -f "$work"/*
if "$tester" rdma-ep --device rxe_lo --verify "${patient[@]}" --iterations 32 --ping-pong --transfer-size "1,61" \
  >"$work/run.out" 2>"$work/run.err" && right "$work/run.out" 32 32 64; then
  pass "ping-pong in one process"
else
  wrong "ping-pong in one process"
fi
nodes 32 32 --ping-pong --transfer-size "1,61,64K"
nodes 33 33 --ping-pong --num-queues 2 --transfer-size 61 --inline-threshold 64

# As mpirun starts them: the same command line twice.
both=(--iterations 32 --transfer-size 256)
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 start_server "${both[@]}"
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 client "${both[@]}"
first=$?
wait "$server"
second=$?
if [ $first -eq 0 ] && [ $second -eq 0 ] && right "$work/client.out" 32 32; then pass "under a launcher"; else wrong "under a launcher"; fi

# ends NAME SERVER-STATUS CLIENT-STATUS WORDS-OF-SERVER WORDS-OF-CLIENT: both processes within 60 s
ends() {
  local name=$1 wanted_server=$2 wanted_client=$3 words_server=$4 words_client=$5 begun=$SECONDS
  wait "$server"
  local status_server=$?
  wait "$client"
  local status_client=$?
  if [ "$status_server" -eq "$wanted_server" ] && [ "$status_client" -eq "$wanted_client" ] &&
    [ $((SECONDS - begun)) -lt 60 ] && grep -qsF -- "$words_server" "$work"/server.* &&
    grep -qsF -- "$words_client" "$work"/client.*; then
    pass "$name"
  else
    wrong "$name: server $status_server, client $status_client, $((SECONDS - begun)) s"
  fi
}
# pair FLAGS-OF-SERVER -- FLAGS-OF-CLIENT, in the background
pair() {
  local mine=()
  while [ "$1" != -- ]; do mine+=("$1") && shift; done
  shift
  start_server --server ${mine[@]+"${mine[@]}"}
  "$tester" rdma-ep --device rxe1 --verify "${patient[@]}" --client --server-host 127.0.0.1 "$@" >"$work/client.out" \
    2>"$work/client.err" &
  client=$!
}
running() {
  local _
  for _ in {1..600}; do
    if grep -q "per second" "$work/client.err"; then return 0; fi
    sleep 0.1
  done
  wrong "does not run"
}

pair --batch-size 2 -- --batch-size 1
ends "flags that differ" 2 2 "--batch-size: 2 here, 1 on the other side" "--batch-size: 1 here, 2 on the other side"

endless=(--infinite --progress --transfer-size 64 --batch-size 8)
for side in server client; do
  pair "${endless[@]}" -- "${endless[@]}"
  running
  kill -INT "${!side}"
  there="interrupted on the other side"
  if [ $side = server ]; then
    ends "Ctrl-C at the server" 130 130 "interrupted: " "$there"
  else
    ends "Ctrl-C at the client" 130 130 "$there" "interrupted: "
  fi
done
pair "${endless[@]}" -- "${endless[@]}"
running
kill -KILL "$client"
ends "a client that is gone" 1 137 "exchange: the peer" ""

# expect STATUS WORDS FLAGS...: one line on standard error with these words
expect() {
  local wanted=$1 words=$2 status
  shift 2
  rm -f "$work"/*
  timeout 60 "$tester" rdma-ep "$@" >"$work/run.out" 2>"$work/run.err"
  status=$?
  if [ $status -eq "$wanted" ] && [ "$(wc -l <"$work/run.err")" -eq 1 ] && grep -qF -- "$words" "$work/run.err"; then
    pass "$words"
  else
    wrong "exit status $status (not $wanted) or not one line with '$words': $*"
  fi
}
expect 2 "--device rxe7 does not exist; rxe" --device rxe7
expect 77 "is down" --device rxe_down
expect 2 "a device of rxe" --device rxe0 --provider mlx5
expect 2 "0 to 512" --device rxe0 --inline-threshold 513
expect 1 "no server responds" --device rxe0 --client --connect-deadline 200
expect 1 "no client has connected" --device rxe0 --server --connect-deadline 200
start_server --server
"$tester" rdma-ep --device rxe1 --server >"$work/run.out" 2>"$work/run.err"
status=$?
# Who waits for a client is ended by a signal at once.
kill -TERM "$server"
if [ $status -eq 2 ] && grep -q -- "--port 18520, --listen: .*in use" "$work/run.err"; then pass "port in use"; else wrong "port in use: $status"; fi
wait "$server"

summary "rdma-ep on soft-RoCE"
