#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on real input: explain a model's rotary embedding, rotate q and k recorded from it, compare with what
# the model itself computed, and show the time. Usage: scripts/demo.sh BUILD_DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
model=tests/data/gemma3_270m_config.json
out=$build/rotated
mkdir -p "$out"

title() { printf '\n== %s\n' "$*"; }
rotary() { printf '$ rotary %s\n' "$*"; "$build/tools/rotary/rotary" "$@"; }

title "What Gemma 3 270M says about its rotary embedding"
rotary explain "$model"

title "Rotating q and k that were recorded inside Gemma 3 270M, just before its own rotation"
for layer in "7 local" "11 global"; do
  read -r number name <<<"$layer"
  recording=tests/data/gemma3_270m_$name.safetensors
  # The model computed its angles in fp32: with that policy the results agree to a few roundings. The exact angles
  # differ from it by the model's own error, at most 2,322 positions * 2^-24 (its frequencies) + 2^-13 (its products).
  for policy in fp32 exact; do
    rotary apply "$model" --layer "$number" --layout bhtd --angles "$policy" \
      --in "$recording" --out "$out/$name.$policy.safetensors"
    bound=1e-6
    [[ $policy == exact ]] && bound=3e-4
    echo "Against what the model computed in its $name layer $number, angles $policy:"
    "$build/examples/demo/demo_compare" "$recording" "$out/$name.$policy.safetensors" "$bound"
  done
done

title "Time, against one pass over the same memory"
"$build/examples/demo/demo_speed" "$model"
