#include "api/operations.h"

#include "api/operation_table.h"

namespace strata::api {

std::span<const Operation> operations() { return operation_table::kRows; }

}  // namespace strata::api
