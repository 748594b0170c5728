#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# triton.sh CMAKE BUILD PYTHON PLAYED GPU...: builds bitcode for GPUs and a wheel with it, and runs triton_sums.py with it on each GPU, which is
# played. PYTHON has triton.
set -euo pipefail

cmake=$1 build=$2 python=$3 played=$4
shift 4
here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# NVIDIA's bitcode of the oldest GPU serves newer ones.
targets=("${@/sm_*/sm_70}")
"$cmake" --build "$build" --target "${targets[@]/#/bitcode-}"
"$cmake" --build "$build" --target wheel
"$(dirname -- "$python")/pip" install --quiet --disable-pip-version-check --no-index --no-deps --target "$work/site" "$build"/wheel/xio-*.whl

cd "$work"
for gpu in "$@"; do
  PYTHONPATH=$work/site LD_LIBRARY_PATH=$played XIO_PLAYED_GPU=$gpu "$python" -X faulthandler "$here/triton_sums.py"
done
