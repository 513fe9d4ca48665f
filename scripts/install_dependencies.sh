#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs from Debian what one of three sets of work needs, and only what is missing.
# Usage: scripts/install_dependencies.sh build|check|check-all
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libhwy-dev nlohmann-json3-dev libcli11-dev)
check_packages=(libgtest-dev librapidcheck-dev libmpfr-dev libtbb-dev python3-dev python3-venv ccache)
check_all_packages=(clang libclang-rt-14-dev clang-format g++-aarch64-linux-gnu qemu-user valgrind)

case "${1:-}" in
  build) ;;
  check) packages+=("${check_packages[@]}") ;;
  check-all) packages+=("${check_packages[@]}" "${check_all_packages[@]}") ;;
  *) echo "usage: $0 build|check|check-all" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "Not a Debian system: nothing installed. What the build expects, by Debian's names: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "All ${#packages[@]} packages are installed."
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing packages: ${missing[*]}. Run this as root, or install sudo." >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet)
"${apt[@]}" update
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" </dev/null
