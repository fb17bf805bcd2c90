# cmake --build --preset release --target tidy: clang-tidy over our own sources, tests aside, by the
# rules of .clang-tidy. Minutes; scripts/test full runs it.
find_program(CLANG_TIDY clang-tidy-19)
find_program(RUN_CLANG_TIDY run-clang-tidy-19)
if(CLANG_TIDY AND RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -clang-tidy-binary ${CLANG_TIDY} -p ${PROJECT_BINARY_DIR} -quiet
      -extra-arg=-Wno-unknown-warning-option "^${PROJECT_SOURCE_DIR}/(suimon|apps)/"
    COMMENT "clang-tidy" VERBATIM USES_TERMINAL)
endif()
