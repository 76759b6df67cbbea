#pragma once

#include <boost/json.hpp>

#include "rig_stream.h"

namespace strata::crash {

/// `{"batches": [[id, content_sha256, file_sha256], ...], "broken": [...]}`
boost::json::object survey_json(const Survey& survey);

}  // namespace strata::crash
