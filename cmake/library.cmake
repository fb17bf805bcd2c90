# The library for other projects: find_package(suimon) gives suimon::suimon, pkg-config knows suimon.
# It is made of the rooms that the public headers stand on, and needs only tl::expected beside it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(suimon_library STATIC)
foreach(room base core table store)
  get_target_property(kind suimon_${room} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    # Stores on the network need sockets and TLS, which no public header offers.
    target_sources(suimon_library PRIVATE
      $<FILTER:$<TARGET_OBJECTS:suimon_${room}>,EXCLUDE,/store/redis>)
  endif()
endforeach()
add_library(suimon::suimon ALIAS suimon_library)
set_target_properties(suimon_library PROPERTIES
  OUTPUT_NAME suimon EXPORT_NAME suimon LINKER_LANGUAGE CXX)
target_compile_features(suimon_library INTERFACE cxx_std_20)
target_include_directories(suimon_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(suimon_library PUBLIC Threads::Threads tl::expected)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/suimon)
file(WRITE ${PROJECT_BINARY_DIR}/suimon-config.cmake [[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(tl-expected)
include(${CMAKE_CURRENT_LIST_DIR}/suimon-targets.cmake)
]])
write_basic_package_version_file(${PROJECT_BINARY_DIR}/suimon-config-version.cmake
  COMPATIBILITY SameMinorVersion)  # before 1.0 a minor version may change names
# Relative, so that an installed tree can be moved.
file(RELATIVE_PATH pc_includedir_from_libdir
  ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/suimon.pc.in suimon.pc @ONLY)

install(TARGETS suimon_library EXPORT suimon
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT suimon NAMESPACE suimon:: FILE suimon-targets.cmake DESTINATION ${package}
  COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/suimon-config.cmake ${PROJECT_BINARY_DIR}/suimon-config-version.cmake
  DESTINATION ${package} COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/suimon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)
install(DIRECTORY include/suimon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
if(TARGET suimon)
  install(TARGETS suimon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
