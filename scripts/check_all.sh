#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slower checks, one stage after another; ends with the time of each and the test runner's own counts.
# Usage: scripts/check_all.sh [stage ...]      stages: format shared tsan fuzz asan-ubsan clang
set -euo pipefail
cd "$(dirname "$0")/.."

stages=("$@")
[[ ${#stages[@]} -gt 0 ]] || stages=(format shared tsan fuzz asan-ubsan clang)
summary=build/check-all-summary.txt
mkdir -p build
: >"$summary"

export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS=detect_stack_use_after_return=1

# What people wrote; generated tables keep the shape they were generated in.
check_format() {
  git ls-files -- '*.hpp' '*.h' '*.cc' | xargs clang-format --dry-run --Werror
  echo "Every source file is formatted."
}

build_and_test() {
  cmake --preset "$1"
  cmake --build --preset "$1"
  ctest --preset "$1"
}

# Each fuzz target starts from a copy of its corpus: what it finds is not written into the repository.
run_fuzzers() {
  cmake --preset fuzz
  cmake --build --preset fuzz
  local target corpus count=0
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    [[ -f $target && -x $target ]] || continue
    corpus=build/fuzz/corpus/$(basename "$target")
    rm -rf "$corpus" && mkdir -p "$corpus"
    "$target" -max_total_time="${ROTARY_FUZZ_SECONDS:-10}" -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
      -artifact_prefix=build/fuzz/ "$corpus" "tests/fuzz/corpus/$(basename "$target")"
    count=$((count + 1))
  done
  [[ $count -gt 0 ]] || { echo "no fuzz target was built" >&2; return 1; }
  echo "$count fuzz targets ran without a finding."
}

for stage in "${stages[@]}"; do
  echo
  echo "== $stage"
  began=$SECONDS
  log=build/check-all-$stage.log
  case $stage in
    format) check_format ;;
    fuzz) run_fuzzers ;;
    *) build_and_test "$stage" ;;
  esac 2>&1 | tee "$log"
  result=$(grep -E 'tests passed|ran without a finding|is formatted' "$log" | tail -1)
  printf '%-11s %4d s   %s\n' "$stage" $((SECONDS - began)) "$result" >>"$summary"
done

echo
cat "$summary"
