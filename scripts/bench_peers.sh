#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# This library beside the rotations of other packages: makes the environments, runs bench/peers.py in each with one and
# two threads, and writes docs/bench-peers.md and its picture. Wants an otherwise idle machine for five minutes or so;
# the first time several GB of packages come before that, and PyTorch compiles its share.
# Usage: scripts/bench_peers.sh [--quick]
#   --quick                          fewer cases and rounds; prints the tables and leaves the page alone
#   ROTARY_PEERS_ENVIRONMENTS=DIR    where the environments `main` and `ipex` lie (build/peers/environments)
#   ROTARY_PEERS_LLAMA=0             does not compile llama-cpp-python for its ggml, which takes ten minutes once
set -euo pipefail
cd "$(dirname "$0")/.."

quick=()
[[ ${1:-} != --quick ]] || quick=(--quick)
places=${ROTARY_PEERS_ENVIRONMENTS:-build/peers/environments}
mkdir -p build/peers "$places"
places=$(cd "$places" && pwd)

# install NAME REQUIREMENTS [OPTION]: what cannot be had is left out, and the page says so.
install() {
  local place=$places/$1 file=$2
  shift 2
  [[ -e $place/bin/python ]] || python3 -m venv "$place"
  cmp -s "$file" "$place/$(basename "$file")" && return
  "$place/bin/pip" install --quiet --disable-pip-version-check "$@" --requirement "$file" ||
    grep -v '^#' "$file" | while read -r line; do
      "$place/bin/pip" install --quiet --disable-pip-version-check "$@" "$line" || echo "$line: not installed" >&2
    done
  cp "$file" "$place/$(basename "$file")"
}

install main bench/requirements.txt
install main bench/requirements-alone.txt --no-deps
install ipex bench/requirements-ipex.txt
main=$places/main/bin/python ipex=$places/ipex/bin/python
# PyPI has the source of llama-cpp-python alone; without it ggml is that of libggml-python.
if [[ ${ROTARY_PEERS_LLAMA:-1} == 1 ]] && ! "$main" -m pip show --quiet llama-cpp-python 2>/dev/null; then
  CMAKE_ARGS="-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_TESTS=OFF" "$main" -m pip install --quiet \
    --disable-pip-version-check --no-deps --config-settings="build.targets=llama;ggml;ggml-base;ggml-cpu;llama-common" \
    llama-cpp-python || echo "llama-cpp-python: not installed" >&2
fi

# The package and the functions of `rotary bench`, in one build.
"$main" -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4"
rm -rf build/peers/wheel
PATH="$places/main/bin:$PATH" "$main" -m pip wheel --quiet --disable-pip-version-check \
  --no-build-isolation --no-deps --config-settings=build-dir=build/peers/cmake \
  --config-settings=cmake.define.ROTARY_TOOL=ON --config-settings=cmake.define.ROTARY_BENCH=ON \
  --config-settings="build.targets=rotary_python;rotary_python_stub;rotary_bench_library" --wheel-dir build/peers/wheel .
"$main" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/peers/wheel/*.whl

export ROTARY_BENCH_LIBRARY=$PWD/build/peers/cmake/bench/librotary_bench.so
export TORCHINDUCTOR_CACHE_DIR=$places/inductor TORCHINDUCTOR_COMPILE_THREADS=1
# glibc keeps what is freed: the peers' new tensors cost them no page faults.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=10000000000 MALLOC_TOP_PAD_=67108864
runs=()
for threads in 1 2; do
  for environment in main ipex; do
    out=build/peers/$environment-$threads.json
    "${!environment}" bench/peers.py run "${quick[@]}" --threads $threads --environment $environment --out "$out"
    runs+=("$out")
  done
done
if [[ ${#quick[@]} -gt 0 ]]; then
  "$main" bench/peers.py table "${runs[@]}"
else
  "$main" bench/peers.py page "${runs[@]}" --page docs/bench-peers.md --chart docs/bench-peers.svg
fi
