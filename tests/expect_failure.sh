#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# expect_failure.sh PROGRAM [ARGUMENT...]: succeeds when the program fails by its own decision: exit status 1 or 2 and a
# message on standard error. Success, a signal, a skip and a silent failure are all refused.
set -uo pipefail

message=$("$@" 2>&1 >/dev/null)
status=$?
printf '%s\n(exit status %d)\n' "$message" "$status"
if [ "$status" -eq 77 ]; then exit 77; fi
if [ "$status" -ne 1 ] && [ "$status" -ne 2 ]; then
  echo "expected exit status 1 or 2"
  exit 1
fi
if [ -z "$message" ]; then
  echo "expected a message on standard error"
  exit 1
fi
