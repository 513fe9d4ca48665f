# What every target of this project has in common.

# Warnings, and no contraction: g++ fuses a*b + c by default, and the bits must not depend on the target.
add_library(rotary_common INTERFACE)
target_compile_features(rotary_common INTERFACE cxx_std_20)
target_compile_options(rotary_common INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
  -ffp-contract=off
  $<$<BOOL:${ROTARY_WERROR}>:-Werror>)
