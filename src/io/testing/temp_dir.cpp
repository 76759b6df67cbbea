#include "io/testing/temp_dir.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace strata::io {

TempDir::TempDir() : TempDir(std::filesystem::temp_directory_path().string()) {}

TempDir::TempDir(const std::string& parent) : path_(parent + "/strata-test-XXXXXX") {
  STRATA_CHECK(::mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code left_behind;  // a leftover in the temp folder fails no test
  std::filesystem::remove_all(path_, left_behind);
}

}  // namespace strata::io
