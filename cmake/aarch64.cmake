# SPDX-License-Identifier: Apache-2.0
# Builds for Arm of 64 bits with Debian's cross compiler; what is built runs under qemu's user-mode emulation, on the
# processor that QEMU_CPU names. scripts/arm_libraries.sh unpacks the libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

cmake_path(SET arm_libraries NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/arm-libraries")
set(CMAKE_FIND_ROOT_PATH "${arm_libraries}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# MPFR and GMP have no CMake package: their names go to the compiler as they are.
set(CMAKE_CXX_FLAGS_INIT
    "-isystem ${arm_libraries}/usr/include -isystem ${arm_libraries}/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${arm_libraries}/usr/lib/aarch64-linux-gnu -Wl,-rpath,${arm_libraries}/usr/lib/aarch64-linux-gnu")
