#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# telemetry_off.sh OUTPUT COMPILER...: compiles telemetry.hip with and without telemetry::Off, and compares what the kernels
# that are in both issue. The order may differ.
set -euo pipefail

output=$1
shift
mkdir -p "$(dirname -- "$output")"

opcodes_of() {
  awk -v kernel="$1:" '$1 == kernel { inside = 1 } inside && /^\t[a-z]/ { print } /s_endpgm/ { inside = 0 }' "$2" |
    sed 's/ :: */\n\t/g' | sed -E 's/^\t([a-z0-9_]+).*/\1/; s/^v_dual_(.*)/v_\1/; s/_e(32|64)$//' |
    grep -vE '^s_(delay_alu|nop|clause)$' | sort
}

"$@" -o "$output.off.s"
"$@" -DWITHOUT_TELEMETRY -o "$output.none.s"
for kernel in post wait wait_in_session take; do
  opcodes_of "$kernel" "$output.none.s" >"$output.none.txt"
  opcodes_of "$kernel" "$output.off.s" >"$output.off.txt"
  [ -s "$output.none.txt" ] || { echo "no kernel $kernel"; exit 1; }
  diff "$output.none.txt" "$output.off.txt" || { echo "telemetry::Off changes $kernel"; exit 1; }
  echo "$kernel: $(wc -l <"$output.off.txt") instructions with and without"
done
