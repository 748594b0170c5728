#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD SOURCES WORKDIR CXX VERSION [HIP-COMMAND...]: a user's project finds xio in an install tree, in the build
# tree and as a subfolder; the package refuses what it does not have.
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
uses() {
  local name=$1
  if ! { configure "$@" && cmake --build "$work/$name" >>"$work/$name.log" 2>&1 && "$work/$name/consumer"; }; then
    cat "$work/$name.log"
    echo "FAILED: $name"
    exit 1
  fi
  echo "ok: $name"
}
refuses() {
  local name=$1 message=$2
  shift 2
  if configure "$name" "$@" || ! grep -q "$message" "$work/$name.log"; then
    cat "$work/$name.log"
    echo "FAILED: $name: expected a refusal with \"$message\""
    exit 1
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

# What a subfolder must not bring: our tests, warnings and programs.
if [ -e "$work/sources/xio/tests" ] || [ -e "$work/sources/xio/bench" ]; then
  echo "FAILED: a project that uses xio as a subfolder builds our tests or programs too"
  exit 1
fi
