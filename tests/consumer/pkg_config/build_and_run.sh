#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the consumer with nothing but a compiler and pkg-config, and runs it.
# Usage: build_and_run.sh COMPILER PREFIX LIBDIR WORK_DIR
set -eu
compiler=$1 prefix=$2 libdir=$3 work=$4
PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH

mkdir -p "$work"
pkg-config --print-errors --exists 'rotary >= 0.1'
# Word splitting is what pkg-config's output is for.
# shellcheck disable=SC2046
"$compiler" -std=c++20 $ROTARY_CXX_FLAGS "$(dirname "$0")/../consumer.cc" -o "$work/consumer" \
  $(pkg-config --cflags --libs rotary)
LD_LIBRARY_PATH=$prefix/$libdir "$work/consumer"
