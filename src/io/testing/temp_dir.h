#pragma once

#include <string>

namespace strata::io {

/// A fresh folder on the real disk, below the system's temp folder or `parent`; removed with all
/// that is in it.
class TempDir {
 public:
  TempDir();
  explicit TempDir(const std::string& parent);
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace strata::io
