#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD SOURCES WORKDIR CXX VERSION [HIP-COMMAND...]: a user's project finds xio in an install tree, in the build
# tree and as a subfolder; the package refuses what it does not have, or another version.
set -euo pipefail

build=$1 sources=$2 work=$3 cxx=$4 version=$5
shift 5
hip_command=$(IFS=';' && printf '%s' "$*")
consumer=$(dirname -- "${BASH_SOURCE[0]}")/consumer
rm -rf "$work"
mkdir -p "$work"

configure() {
  local name=$1
  shift
  cmake -G Ninja -S "$consumer" -B "$work/$name" -DCMAKE_CXX_COMPILER="$cxx" -DHIP_COMMAND="$hip_command" "$@" \
    >"$work/$name.log" 2>&1
}
fails() {
  cat "$work/$1.log"
  echo "FAILED: $1${2:+: $2}"
  exit 1
}
accepts() {
  configure "$@" || fails "$1"
  echo "ok: $1"
}
uses() {
  local name=$1
  if ! { configure "$@" && cmake --build "$work/$name" >>"$work/$name.log" 2>&1 && "$work/$name/consumer"; }; then
    fails "$name"
  fi
  echo "ok: $name"
}
refuses() {
  local name=$1 message=$2
  shift 2
  if configure "$name" "$@" || ! grep -q "$message" "$work/$name.log"; then
    fails "$name" "expected a refusal with \"$message\""
  fi
  echo "ok: $name"
}

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
# Moved after the installation: the package must not remember where it was.
mv "$work/prefix" "$work/moved"

uses installed -DCMAKE_PREFIX_PATH="$work/moved" -DXIO_WANTED_VERSION="$version"
uses build_tree -Dxio_DIR="$build"
uses sources -DXIO_SOURCES="$sources"
refuses unknown_component "no component \"nothing\"" -Dxio_DIR="$build" -DXIO_COMPONENTS=nothing
refuses newer_version "requested version" -Dxio_DIR="$build" -DXIO_WANTED_VERSION=999.0
# Another minor version is another interface, unless a range lets it in.
minor=${version%.*}
refuses earlier_version "requested version" -Dxio_DIR="$build" -DXIO_WANTED_VERSION=0.0.1
accepts range -Dxio_DIR="$build" -DXIO_WANTED_VERSION=0.0.1...999
accepts range_that_ends_here -Dxio_DIR="$build" -DXIO_WANTED_VERSION="$minor...$version"
refuses range_before "requested version range" -Dxio_DIR="$build" -DXIO_WANTED_VERSION="0.0.1...<$version"
refuses range_before_all_of_it "requested version range" -Dxio_DIR="$build" -DXIO_WANTED_VERSION=0.0.1...0.0.2
refuses range_behind "requested version range" -Dxio_DIR="$build" -DXIO_WANTED_VERSION=999...1000

# What a subfolder must not bring: our tests, warnings and programs.
if [ -e "$work/sources/xio/tests" ] || [ -e "$work/sources/xio/bench" ]; then
  echo "FAILED: a project that uses xio as a subfolder builds our tests or programs too"
  exit 1
fi
cmake --install "$work/sources" --prefix "$work/parent" >"$work/parent.log"
if [ "$(cd "$work/parent" && find . -type f)" != ./bin/consumer ]; then
  find "$work/parent" -type f
  echo "FAILED: xio as a subfolder adds to what the project installs"
  exit 1
fi
