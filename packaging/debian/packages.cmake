# Two packages for Debian: suimon, the program with its service, and libsuimon-dev, the library.
# scripts/package builds them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(SUIMON_MAINTAINER "The suimon authors <suimon@example.org>" CACHE STRING
  "Who answers for the packages; whoever gives them away puts his own name here")
set(CPACK_PACKAGE_CONTACT "${SUIMON_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # the policy goes to /etc
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME suimon)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "exact rate limiter: daemon and workbench
suimon decides which requests of a client pass and which come too fast, in
exact integers: a limit with capacity C and refill rate R admits at most
C + R*t tokens in every window of length t, and refuses only when the tokens
are not there. It answers over HTTP, to programs and to reverse proxies such
as nginx, and tries a policy on yesterday's access log before it refuses
anybody.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_LIST_DIR}/conffiles;${CMAKE_CURRENT_LIST_DIR}/postinst;${CMAKE_CURRENT_LIST_DIR}/prerm;${CMAKE_CURRENT_LIST_DIR}/postrm")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libsuimon-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "exact rate limiter: C++20 library
An exact token bucket for one object, and a limiter for millions of keys in
one process, without a lock. This package holds the headers, the static
library, and what CMake and pkg-config need to find them.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libexpected-dev)

# CPack strips programs only; the library's debugging information names folders of who built it.
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsuimon.a\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT library)

# Debian's habits: compressed manual pages and changelog, the copyright beside it.
function(compressed file destination component)
  get_filename_component(name ${file} NAME)
  set(packed ${CMAKE_CURRENT_BINARY_DIR}/${component}/${name}.gz)
  install(FILES ${packed} DESTINATION ${destination} COMPONENT ${component})
  set_property(GLOBAL APPEND PROPERTY suimon_packed ${packed})
  add_custom_command(OUTPUT ${packed} DEPENDS ${file} VERBATIM
    COMMAND sh -c "gzip -9n <\"$1\" >\"$2\"" gzip ${file} ${packed})
endfunction()
foreach(package "suimon program" "libsuimon-dev library")
  separate_arguments(package)
  list(GET package 0 name)
  list(GET package 1 component)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${doc} COMPONENT ${component})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog ${component}/changelog.Debian @ONLY)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${component})
  compressed(${CMAKE_CURRENT_BINARY_DIR}/${component}/changelog.Debian ${doc} ${component})
endforeach()
get_property(packed GLOBAL PROPERTY suimon_packed)
set(man_gz ${CMAKE_CURRENT_BINARY_DIR}/man-gz/man1)
add_custom_command(OUTPUT ${man_gz}/suimon.1.gz DEPENDS ${man}/suimon.1 VERBATIM
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${man_gz}
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${man} ${man_gz}
  COMMAND sh -c "gzip -9n \"$0\"/*.1" ${man_gz})
install(DIRECTORY ${man_gz} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
add_custom_target(packed ALL DEPENDS ${packed} ${man_gz}/suimon.1.gz)

include(CPack)
