#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# progress.sh SOURCES: scripts say at the start how long they take, and what they are doing: on a terminal in one line, in a log sparsely.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}
# contains FILE WORDS
contains() { grep -qF -- "$2" "$1" || fail "no '$2' in: $(cat -v "$1")"; }

# A build that counts as ninja does.
cat >"$work/build" <<'BUILD'
#!/bin/sh
echo "[3/7] Building CXX object a.o"
sleep 2.5
exit "$1"
BUILD
cat >"$work/script" <<SCRIPT
#!/bin/bash
set -euo pipefail
. "$1/scripts/common.sh"
step "configuring"
build_quietly "$work/log" "building" "$work/build" "\$1" && say "built" || say "status \$?"
SCRIPT
chmod +x "$work/build" "$work/script"

"$work/script" 0 >"$work/out" 2>&1
if [ "$(wc -l <"$work/out")" -ne 3 ]; then fail "not a line for each step: $(cat "$work/out")"; fi
contains "$work/out" "[0:00] configuring"
contains "$work/out" "[0:00] building"
contains "$work/log" "[3/7]"
"$work/script" 5 >"$work/out" 2>&1
contains "$work/out" "status 5"

if command -v script >/dev/null; then
  script -qec "$work/script 0" "$work/typescript" >/dev/null </dev/null
  if [ "$(grep -c . <(sed '/^Script /d' "$work/typescript"))" -ne 1 ]; then fail "not one line: $(cat -v "$work/typescript")"; fi
  contains "$work/typescript" "building [3/7]"
  contains "$work/typescript" "built"
else
  echo "without a terminal: there is no program script"
fi

# A phase that ends at once where nothing is built: the first time a rough figure, then what it took.
clone=$work/clone
mkdir "$clone"
(cd "$1" && tar -cf - --exclude='./build*' --exclude=./.git .) | tar -xf - -C "$clone"
"$clone/scripts/test" --no-setup tidy >"$work/out" 2>&1 || fail "scripts/test: $(cat "$work/out")"
contains <(head -n 1 "$work/out") "test: tidy: on 2 processors about half an hour where nothing is built"
contains "$work/out" "== tidy (1 of 1)"
"$clone/scripts/test" --no-setup tidy >"$work/out" 2>&1 || fail "scripts/test: $(cat "$work/out")"
contains <(head -n 1 "$work/out") "test: tidy: the last time this took 0 s here"
[ "$failed" -eq 0 ] || exit 1
echo "progress: ok"
