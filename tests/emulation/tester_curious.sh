#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_curious.sh XIO-TESTER: what a curious person types is answered by one line that helps, and the right exit status
set -- "$(realpath -- "$1")" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"

# expect STATUS WORDS ARGUMENT...: nothing on standard output, and one line on standard error that has WORDS
expect() {
  local wanted=$1 words=$2 status=0
  shift 2
  timeout 60 "$tester" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  if [ $status -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err" && [ ! -s "$work/out" ]; then
    pass
  else
    fail "exit status $status (not $wanted) or not one line with '$words': $*"
    cat "$work/err"
  fi
}
model=(nvme-ep --controller emulated)
reads=("${model[@]}" --read-io 4)

# Sub-commands.
expect 2 "A subcommand is required"
expect 2 "help is no sub-command; did you mean --help?" help
expect 2 "did you mean --version?" version
expect 2 "did you mean nvme-ep?" nvme
expect 2 "did you mean nvme-ep?" NVMe-EP --read-io 4
expect 2 "did you mean rdma-ep?" rdma_ep
expect 2 "did you mean test-ep?" test
expect 2 "did you mean report?" reprot --quick
expect 2 "did you mean info?" inof
expect 2 "did you mean list?" lst
expect 2 "did you mean doctor?" docter
expect 2 "did you mean clock-test?" clock
expect 2 "gizmo is no sub-command; sub-commands are nvme-ep, kv-ep, cache-ep, rdma-ep, test-ep, report, info, list, doctor, clock-test" gizmo
expect 2 "did you mean --version?" --verison
expect 2 "'-x' is no flag of xio-tester; the flags of a sub-command follow it" -x
expect 2 "follow it; xio-tester nvme-ep --help" --controller emulated nvme-ep --read-io 4
expect 2 "'list' is no argument of info" info list

# What contradicts itself is refused before it runs.
expect 2 "--batch-size 8 is more than --depth 4; give at most that" "${reads[@]}" --batch-size 8 --depth 4
expect 2 "--batch-size 8 is more than --queue-length 4; give at most that" "${reads[@]}" --batch-size 8 --queue-length 4
expect 2 "--batch-size 8 is more than --depth 4; give at most that" rdma-ep --batch-size 8 --depth 4
expect 2 "nothing is known of it; give --write-io, or --written" "${reads[@]}" --verify
expect 2 "this run does not read; give --read-io" "${model[@]}" --write-io 4 --verify
expect 2 "--read-io: 18446744073709551616 is not accepted; an integer from 0 to 18446744073709551615 is" "${model[@]}" --read-io 18446744073709551616
expect 2 "from 1 to 18446744073709551615" test-ep --iterations 99999999999T

# Over RDMA: descriptions, and flags that are for PCIe.
far=(nvme-ep --controller fabrics:traddr=192.0.2.1,nqn=x --read-io 4)
expect 2 "fabrics: nqn is missing" nvme-ep --controller fabrics:traddr=192.0.2.1 --read-io 4
expect 2 "fabrics: 'fabrics' is not of the form fabrics:traddr=ADDRESS,nqn=NAME" nvme-ep --controller fabrics --read-io 4
expect 2 "fabrics: unknown key 'colour'; known: traddr, trsvcid" info --controller fabrics:colour=red
expect 2 "fabrics: traddr is missing" doctor --probe fabrics:nqn=x
expect 2 "stripes are over controllers on PCIe; give it alone" "${far[@]}" --controller emulated
expect 2 "stripes are over controllers on PCIe; give it alone" nvme-ep --controller emulated --controller fabrics:traddr=192.0.2.1,nqn=x --read-io 4
expect 2 "--queue-id is for PCIe" "${far[@]}" --queue-id 3
expect 2 "--memory-mode 8 is for PCIe; over RDMA, 0 is accepted" "${far[@]}" --memory-mode 8
expect 2 "--doorbell shadow is for PCIe" "${far[@]}" --doorbell shadow
expect 2 "--smart is for PCIe" "${far[@]}" --smart
expect 77 "whose doorbell is a system call, which no GPU can make; give --executor host" "${far[@]}" --executor gpu
expect 2 "--batch-size 8 is more than --depth 4; give at most that" "${far[@]}" --batch-size 8 --depth 4
expect 2 "'fabrics:traddr=192.0.2.1,nqn=x' describes no NVMe controller" kv-ep --controller fabrics:traddr=192.0.2.1,nqn=x
expect 2 "'fabrics:traddr=192.0.2.1,nqn=x' describes no NVMe controller" report --controller fabrics:traddr=192.0.2.1,nqn=x

# A machine without librdmacm, or without the kernel's connection manager.
: >"$work/librdmacm.so.1"
LD_LIBRARY_PATH=$work expect 77 "librdmacm" "${far[@]}"
LD_LIBRARY_PATH=$work expect 77 "librdmacm" info --controller fabrics:traddr=192.0.2.1,nqn=x
if [ ! -e /dev/infiniband/rdma_cm ]; then expect 77 "modprobe rdma_ucm" "${far[@]}"; fi
status=0
LD_LIBRARY_PATH=$work "$tester" doctor --mode emulated --probe fabrics:traddr=192.0.2.1,nqn=x --json - >"$work/out" || status=$?
if [ $status -eq 1 ] && check_json "$work/out" 'not j["target"]["reached"]' '"librdmacm" in j["target"]["text"]' 'j["exit_status"] == 1'; then
  pass
else
  fail "doctor says why it cannot ask a target: exit status $status"
fi

# Flags that are nearly right, or another program's.
expect 2 "'--raed-io' is no flag of nvme-ep; did you mean --read-io?; xio-tester nvme-ep --help" "${model[@]}" --raed-io 4
expect 2 "did you mean --read-io?" "${model[@]}" --read_io 4
expect 2 "did you mean --read-io?" "${model[@]}" --Read-IO=4
expect 2 "did you mean --read-io?" "${model[@]}" -read-io 4
expect 2 "did you mean --read-io?" "${model[@]}" --read 4
expect 2 "did you mean --depth?" "${reads[@]}" --iodepth 4
expect 2 "did you mean --num-queues?" "${reads[@]}" --queues 4
expect 2 "did you mean --verify?" "${reads[@]}" --verfy
expect 2 "did you mean --batch-size?" "${reads[@]}" --bath-size 3
expect 2 "did you mean --waves?" "${reads[@]}" --wave 2
expect 2 "did you mean --seed?" "${reads[@]}" --seeds 2
expect 2 "did you mean --json?" "${reads[@]}" --jsno out.json
expect 2 "'--rw' is no flag of nvme-ep; xio-tester nvme-ep --help lists" "${reads[@]}" --rw read
expect 2 "'emulated' is no argument of nvme-ep" nvme-ep emulated --read-io 4
expect 2 "did you mean --transfer-size?" rdma-ep --transfer-sizes 256
expect 2 "did you mean --write-imm?" rdma-ep --write-immediate
expect 2 "did you mean --provider?" rdma-ep --vendor-provider mlx5
expect 2 "did you mean --iterations?" test-ep --iteration 5
expect 2 "did you mean --controller?" info --controler emulated
expect 2 "did you mean --interval?" clock-test --intervall 3
expect 2 "did you mean --tables?" report --controller emulated --table single
expect 2 "'qemu' is no argument of info" info qemu
expect 2 "'--all' is no flag of list" list --all

# Numbers, times and words.
for value in 4x 1e6 4.5 ' 4' '' 0x 99999999999999999999 K -4; do expect 2 "--read-io" "${model[@]}" --read-io "$value"; done
expect 2 "--read-io" "${model[@]}" --read-io
expect 2 "--read-io" "${reads[@]}" --read-io 5
expect 2 "--lbas-per-io: 0 is not accepted; an integer from 1" "${reads[@]}" --lbas-per-io 0
expect 2 "--depth: 65537" "${reads[@]}" --depth 65537
expect 2 "from 1 to 65535" "${reads[@]}" --num-queues 65536
expect 2 "--queue-id: 0" "${reads[@]}" --queue-id 0
expect 2 "from 0 to 15" "${reads[@]}" --memory-mode 16
expect 2 "--deadline: 0" "${reads[@]}" --deadline 0
expect 2 "--lfsr-seed" "${reads[@]}" --lfsr-seed 4294967296
for value in 0 inf nan 1s -1; do expect 2 "--duration" "${reads[@]}" --duration "$value"; done
expect 2 "sequential|random" "${reads[@]}" --access-pattern Random
expect 2 "1|8|32|64" "${reads[@]}" --wave-size 16
expect 2 "mmio|shadow" "${reads[@]}" --doorbell loud
expect 2 "auto|host|gpu" "${reads[@]}" --executor cpu
expect 2 "from 0 to 255" "${reads[@]}" --gpu 256
expect 2 "polling|doorbell" test-ep --mode waiting
expect 2 "--threads: 0" test-ep --threads 0
expect 2 "full|none" clock-test --barrier half
expect 2 "--runs: 0" report --controller emulated --runs 0

# What contradicts itself, or leaves nothing to do.
expect 2 "no operations" "${model[@]}"
expect 2 "no operations" "${model[@]}" --read-io 0
expect 2 "no controller" nvme-ep --write-io 4
expect 2 "--infinite and --duration exclude each other" "${reads[@]}" --infinite --duration 1
expect 2 "--written is for runs that only read" "${reads[@]}" --write-io 4 --written 4
expect 2 "--queue-length 4" "${reads[@]}" --queue-length 4 --depth 8
expect 2 "--data-buffer-size 1 is too small" "${reads[@]}" --data-buffer-size 1
expect 77 "--pci-mmio-bridge" "${reads[@]}" --pci-mmio-bridge
expect 2 "--server and --client exclude each other" rdma-ep --server --client
expect 2 "--server-host" rdma-ep --server-host 10.0.0.1
expect 2 "--loopback is for one process" rdma-ep --device rxe0 --server --loopback
expect 2 "--write-imm is for --op write" rdma-ep --op read --write-imm
expect 2 "--infinite is one run" rdma-ep --infinite --runs 2
expect 2 "--depth 64: --ping-pong has one write at a time" rdma-ep --ping-pong --depth 64
expect 2 "--depth 9 is more than --sq-depth 8" rdma-ep --depth 9 --sq-depth 8
expect 77 "--waves 2" rdma-ep --waves 2 --op send
expect 77 "--executor gpu" rdma-ep --device rxe0 --executor gpu
expect 77 "--substep-timing" rdma-ep --substep-timing --executor gpu
expect 77 "--substep-timing" test-ep --substep-timing --executor gpu
expect 2 "--quick and --duration exclude each other" report --controller emulated --quick --duration 3
expect 2 "nothing to run" report --quick
expect 2 "--fio needs --fio-device" report --fio
expect 2 "--fio and --fio-results exclude each other" report --fio --fio-device /dev/nvme0n1 --fio-results fio.json

# Lists.
for list in 0,,4 , 4, ,4 ''; do expect 2 "list items must not be empty" rdma-ep --transfer-size "$list"; done
expect 2 "--transfer-size: 1..4 is not accepted" rdma-ep --transfer-size 1..4
expect 2 "'4K' is no argument of rdma-ep" rdma-ep --transfer-size 1K 4K
expect 2 "list items must not be empty" report --controller emulated --tables single,
expect 2 "--tables singel is not accepted; single, batched" report --controller emulated --tables singel
expect 2 "list items must not be empty" doctor --mode qemu,,gpu
expect 2 "--mode" doctor --mode nvme

# Controllers and devices.
expect 2 "'Emulated' describes no NVMe controller; qemu[:key=value,...], emulated" nvme-ep --controller Emulated --read-io 4
expect 2 "'nvme0n1' describes no NVMe controller" nvme-ep --controller nvme0n1 --read-io 4
expect 2 "is not a PCI address" nvme-ep --controller vfio:nvme0 --read-io 4
expect 2 "does not exist" nvme-ep --controller /dev/nvme4095 --read-io 4
expect 2 "not found" nvme-ep --controller qemu:binary=/nowhere/qemu --read-io 4
for keys in lba=1000 size=0 queues=0 colour=red delay=50-5 delay=5- lba=512,,size=1M size; do
  expect 2 "emulated" nvme-ep --controller "emulated:$keys" --read-io 4
done
expect 2 "--namespace 3" "${reads[@]}" --namespace 3
expect 2 "beyond the end" "${reads[@]}" --base-lba 1T
expect 2 "$("$here/../../scripts/vendors" | paste -sd "|")" rdma-ep --provider mlx6
expect 2 "hold no data" rdma-ep --provider ernic --inline-threshold 1
expect 2 "--tables rdma is not accepted; single, batched" report --rdma all --tables rdma
expect 2 "list items must not be empty" report --rdma mlx5,,rxe
expect 2 "fetch-add transfers 8 bytes" rdma-ep --op fetch-add --transfer-size 16

# Files, before a run that would take an hour.
long=("${model[@]}" --read-io 4 --duration 3600)
mkdir "$work/taken" "$work/taken/report.csv"
expect 2 "--json: an empty name" "${long[@]}" --json ''
expect 2 "--json $work: Is a directory" "${long[@]}" --json "$work"
expect 2 "--json /nowhere/out.json: No such file or directory" "${long[@]}" --json /nowhere/out.json
expect 2 "--json /proc/out.json: " test-ep --iterations 1T --json /proc/out.json
expect 2 "--json" rdma-ep --duration 3600 --json "$work/err/out.json"
expect 2 "--output /dev/null/x: Not a directory" report --controller emulated --duration 3600 --output /dev/null/x
expect 2 "--output $work/err: report.md: Not a directory" report --controller emulated --duration 3600 --output "$work/err"
expect 2 "--output $work/taken: report.csv: Is a directory" report --controller emulated --duration 3600 --output "$work/taken"
expect 2 "--output /proc: report.md: " report --controller emulated --duration 3600 --output /proc
expect 2 "--fio-results /nowhere" report --controller emulated --duration 3600 --fio-results /nowhere
echo '{}' >"$work/empty.json"
expect 2 "no report of xio-tester" report --controller emulated --duration 3600 --fio-results "$work/empty.json"
if [ "$(ls "$work/taken")" = report.csv ]; then pass; else fail "what was only tried is left in a folder"; fi

# Examples at the end of each --help are whole commands; those that need no hardware run.
for command in nvme-ep kv-ep cache-ep rdma-ep test-ep report info list doctor clock-test; do
  "$tester" "$command" --help >"$work/help" || fail "$command --help"
  sed -n '/^Examples:$/,$p' "$work/help" | grep '^  xio-tester' >"$work/examples" || fail "no examples for $command"
  if grep -vq "^  xio-tester $command\( \|\$\)" "$work/examples"; then fail "examples of another command: $command"; fi
  while read -r _ line; do
    case $line in
      *vfio:* | *fabrics:* | *rxe0* | *fio* | *qemu* | report* | clock-test | doctor*) continue ;;
    esac
    read -ra words <<<"$line"
    if (cd "$work" && timeout 60 "$tester" "${words[@]}" >"$work/out" 2>&1); then pass; else fail "example: $line"; fi
  done <"$work/examples"
done

# Numbers of the table above, so that it does not get thin.
inputs=$((passed + failed))
if [ $inputs -lt 100 ]; then fail "only $inputs inputs"; fi
finish "curious inputs"
