#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# unavailable.sh REASON: stands in for a test that cannot run here.
printf 'skipped: %s\n' "$*"
exit 77
