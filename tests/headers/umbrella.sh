#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# umbrella.sh INCLUDE COMPILER...: xio/xio.hpp brings every header of xio/device but the test data and what lies above the queues: the page
# cache, which has xio/cache.hpp, NVMe over RDMA, which has xio/fabrics.hpp, its rows of messages, and ZoneWriter; none of xio/host;
# xio/nvme.hpp and xio/rdma.hpp each bring nothing of the other's.
set -euo pipefail

include=$1
shift
failed=0
fail() { echo "$*" && failed=1; }
# The headers of xio that a header brings.
brings() { "$@" | tr ' \\' '\n\n' | sed -n 's#.*/\(xio/.*\.hpp\)$#\1#p' | sort -u; }
all=$(brings "$@" -M -x c++ "$include/xio/xio.hpp")
nvme=$(brings "$@" -M -x c++ "$include/xio/nvme.hpp")
rdma=$(brings "$@" -M -x c++ "$include/xio/rdma.hpp")

while read -r header; do
  grep -qx "$header" <<<"$all" || fail "xio.hpp lacks $header"
done < <(cd "$include" && find xio/device -name '*.hpp' | grep -v 'device/arch/\(amdgcn\|nvptx\)\|core/pattern\|device/\(cache\|fabrics\|rdma/row\|nvme/zone_writer\)')
for vendor in $("${0%/*}/../../scripts/vendors"); do
  grep -qx "xio/vendors/$vendor/traits.hpp" <<<"$rdma" || fail "rdma.hpp lacks the formats of $vendor"
done
if grep '^xio/host/\|pattern' <<<"$all"; then fail "xio.hpp brings what is for hosts or tests"; fi
if grep rdma <<<"$nvme"; then fail "nvme.hpp brings RDMA"; fi
if grep '/nvme' <<<"$rdma"; then fail "rdma.hpp brings NVMe"; fi
exit $failed
