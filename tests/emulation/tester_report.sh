#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_report.sh XIO-TESTER: xio-tester report on the in-process model
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
mapfile -t vendors < <("$here/../../scripts/vendors")
submitters=$(printf ", 'xio, %s'" "${vendors[@]}")

# check TITLE COMMAND...
check() {
  local title=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    pass
  else
    fail "$title"
    tail -n 5 "$work/out"
  fi
}
# refused WORDS ARGUMENT...: exit status 2, and one line that has WORDS
refused() {
  local words=$1 status=0
  shift
  "$tester" report "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ $status -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err" && [ ! -s "$work/out" ]; then
    pass
  else
    fail "exit status $status, or not one line with '$words': $*"
    cat "$work/err"
  fi
}
in_json() { check "$1" check_json "$work/all/report.json" "${@:2}"; }

model="emulated:size=8M"
if ! "$tester" report --controller "$model" --quick --write --runs 3 --output "$work/all" >"$work/markdown" 2>"$work/err"; then
  fail "report: exit status"
  cat "$work/err"
fi
for title in "Single operation" Batched Multi-queue Multi-LBA Sustained "Access pattern" "Write and read, verified" \
  "Sub-steps, ns per operation" "CPU use" "Random reads of 4 KiB"; do
  check "the table '$title', and what it is not of" grep -qxF "## $title (in-process model, not a drive)" "$work/markdown"
done
check "the same in a file" cmp <(grep . "$work/markdown") <(grep . "$work/all/report.md" | grep -v '^!\[')
check "plots stand in it" test "$(grep -c '^!\[.*\](.*\.svg)$' "$work/all/report.md")" = "$(find "$work/all" -name '*.svg' | wc -l)"
rows="[r for t in j['tables'] for r in t['rows']]"
table="{t['id']: t['rows'] for t in j['tables']}"
in_json "tables" "len(j['tables']) == 10" "j['exit_status'] == 0" "j['heading'] == 'in-process model, not a drive'" \
  "j['blocks'] == 'written by this run'"
in_json "rows" "[len(t['rows']) for t in j['tables']] == [4, 4, 3, 3, 1, 2, 4, 4, 2, 2]" \
  "all(r['figures'] or 'needs the memory of a GPU' in r['remark'] for r in $rows)" \
  "sum(1 for r in $rows if not r['figures']) == 9" \
  "[r['memory_mode'] for r in ($table)['single']] == [0, 3, 8, 11]"
