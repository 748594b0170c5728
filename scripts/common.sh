# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it.
# shellcheck disable=SC2034

project_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cache_dir=${XIO_CACHE:-${HOME:-/root}/.cache/xio}
jobs=${XIO_JOBS:-$(nproc)}

# Names of the tools by the LLVM version that the device tests are pinned to.
llvm_version=${XIO_LLVM_VERSION:-19}

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

# minutes SECONDS: "45 s", "12 min".
minutes() { if [ "$1" -lt 100 ]; then printf '%d s' "$1"; else printf '%d min' $((($1 + 30) / 60)); fi; }

# step WORDS: what is done now, and how long the script has been at it, on standard error. On a terminal the next step takes the
# line's place; end_step clears it.
step() {
  local text
  text=$(printf '[%d:%02d] %s' $((SECONDS / 60)) $((SECONDS % 60)) "$1")
  if [ -t 2 ]; then printf '\r\033[K%s' "$text" >&2; else printf '%s\n' "$text" >&2; fi
}
end_step() { if [ -t 2 ]; then printf '\r\033[K' >&2; fi; }

# in_group COMMAND...: runs a command that does not outlive the script, however the script ends. A shell that is ended leaves behind
# what it waits for; this command and all that it starts are a process group. $progress, if set, is called every second.
progress=""
in_group() {
  local status=0 watcher one
  setsid "$@" <&0 &
  running=$!
  for one in INT TERM HUP; do
    # shellcheck disable=SC2064  # this signal
    trap "end_group $one" "$one"
  done
  # Nothing tells a script that it is killed.
  while sleep 1 2>/dev/null; do
    if ! is_alive $$; then kill -TERM -- "-$running" && break; fi
    $progress
  done >/dev/null &
  watcher=$!
  wait "$running" || status=$?
  trap - INT TERM HUP
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  return $status
}
# end_group SIGNAL: ends what in_group runs, and then the script by the signal that it got.
end_group() {
  trap - "$1"
  kill -TERM -- "-$running" 2>/dev/null || true
  wait "$running" 2>/dev/null || true
  kill -s "$1" $$
}

# Without /proc, as in a bare chroot, one that has ended and that nobody has waited for counts as alive.
is_alive() {
  local state
  kill -0 "$1" 2>/dev/null || return 1
  { read -r _ _ state _ <"/proc/$1/stat"; } 2>/dev/null || return 0
  [ "$state" != Z ]
}

# build_quietly LOG WORDS COMMAND...: runs a build whose output is added to LOG, and shows what ninja has counted, such as [12/345]: on
# a terminal in the step's line, elsewhere by a line every $XIO_PROGRESS seconds (60).
build_quietly() {
  local log=$1 words=$2 status=0 progress=show_count shown=$SECONDS
  shift 2
  step "$words"
  # shellcheck disable=SC2016  # for the other shell
  in_group sh -c 'log=$1 && shift && exec "$@" >>"$log" 2>&1' sh "$log" "$@" || status=$?
  end_step
  return $status
}
show_count() {
  if [ ! -t 2 ]; then
    if [ $((SECONDS - shown)) -lt "${XIO_PROGRESS:-60}" ]; then return; fi
    shown=$SECONDS
  fi
  step "$words $(tail -c 20000 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1)"
}

have() { command -v "$1" >/dev/null 2>&1; }

# The comment block at the head of a script is its help.
print_help() { sed -n '3,/^$/{/^#/s/^# \{0,1\}//p}' "$1"; }

# The build folder of a preset.
build_dir() { if [ "$1" = release ]; then printf build; else printf 'build-%s' "$1"; fi; }

# What compiled a source that is the same in another clone of this machine is not run again, where ccache is installed and the build folder
# was not configured without it. Precompiled headers name files of their own clone: what includes one is compiled in each.
if have ccache; then
  export CCACHE_DIR=${CCACHE_DIR:-$cache_dir/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G} CCACHE_BASEDIR=$project_dir CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 \
    CCACHE_SLOPPINESS=time_macros
fi
compiler_cache() {
  local dir=$project_dir/$1
  if have ccache && { [ ! -e "$dir/CMakeCache.txt" ] || [ -n "$(cached "$dir" CMAKE_CXX_COMPILER_LAUNCHER)" ]; }; then printf ccache; fi
}

# configure PRESET LOG [OPTION...]: configures a build folder from its preset, whatever an earlier or interrupted run left in
# it: another compiler, generator or place of the sources. What is built there stays, as far as it still fits.
configure() {
  local preset=$1 log=$2
  shift 2
  set -- -DCMAKE_CXX_COMPILER_LAUNCHER="$(compiler_cache "$(build_dir "$preset")")" "$@"
  # CMake forgets what it was told when it throws its cache away by itself.
  if cmake -S "$project_dir" --preset "$preset" "$@" >"$log" 2>&1 &&
    ! grep -qF 'require your cache to be deleted' "$log"; then
    return
  fi
  cmake -S "$project_dir" --fresh --preset "$preset" "$@" >"$log" 2>&1
}

