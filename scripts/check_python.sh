#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package: built by pip into an environment of its own under build/, its types checked, its tests run.
# Usage: scripts/check_python.sh
set -euo pipefail
cd "$(dirname "$0")/.."

environment=build/python/venv
mkdir -p build/python
# Other requirements are another environment.
wanted=$(cat python/tests/requirements.txt <(python3 --version) | sha256sum)
if [[ $(cat "$environment/wanted" 2>/dev/null) != "$wanted" ]]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement python/tests/requirements.txt
  echo "$wanted" >"$environment/wanted"
fi

# The build tree is kept, so that the next build is a small one; ccache is found by CMake.
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir=build/python/cmake .
"$environment/bin/mypy" --no-error-summary --cache-dir build/python/mypy --package rotary
"$environment/bin/mypy" --cache-dir build/python/mypy python/tests/*.py
"$environment/bin/pytest" --quiet python/tests "$@"
