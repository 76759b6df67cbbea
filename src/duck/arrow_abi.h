#pragma once

#include <cstdint>

/// The two structures of Arrow's C data interface that DuckDB's C API declares and leaves to its
/// users to define. Layout and names are the specification's
/// (https://arrow.apache.org/docs/format/CDataInterface.html).
extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

namespace strata::duck {

/// Owns what the engine filled in; released as the specification wants it.
template <typename Structure>
class OwnedArrow {
 public:
  OwnedArrow() = default;
  OwnedArrow(const OwnedArrow&) = delete;
  OwnedArrow& operator=(const OwnedArrow&) = delete;
  ~OwnedArrow() {
    if (structure_.release != nullptr) structure_.release(&structure_);
  }
  Structure* get() { return &structure_; }
  const Structure& operator*() const { return structure_; }

 private:
  Structure structure_{};
};

}  // namespace strata::duck
