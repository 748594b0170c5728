#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vendor_macros.sh INCLUDE: no header may ask a macro which vendor is meant: vendors are types. Whether some other package's
# header is installed may be asked (__has_include).
set -uo pipefail

include=${1:?usage: ${0##*/} INCLUDE}
# Names of folders and of devices.
vendors="$("${0%/*}/../../scripts/vendors" | tr '\n' '|')pvrdma|connectx|nvme"
first=${vendors%%|*}

# Prints the conditionals below a folder that name a vendor; lines that end in a backslash go on.
conditionals() {
  find "$1" -name '*.hpp' -exec awk '
    { line = line $0 }
    /\\$/ { sub(/\\$/, " ", line); next }
    { print FILENAME ":" FNR ": " line; line = "" }' {} + |
    sed -E 's/__has_include *\([^)]*\)//g' | grep -Ei "^[^:]*:[0-9]+: *# *(el)?if(n?def)? .*($vendors)"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What must be found is found, and what may be there is not.
printf '#ifdef GDA_%s\n#endif\n# if defined(A) || \\\n  defined(USE_ConnectX)\n#endif\n' "${first^^}" >"$work/wrong.hpp"
printf '#if __has_include(<infiniband/mlx5dv.h>)\n#endif\n#include <xio/vendors/%s/traits.hpp>\n' "$first" >"$work/right.hpp"
[ "$(conditionals "$work" | wc -l)" -eq 2 ] || { echo "the search itself is wrong"; conditionals "$work"; exit 1; }

[ -n "$(find "$include" -name '*.hpp' -print -quit)" ] || { echo "no headers in $include"; exit 1; }
if found=$(conditionals "$include"); then
  printf 'vendors are types, not macros:\n%s\n' "$found"
  exit 1
fi
echo "no header asks a macro for a vendor"
