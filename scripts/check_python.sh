#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package: built by pip into an environment of its own under build/, its types checked, its tests run.
# Usage: scripts/check_python.sh [numpy|torch] [pytest argument ...]
#   numpy   what `make check` runs: NumPy, ml_dtypes, nothing heavy
#   torch   PyTorch and Transformers too, several GB. Where they cannot be installed the tests say so and are skipped;
#           with ROTARY_HEAVY=required (continuous integration) they fail. ROTARY_HEAVY_SITE=DIRECTORY takes the heavy
#           packages from another environment's site-packages.
set -euo pipefail
cd "$(dirname "$0")/.."

tier=numpy
if [[ ${1:-} == numpy || ${1:-} == torch ]]; then
  tier=$1
  shift
fi
mkdir -p build/python

# environment NAME REQUIREMENTS...: made where it is missing, or was made for other requirements.
environment() {
  local place=build/python/$1 wanted
  shift
  wanted=$(cat "$@" <(python3 --version) | sha256sum)
  [[ $(cat "$place/wanted" 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf "$place"
  python3 -m venv "$place"
  local arguments=()
  for file in "$@"; do arguments+=(--requirement "$file"); done
  "$place/bin/pip" install --quiet --disable-pip-version-check "${arguments[@]}" || return 1
  echo "$wanted" >"$place/wanted"
}

base=python/tests/requirements.txt heavy=python/tests/with_torch/requirements.txt
environment base "$base"
# The build tree is kept, so that the next build is a small one; ccache is found by CMake and, since the compiler has the
# name it has there, gives the library's objects of the preset `check`.
rm -rf build/python/wheel
CXX=${CXX:-c++} build/python/base/bin/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir=build/wheel --config-settings=cmake.define.ROTARY_WERROR=ON --wheel-dir build/python/wheel .

if [[ $tier == numpy ]]; then
  place=build/python/base tests=(python/tests bench --ignore=python/tests/with_torch) types=(python/tests/*.py)
else
  place=build/python/heavy tests=(python/tests/with_torch python/tests/test_docs.py) types=(python/tests/with_torch/*.py)
  if [[ -n ${ROTARY_HEAVY_SITE:-} ]]; then
    environment heavy "$base"
    echo "$ROTARY_HEAVY_SITE" >"$place/lib/$(ls "$place/lib")/site-packages/heavy.pth"
  elif ! environment heavy "$base" "$heavy"; then
    echo "The packages of $heavy could not be installed." >&2
    [[ ${ROTARY_HEAVY:-} != required ]] || exit 1
    environment heavy "$base"
  fi
fi
"$place/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall build/python/wheel/*.whl

if [[ $tier == numpy ]]; then
  package=(--module rotary)
  for file in python/rotary/_*[a-z].py; do package+=(--module "rotary.$(basename "$file" .py)"); done
else
  package=(--package rotary)
fi
if [[ $tier == numpy ]] || "$place/bin/python" -c 'import torch' 2>/dev/null; then
  "$place/bin/mypy" --cache-dir "build/python/mypy-$tier" "${package[@]}"
  "$place/bin/mypy" --cache-dir "build/python/mypy-$tier" "${types[@]}"
fi
"$place/bin/pytest" --quiet "${tests[@]}" "$@"