# cached DIRECTORY VARIABLE: its value in the cache of a build folder; empty where there is none.
cached() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt" 2>/dev/null || true; }

# What the preset release is compiled with: what its folder is compiled with already, else clang, where it is installed: it takes two
# thirds of g++'s time for templates like ours.
release_compiler() {
  local cxx
  cxx=$(cached "$project_dir/build" CMAKE_CXX_COMPILER)
  case ${cxx##*/} in
    g++ | "clang++-$llvm_version") have "$cxx" && printf %s "$cxx" && return ;;
  esac
  if have "clang++-$llvm_version"; then command -v "clang++-$llvm_version"; else printf g++; fi
}

# configure_demo LOG: for xio-tester alone, in the folder of the preset release. Where the tests are in it, they stay.
configure_demo() {
  local log=$1 part options=("-DCMAKE_CXX_COMPILER=$(release_compiler)")
  for part in TESTS EXAMPLES; do
    if [ "$(cached "$project_dir/build" XIO_BUILD_$part)" != ON ]; then options+=("-DXIO_BUILD_$part=OFF"); fi
  done
  # The first figures come sooner without kernels for GPUs; what has them already keeps them.
  if [ "$(cached "$project_dir/build" XIO_BUILD_TESTS)" != ON ]; then options+=(-DXIO_TESTER_KERNELS=OFF); fi
  # Tests that an earlier run asked for may need what is not installed here.
  configure release "$log" "${options[@]}" || configure release "$log" "${options[0]}" -DXIO_BUILD_TESTS=OFF -DXIO_BUILD_EXAMPLES=OFF
}

# configure_tests PRESET LOG PROTOCOL GOLDEN [KERNELS [SANITIZED [UNITY [CXX [TURN]]]]]: everything; PROTOCOL, GOLDEN and SANITIZED: ON or OFF, whether
# the tests of that name too; KERNELS: see XIO_TESTER_KERNELS; UNITY: OFF compiles each source by itself. What tests of the preset release
# compile by themselves is compiled by g++, as most users do; CXX, for this preset: another compiler than release_compiler's; TURN: see XIO_BUILD_IN_TURN.
configure_tests() {
  local compilers=()
  if [ "$1" = release ]; then compilers=("-DCMAKE_CXX_COMPILER=${8:-$(release_compiler)}" -DXIO_TESTS_CXX=g++); fi
  configure "$1" "$2" ${compilers[@]+"${compilers[@]}"} -DXIO_TESTER_KERNELS="${5:-ON}" -DXIO_BUILD_PROTOCOL_TESTS="$3" -DXIO_BUILD_GOLDEN_TESTS="$4" \
    -DXIO_BUILD_SANITIZED_TESTS="${6:-ON}" -DXIO_BUILD_IN_TURN="${9:-OFF}" ${7:+-DXIO_UNITY="$7"}
}

# retry_timing DIRECTORY: runs those tests once more, one at a time, that are labelled timing and failed when ctest ran last in a
# build folder. Sets $recovered to the names of those that pass.
retry_timing() {
  local dir=$1 name
  recovered=()
  while IFS= read -r name; do
    say "labelled timing, once more and alone: $name"
    if ctest --test-dir "$dir" -R "^${name//./\\.}\$" --output-on-failure --no-label-summary --no-tests=error </dev/null; then
      recovered+=("$name")
    fi
  done < <(comm -12 <(sed 's/^[0-9]*://' "$dir/Testing/Temporary/LastTestsFailed.log" | sort) \
    <(ctest --test-dir "$dir" -N -L '^timing$' | sed -n 's/^ *Test *#[0-9]*: //p' | sort))
}

# python_environment NAME REQUIREMENT [--force]: installs a package from PyPI into an environment of its own in the cache folder, and prints
# the path of its Python. Where it cannot be had, says so and exits with 77.
python_environment() {
  local environment=$cache_dir/$1
  case ${3:-} in
    -h | --help) print_help "$0" && exit 0 ;;
    --force) rm -rf "$environment" ;;
    "") ;;
    *) die "unknown argument $3; see --help" ;;
  esac
  if ! "$environment/bin/python" -c "import $1" >/dev/null 2>&1; then
    rm -rf "$environment"
    mkdir -p "$cache_dir"
    local trouble=""
    if ! python3 -m venv "$environment" >/dev/null; then
      trouble="python3 -m venv fails (Debian: python3-venv)"
    elif ! "$environment/bin/pip" install --quiet --disable-pip-version-check "$2"; then
      trouble="the package could not be installed"
    fi
    if [ -n "$trouble" ]; then
      warn "no $1: $trouble"
      rm -rf "$environment"
      exit 77
    fi
  fi
  say "$environment/bin/python"
}
