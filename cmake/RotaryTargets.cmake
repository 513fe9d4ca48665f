# What every target of this project has in common.

# Warnings, and no contraction: g++ fuses a*b + c by default, and the bits must not depend on the target.
add_library(rotary_common INTERFACE)
target_compile_features(rotary_common INTERFACE cxx_std_20)
target_compile_options(rotary_common INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
  -ffp-contract=off
  $<$<BOOL:${ROTARY_WERROR}>:-Werror>)

# Tests and the command spend their time in the library: that they compile fast is worth more than how they run.
add_library(rotary_quick_build INTERFACE)
target_compile_options(rotary_quick_build INTERFACE $<$<CONFIG:Release>:-O1>)

# A second build of the same sources is quick where ccache is installed.
find_program(ROTARY_CCACHE ccache)
mark_as_advanced(ROTARY_CCACHE)
if(PROJECT_IS_TOP_LEVEL AND ROTARY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ROTARY_CCACHE}")
endif()
