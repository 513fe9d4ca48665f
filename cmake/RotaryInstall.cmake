# Install rules: `cmake --install build --prefix …`, then find_package(rotary) or pkg-config rotary.
# Components: library (what a program needs to run), development (headers, CMake and pkg-config files), tool.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rotary")

install(TARGETS rotary EXPORT rotary
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT library
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILE_SET adapters DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(EXPORT rotary NAMESPACE rotary:: FILE rotary-targets.cmake
  DESTINATION "${cmake_dir}" COMPONENT development)

# A static library's users link Highway themselves; a shared one brings it along.
get_target_property(rotary_type rotary TYPE)
if(rotary_type STREQUAL "STATIC_LIBRARY")
  set(rotary_find_dependencies "find_dependency(hwy 1.0.3)")
  set(rotary_pc_requires "libhwy >= 1.0.3")
endif()

# find_package(rotary 0.1): an 0.2 may change anything, an 0.1.7 nothing.
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/rotary-config.cmake.in"
  "${PROJECT_BINARY_DIR}/rotary-config.cmake" INSTALL_DESTINATION "${cmake_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rotary-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/rotary-config.cmake" "${PROJECT_BINARY_DIR}/rotary-config-version.cmake"
  DESTINATION "${cmake_dir}" COMPONENT development)

# Directories in rotary.pc are relative to the file itself, so that an installed tree may be moved; only a
# directory that was configured as absolute stays so.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR absolute)
if(absolute)
  set(rotary_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(rotary_pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  set(rotary_pc_${dir} "\${prefix}")
  cmake_path(APPEND rotary_pc_${dir} "${CMAKE_INSTALL_${dir}}")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/rotary.pc.in" "${PROJECT_BINARY_DIR}/rotary.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rotary.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)

if(TARGET rotary_cli)
  # The installed command finds a shared library beside it.
  cmake_path(IS_ABSOLUTE CMAKE_INSTALL_BINDIR absolute)
  if(rotary_type STREQUAL "SHARED_LIBRARY" AND NOT absolute)
    file(RELATIVE_PATH from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(rotary_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
  endif()
  install(TARGETS rotary_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tool)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)
