# The shared library comes from one npm package, the C header from another (docs/DEPENDENCIES.md);
# scripts/setup puts both below deps/node_modules.
set(STRATA_DEPS ${PROJECT_SOURCE_DIR}/deps/node_modules CACHE PATH "Where set-up put the npm packages")
set(STRATA_DUCKDB_PACKAGE ${STRATA_DEPS}/@duckdb/node-bindings-linux-x64)
set(STRATA_DUCKDB_LIBRARY ${STRATA_DUCKDB_PACKAGE}/libduckdb.so)
set(STRATA_DUCKDB_INCLUDE ${STRATA_DEPS}/duckdb/src/duckdb/src/include)

if(NOT EXISTS ${STRATA_DUCKDB_LIBRARY} OR NOT EXISTS ${STRATA_DUCKDB_INCLUDE}/duckdb.h)
  message(FATAL_ERROR "DuckDB is missing below deps/node_modules: run `make build`, which fetches it.")
endif()

file(READ ${STRATA_DUCKDB_PACKAGE}/package.json STRATA_DUCKDB_JSON)
string(JSON STRATA_DUCKDB_VERSION GET ${STRATA_DUCKDB_JSON} version)
if(STRATA_DUCKDB_VERSION VERSION_LESS 1.5)
  message(FATAL_ERROR "DuckDB ${STRATA_DUCKDB_VERSION} is too old: Strata needs 1.5 or newer, because "
                      "before it a view fails as soon as a batch adds a column.")
endif()

# A program finds the library beside itself too, so that the two can be copied elsewhere together.
file(CREATE_LINK ${STRATA_DUCKDB_LIBRARY} ${CMAKE_BINARY_DIR}/libduckdb.so SYMBOLIC)
list(APPEND CMAKE_BUILD_RPATH "$ORIGIN")

add_library(duckdb SHARED IMPORTED)
set_target_properties(duckdb PROPERTIES
  IMPORTED_LOCATION ${STRATA_DUCKDB_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${STRATA_DUCKDB_INCLUDE})
