#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# found_by_ctags.sh HEADER...: ctags, which editors jump by, finds every call that the HEADERs declare in a class.
set -uo pipefail

if ! ctags --version 2>/dev/null | grep -q "Universal Ctags"; then
  echo "Universal Ctags is not installed"
  exit 77
fi
calls=0 missing=0
for header in "$@"; do
  found=$(ctags -f - --language-force=C++ --kinds-C++=fp "$header" | cut -f1)
  while IFS= read -r call; do
    calls=$((calls + 1))
    if ! grep -qx "$call" <<<"$found"; then
      echo "$header: ctags does not find $call()"
      missing=$((missing + 1))
    fi
  done < <(sed -nE 's/^  XIO_DEVICE(_INLINE)? [^(]*[ &]([a-z_]+)\(.*/\2/p' "$header" | sort -u)
done
echo "$((calls - missing)) of $calls calls are found"
((calls > 40 && missing == 0))
