#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# package.sh PYTHON PROJECT WHEELS PLAYED KERNELS: installs the wheel into a fresh virtual environment, and runs package.py there. NumPy
# is the system's. KERNELS, of tests/abi/host.hip, may be empty.
set -euo pipefail

python=$1 project=$2 wheels=$3 played=$4 kernels=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -c 'import numpy' || { echo "skipped: no numpy (Debian: python3-numpy)"; exit 77; }
"$python" -m venv --system-site-packages "$work/venv" || { echo "skipped: no venv (Debian: python3-venv)"; exit 77; }
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheels"/xio-*.whl

cd "$work"
LD_LIBRARY_PATH=$played XIO_PLAYED_GPU=gfx942 XIO_PROJECT=$project XIO_KERNELS=$kernels \
  "$work/venv/bin/python" -X faulthandler -W error "$project/tests/python/package.py"
