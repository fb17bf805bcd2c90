# Warnings are errors in our own code; ccache and mold are used where they are installed.
add_library(suimon_warnings INTERFACE)
target_compile_options(suimon_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  # libstdc++'s own std::stable_sort uses what it marks deprecated, and clang blames its caller.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # GCC 12 sees an overlap in its own std::string where there is none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(SUIMON_SANITIZE)
  # Without vptr: that check opens a pipe to look at memory, and some tests leave no descriptor for it.
  add_compile_options(-fsanitize=${SUIMON_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SUIMON_SANITIZE})
endif()

# What is resolved at start is read-only afterwards.
add_link_options(-Wl,-z,relro,-z,now)

# Paths are kept relative in the cache, so that another checkout or build folder finds what one compiled.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
