#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what `cmake --build --preset arm` built, under qemu, on a processor for each SIMD target that Highway knows of
# Arm: one without SVE, and SVE2 with vectors of 128, 256 and 512 bits. What no target changes runs on the first alone.
set -euo pipefail
cd "$(dirname "$0")/../build/arm/tests"

sve=max,sve-default-vector-length
of_targets="-Definition.*:ScalarRows.*:*/reference"
runs=(
  "cortex-a72 unit_kernels *"
  "cortex-a72 unit_angles *"
  "cortex-a72 property *"
  "$sve=16 unit_kernels $of_targets"
  "$sve=32 unit_kernels $of_targets"
  "$sve=64 unit_kernels $of_targets"
  "$sve=32 unit_angles Exact.*:Policies.*:Runs.*"
  "$sve=64 property Kernels.*:Memory.*"
)

logs=$(mktemp -d)
trap 'rm -r "$logs"' EXIT

run() {
  read -r cpu test filter <<<"$1"
  local log=$logs/$cpu-$test
  RC_PARAMS=max_success=50 QEMU_CPU=$cpu qemu-aarch64 -L /usr/aarch64-linux-gnu "./$test" --gtest_brief=1 \
    --gtest_filter="$filter" >"$log" 2>&1 || { cat "$log"; return 1; }
  printf '%-36s %-12s %s\n' "$cpu" "$test" "$(tail -1 "$log")"
}
export -f run
export logs
printf '%s\0' "${runs[@]}" | xargs -0 -n 1 -P "${CTEST_PARALLEL_LEVEL:-$(nproc)}" bash -euo pipefail -c 'run "$1"' run

grep -h '^\[  PASSED  \]' "$logs"/* | awk '{sum += $4} END {print sum " tests passed on emulated processors"}'