# What is to be known of rows is said once, below the table.
notes() { awk -v title="## $1 " 'index($0, "## ") == 1 { on = index($0, title) == 1 } on' "$work/markdown" | grep -c "$2"; }
is() { if [ "$2" = "$3" ]; then pass; else fail "$1: $2, not $3"; fi; }
is "rows that refer to a note" "$(notes "Single operation" '| (1) |$')" 3
is "notes" "$(notes "Single operation" "needs the memory of a GPU")" 1
is "the reason why there is no GPU" "$(grep -c "there is none (HIP: " "$work/markdown")" 1
is "what is said of all rows" "$(notes "Write and read, verified" "^All rows: right: 64 of 64 blocks$")" 1
is "rows of one remark do not refer to it" "$(notes "Write and read, verified" "right: 64 of 64")" 1
in_json "figures" "all(r['figures']['latency_us']['min'] <= r['figures']['latency_us']['p50'] <= r['figures']['latency_us']['max'] for r in $rows if r['figures'])" \
  "all(r['figures']['cpu']['us_per_operation'] > 0 for r in $rows if r['figures'] and r['operation'] == 'read')" \
  "all(abs(r['figures']['mb_per_s'] * 1e6 / r['bytes'] / r['figures']['iops'] - 1) < 1e-6 for r in $rows if r['figures'])"
in_json "the run of the median" "all(len(r['iops_of_runs']) == 3 and sorted(r['iops_of_runs'])[1] == r['figures']['iops'] for r in $rows if r['figures'])"
in_json "one doorbell for each operation, and for each batch" \
  "1 <= ($table)['single'][0]['figures']['doorbells_per_operation'] < 1.1" \
  "1 / 16 <= ($table)['batched'][0]['figures']['doorbells_per_operation'] < 1.1 / 16"
in_json "multi-LBA" "[r['bytes'] for r in ($table)['multi-lba']] == [512, 4096, 16384]"
in_json "verified" "all(r['remark'] == 'right: 64 of 64 blocks' for r in ($table)['verified'])"
in_json "sub-steps" "all(v >= 0 for v in ($table)['sub-steps'][0]['figures']['steps_ns'].values())" \
  "len(($table)['sub-steps'][0]['figures']['steps_ns']) == 5"
check "CSV" python3 - "$work/all/report.csv" <<'END'
import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
assert len(rows) == 29, len(rows)
assert all(None not in row and None not in row.values() for row in rows)
assert all(row["heading"] == "in-process model, not a drive" for row in rows)
assert {row["table"] for row in rows} >= {"single", "batched", "sustained", "sub-steps", "side-by-side"}
single = rows[0]
assert float(single["min"]) <= float(single["mean"]) <= float(single["max"]), single
assert single["submitter"] == "xio" and single["depth"] == "1" and float(single["iops"]) > 0
steps = [float(next(row for row in rows if row["table"] == "sub-steps")[name])
         for name in ("build", "enqueue", "sq_doorbell", "cq_poll", "cq_doorbell", "total")]
assert abs(sum(steps[:5]) - steps[5]) < 0.5, steps
END
if "${XIO_PYTHON:-python3}" -c 'import matplotlib' 2>/dev/null; then
  # One run each: its spread, which depends on what else this machine does, is not known.
  "$tester" report --controller "$model" --duration 0.3 --tables multi-queue,sub-steps,side-by-side --output "$work/drawn" >"$work/out" 2>&1 ||
    fail "report with plots: exit status"
  for name in multi-queue sub-steps side-by-side; do
    check "plot of $name" cmp -n 4 "$work/drawn/$name.png" <(printf '\x89PNG')
  done
  check "plots in the HTML file" test "$(grep -c '<svg' "$work/drawn/report.html")" = 3
  check "no plot of one bar" test ! -e "$work/all/sustained.png"
  check "no plot of 64 operations" test ! -e "$work/all/verified.png"
else
  check "no plots without matplotlib, and it is said" grep -q "no plots: .*matplotlib is not installed" "$work/err"
fi

# The HTML file has the cells of the Markdown file, and needs nothing else.
cat >"$work/same.py" <<'END'
import html.parser
import re
import sys


class Cells(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.open, self.drawing = [], None, 0

    def handle_starttag(self, tag, attrs):
        self.drawing += tag == "svg"
        if not self.drawing:
            for name, value in attrs:
                assert name not in ("src", "href") or value.startswith("#"), (tag, value)
        if tag in ("td", "th") and not self.drawing:
            self.open = ""

    def handle_endtag(self, tag):
        self.drawing -= tag == "svg"
        if tag in ("td", "th") and not self.drawing:
            self.cells.append(self.open)
            self.open = None

    def handle_data(self, data):
        if self.open is not None:
            self.open += data


page = Cells()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert page.drawing == 0
lines = [line for line in open(sys.argv[2], encoding="utf-8") if line.startswith("| ") and line != "| | |\n"]
wanted = [re.sub(r"^\[(.*)\]\(#[^)]*\)$", r"\1", cell.strip()).replace("\\|", "|") for line in lines for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
assert len(wanted) > 50 and page.cells == wanted, [pair for pair in zip(page.cells, wanted) if pair[0] != pair[1]][:3]
END
check "HTML" python3 "$work/same.py" "$work/all/report.html" "$work/all/report.md"

# RDMA and the software endpoint, without a controller.
"$tester" report --rdma all --test-ep --duration 0.05 --output "$work/others" >"$work/markdown" 2>"$work/err" || fail "RDMA: exit status"
others() { check "$1" check_json "$work/others/report.json" "${@:2}"; }
others "tables of RDMA" "[t['id'] for t in j['tables']] == ['rdma-write', 'rdma-immediate', 'rdma-placement', 'test-ep']" \
  "[t['heading'] for t in j['tables']] == 3 * ['in-process model, not a NIC'] + ['software endpoint, not a device']" \
  "j['heading'] == 'in-process model, not a NIC; software endpoint, not a device'" \
  "[len(t['rows']) for t in j['tables']] == [5 * ${#vendors[@]}, ${#vendors[@]}, 2 * ${#vendors[@]}, 4]"
others "rows of RDMA" "not any(r['failed'] for r in $rows)" \
  "[r['bytes'] for r in ($table)['rdma-write'][:5]] == [256, 1024, 4096, 65536, 1048576]" \
  "[r['submitter'] for r in ($table)['rdma-immediate']] == [${submitters:2}]" \
  "all(len(r['iops_of_runs']) == 10 for t in ('rdma-write', 'rdma-immediate') for r in ($table)[t])" \
  "all(r['figures'] is None and 'host memory' in r['remark'] for r in ($table)['rdma-placement'] if r['placement'] == 'GPU memory')" \
  "all(p == sorted(p) for r in $rows if r['figures'] for p in [[v for n, v in r['figures']['latency_us'].items() if n[0] == 'p' and v is not None]])" \
  "all((r['figures']['latency_us'][n] is None) == (r['figures']['operations'] < least) for r in $rows if r['figures'] for n, least in (('p90', 100), ('p99', 1000), ('p99.9', 10000), ('p99.99', 100000)))" \
  "[(r['operation'], r['batch']) for r in ($table)['test-ep']] == [('polling', 1), ('polling', 16), ('doorbell', 1), ('doorbell', 16)]"
check "the words of the tables" grep -qxF "## RDMA write, one in flight, 10 runs (in-process model, not a NIC)" "$work/markdown"
check "HTML of RDMA" python3 "$work/same.py" "$work/others/report.html" "$work/others/report.md"
refused "--tables rdma is not accepted" --rdma all --tables rdma

# What xio adds: the latency less that of the model, which no command comes back before.
"$tester" report --client --duration 0.05 --output "$work/others" >"$work/markdown" 2>"$work/err" || fail "client: exit status"
others "what xio adds" "[t['id'] for t in j['tables']] == ['client']" \
  "[(r['device_us'], r['depth'], r['batch']) for r in $rows] == [(us, *db) for us in (0, 10, 100) for db in ((1, 1), (16, 1), (16, 16))]" \
  "not any(r['failed'] for r in $rows)" "all(r['figures']['latency_us']['min'] >= r['device_us'] for r in $rows)"
check "what xio adds, CSV" python3 - "$work/others/report.csv" <<'END'
import csv
import sys

for row in csv.DictReader(open(sys.argv[1], encoding="utf-8")):
    for name in ("p50", "p99"):
        if row[name] == "" == row["added_" + name]:
            continue
        assert abs(float(row[name]) - float(row["device_us"]) - float(row["added_" + name])) < 0.011, row
END

"$tester" report --controller "$model" --quick --tables pattern,single --json "$work/all/report.json" >"$work/markdown" || fail "two tables"
in_json "two tables" "[t['id'] for t in j['tables']] == ['single', 'pattern']" "'--write' in j['blocks']"
"$tester" report --controller "$model" --quick --tables verified --json - >"$work/all/report.json" || fail "JSON to standard output"
in_json "what writes is left out" "all(r['figures'] is None and '--write' in r['remark'] for r in j['tables'][0]['rows'])"
two=(--controller emulated:size=2M --controller emulated:size=1M,lba=512)
"$tester" report "${two[@]}" --quick --tables single,verified,multi-queue --base-lba 2048 --write --json "$work/all/report.json" >"$work/markdown" 2>&1 ||
  fail "two drives"
# Filled once, in pieces of 128 KiB.
in_json "two drives" "not any(r['failed'] for r in $rows)" "all(r['figures'] for t in ('verified', 'multi-queue') for r in ($table)[t])" \
  "all('right: 64 of 64' in r['remark'] for r in ($table)['verified'])" \
  "[r['memory_mode'] for r in ($table)['single'] if r['figures']] == [0]" "j['device'].count('emulated:size=') == 2" \
  "j['flags']['--controller'] == ['emulated:size=2M', 'emulated:size=1M,lba=512']"
status=0
"$tester" report --controller "emulated:size=1M,delay=60000000" --deadline 1000 --quick --tables pattern \
  --json "$work/all/report.json" >"$work/markdown" 2>&1 || status=$?
if [ $status -eq 1 ]; then pass; else fail "a model that does not answer: $status"; fi
in_json "a model that does not answer" "all(r['failed'] and '--deadline' in r['remark'] for r in j['tables'][0]['rows'])"

refused "nothing to run: give --controller"
refused "--tables foo is not accepted; single, batched" --controller "$model" --tables single,foo
refused "rows of fio are of one drive" "${two[@]}" --fio --fio-device /dev/nvme0n1
refused "--base-lba 4096 is beyond the end" "${two[@]}" --base-lba 4096
refused "--cache needs --controller" --cache --test-ep
check "a page cache" "$tester" report --controller "$model" --quick --cache --tables cache --json "$work/cache.json"
check "its rows" check_json "$work/cache.json" "[t['id'] for t in j['tables']] == ['cache']" \
  "[r['operation'] for r in $rows] == ['hits', 'misses'] * 2" "[r['depth'] for r in $rows] == [1, 1, 64, 64]" \
  "all(r['remark'] == '0.000 pages per get' for r in $rows if r['operation'] == 'hits')" \
  "all(r['figures']['mb_per_s'] > 0 for r in $rows if r['operation'] == 'misses')"
refused "--fio needs --fio-device" --controller "$model" --fio
refused "--fio-device is for --fio" --controller "$model" --fio-device /dev/nvme0n1
refused "--fio-device /dev/sda is not accepted" --fio --fio-device /dev/sda
refused "/dev/nvme9999n1 does not exist" --fio --fio-device /dev/nvme9999n1
refused "--write needs --controller" --fio --fio-device /dev/nvme0n1 --write
refused "--duration" --controller "$model" --duration never
refused "--base-lba 16384 is beyond the end" --controller "$model" --base-lba 16384
refused "--output /dev/null/x" --controller "$model" --output /dev/null/x
refused "Not a directory" --controller "$model" --output "$work/err"
mkdir "$work/taken" "$work/taken/report.csv"
refused "report.csv: Is a directory" --controller "$model" --output "$work/taken"
check "what was tried is not left there" test "$(ls "$work/taken")" = report.csv
refused "--fio-results /nowhere" --controller "$model" --fio-results /nowhere
echo "{}" >"$work/empty.json"
# Before the run, which would take an hour.
refused "no report of xio-tester" --controller "$model" --duration 3600 --tables single --fio-results "$work/empty.json"
refused "--quick and --duration exclude each other" --controller "$model" --quick --duration 3
refused "list items must not be empty" --controller "$model" --tables single,,batched
finish "report"
