#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the libraries that the Arm build links into build/arm-libraries. Debian's packages, from the mirror that this
# machine uses; apt keeps its lists beside them, so neither the machine's architectures nor its packages change, and
# nobody has to be root.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(libhwy-dev libhwy1 libgtest-dev librapidcheck-dev libmpfr-dev libgmp-dev nlohmann-json3-dev)
to=build/arm-libraries

wanted="${packages[*]}"
if [[ -f $to/packages.txt && $(<"$to/packages.txt") == "$wanted" ]]; then
  echo "The libraries for Arm are unpacked."
  exit 0
fi

rm -rf "$to"
mkdir -p "$to"/apt/{lists,cache/archives}/partial
apt=(apt-get --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User="$(id -un)"
     -o Dir::State::Lists="$PWD/$to/apt/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$PWD/$to/apt/cache"
     -o Acquire::Languages=none)
"${apt[@]}" update
(cd "$to/apt" && "${apt[@]}" download "${packages[@]}")
for package in "$to"/apt/*.deb; do dpkg-deb --extract "$package" "$to"; done
rm -r "$to/apt"
echo "$wanted" >"$to/packages.txt"
