#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# umbrella.sh INCLUDE COMPILER...: xio/xio.hpp brings every header of xio/device, and none of xio/host.
set -euo pipefail

include=$1
shift
seen=$("$@" -M -x c++ "$include/xio/xio.hpp" | tr ' \\' '\n\n' | sed -n 's#.*/\(xio/.*\.hpp\)$#\1#p' | sort -u)
failed=0
for header in "$include"/xio/device/*.hpp; do
  grep -qx "xio/device/${header##*/}" <<<"$seen" || { echo "xio.hpp lacks xio/device/${header##*/}" && failed=1; }
done
if grep '^xio/host/' <<<"$seen"; then echo "xio.hpp brings host headers" && failed=1; fi
exit $failed
