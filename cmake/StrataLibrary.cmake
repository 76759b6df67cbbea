# strata_library(<name> SOURCES ... [TESTS ...] [DEPENDS <modules>] [LINK <libraries>] [TEST_LINK ...])
# One folder under src/ = one library = one namespace. TESTS become one test program, <name>_test.
find_program(STRATA_CCACHE ccache)
if(STRATA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STRATA_CCACHE})
endif()

add_library(strata_warnings INTERFACE)
target_compile_options(strata_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror=unused-result
  # Designated initialisers leave the rest at its default on purpose.
  -Wno-missing-field-initializers)
if(STRATA_WERROR)
  target_compile_options(strata_warnings INTERFACE -Werror)
endif()

function(strata_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;DEPENDS;LINK;TEST_LINK" ${ARGN})
  add_library(strata_${name} STATIC ${ARG_SOURCES})
  target_include_directories(strata_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND strata_)
  target_link_libraries(strata_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINK} PRIVATE strata_warnings)
  if(STRATA_TESTS AND ARG_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE strata_${name} ${ARG_TEST_LINK} strata_warnings
                          GTest::gtest GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 300 LABELS ${name})
  endif()
endfunction()
