#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slower checks, one stage after another; ends with the time of each and the test runner's own counts.
# Usage: scripts/check_all.sh [stage ...]      stages: format instructions python shared clang tsan arm asan-ubsan
set -euo pipefail
cd "$(dirname "$0")/.."

stages=("$@")
[[ ${#stages[@]} -gt 0 ]] || stages=(format instructions python shared clang tsan arm asan-ubsan)
summary=build/check-all-summary.txt
mkdir -p build
: >"$summary"

# What people wrote; generated tables keep the shape they were generated in.
check_format() {
  git ls-files -- '*.hpp' '*.h' '*.cc' | xargs clang-format --dry-run --Werror
  echo "Every source file is formatted."
}

# The speed, without the noise of a clock.
check_instructions() {
  cmake --preset check
  cmake --build --preset check --target counted
  scripts/check_instructions.py build/check/tests/counted
}

build_and_test() {
  cmake --preset "$1"
  cmake --build --preset "$1"
  ctest --preset "$1"
}

test_arm() {
  scripts/arm_libraries.sh
  cmake --preset arm
  cmake --build --preset arm
  scripts/test_arm.sh
}

for stage in "${stages[@]}"; do
  echo
  echo "== $stage"
  began=$SECONDS
  log=build/check-all-$stage.log
  case $stage in
    format) check_format ;;
    instructions) check_instructions ;;
    python) scripts/check_python.sh torch ;;
    arm) test_arm ;;
    *) build_and_test "$stage" ;;
  esac 2>&1 | tee "$log"
  result=$(grep -E 'tests passed|is formatted|counts hold|[0-9]+ (passed|skipped)' "$log" | tail -1)
  printf '%-12s %4d s   %s\n' "$stage" $((SECONDS - began)) "$result" >>"$summary"
done

echo
cat "$summary"
