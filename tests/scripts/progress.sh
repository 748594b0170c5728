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
# In a bare chroot nothing is mounted at /proc.
if unshare -m true 2>/dev/null; then
  unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" 0' "$work/script" >"$work/out" 2>&1
  contains "$work/out" "built"
else
  echo "without a bare chroot: no mount namespace"
fi

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
contains <(head -n 1 "$work/out") "test: tidy: about 2 min on 2 processors where nothing is built"
contains "$work/out" "== tidy (1 of 1)"
"$clone/scripts/test" --no-setup tidy >"$work/out" 2>&1 || fail "scripts/test: $(cat "$work/out")"
contains <(head -n 1 "$work/out") "test: tidy: the last time this took 0 s here"
# The estimate is that of the phases that were asked for.
contains <("$clone/scripts/test" --no-setup asan-ubsan tsan 2>&1 </dev/null | head -n 1) "test: asan-ubsan tsan: about 6 min"

# In a log a line says from time to time how far a build is.
XIO_PROGRESS=1 "$work/script" 0 >"$work/out" 2>&1
contains "$work/out" "building [3/7]"

# However a script is ended, what it runs ends with it: a build, and its tests.
mkdir "$work/bin"
cat >"$work/bin/cmake" <<'CMAKE'
#!/bin/sh
case $1 in
  --build) [ "$hang" = ctest ] || { sleep 300 & echo $! $$ >"$pids"; wait; } ;;
esac
CMAKE
cat >"$work/bin/ctest" <<'CTEST'
#!/bin/sh
sleep 300 & echo $! $$ >"$pids"
wait
CTEST
chmod +x "$work/bin/cmake" "$work/bin/ctest"
export pids=$work/pids
for hang in build ctest; do
  for signal in TERM INT HUP KILL; do
    if [ "$hang-$signal" = ctest-INT ]; then break; fi
    rm -f "$pids"
    # A shell that starts something in the background lets it ignore Ctrl-C.
    hang=$hang PATH=$work/bin:$PATH perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$clone/scripts/test" --no-setup release >"$work/out" 2>&1 </dev/null &
    script=$!
    for ((i = 0; i < 300 && $(wc -w 2>/dev/null <"$pids" || echo 0) < 2; i++)); do sleep 0.1; done
    kill -s "$signal" "$script"
    wait "$script" 2>/dev/null && fail "scripts/test succeeds although it got SIG$signal"
    read -r one two <"$pids"
    for ((i = 0; i < 100; i++)); do
      if ! [ -e "/proc/$one" ] && ! [ -e "/proc/$two" ]; then break; fi
      sleep 0.1
    done
    if [ "$i" -eq 100 ]; then
      fail "SIG$signal to scripts/test leaves what runs for $hang: $(ps -o pid,args "$one" "$two")"
      kill "$one" "$two" 2>/dev/null || true
    fi
  done
done
[ "$failed" -eq 0 ] || exit 1
echo "progress: ok"
