#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# triton.sh build CMAKE BUILD GPU...: builds bitcode for GPUs, and a wheel with it.
# triton.sh run PYTHON PROJECT WHEELS PLAYED GPU WARPS N PROGRAMS: runs triton_sums.py by the wheel, on a GPU that is played. PYTHON has
# triton.
set -euo pipefail

if [ "$1" = build ]; then
  cmake=$2 build=$3
  shift 3
  # NVIDIA's bitcode of the oldest GPU serves newer ones.
  targets=("${@/sm_*/sm_70}")
  "$cmake" --build "$build" --target "${targets[@]/#/bitcode-}"
  exec "$cmake" --build "$build" --target wheel
fi

python=$2 project=$3 wheels=$4 played=$5 gpu=$6
shift 6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname -- "$python")/pip" install --quiet --disable-pip-version-check --no-index --no-deps --target "$work/site" "$wheels"/xio-*.whl
cd "$work"
PYTHONPATH=$work/site LD_LIBRARY_PATH=$played XIO_PLAYED_GPU=$gpu TRITON_DEFAULT_FP_FUSION=1 PYTHONDONTWRITEBYTECODE=1 \
  "$python" -X faulthandler "$project/tests/python/triton_sums.py" "$project/examples/python" "$@"
