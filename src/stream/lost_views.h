#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "kb/knowledgebases.h"

namespace strata::stream {

/// Takes the views of streams that are no more out of the newest generation, all of them in one
/// generation; the kb lock is taken, for `drop`, only if there is such a view. `gone` tells of a
/// stream's id; it is asked again under the lock, because a stream may be made anew meanwhile.
Result<void> drop_lost_views(kb::Knowledgebase& knowledgebase,
                             const std::function<Result<bool>(const std::string& id)>& gone);

}  // namespace strata::stream
