#pragma once

#include <vector>

#include "api/services.h"
#include "base/error.h"
#include "catalog/catalog.h"

namespace strata::api {

/// A manifest row as it is now. The catalog's row is only an index: what a stream says of itself
/// stands in its place.
struct Table {
  catalog::ManifestRow row;
  stream::Stream* stream = nullptr;  // whose view it is; null: no stream's
};

/// Every table of the kb, whatever its source, by its name.
Result<std::vector<Table>> tables_of(kb::Knowledgebase& knowledgebase, Services& services);

}  // namespace strata::api
