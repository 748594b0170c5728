#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# skip_table.sh XIO-GOLDEN DOCUMENT: the document holds the replayer's skip table, line by line, and no other rows.
set -euo pipefail

diff <("$1" --list-skips) <(grep '^|' "$2")
