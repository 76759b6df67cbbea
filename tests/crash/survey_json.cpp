#include "survey_json.h"

namespace strata::crash {

boost::json::object survey_json(const Survey& survey) {
  boost::json::array batches;
  for (const Survey::Batch& batch : survey.batches) {
    batches.push_back(boost::json::array{batch.id, batch.content_sha256, batch.file_sha256});
  }
  boost::json::array broken;
  for (const std::string& sentence : survey.broken) broken.emplace_back(sentence);
  return {{"batches", std::move(batches)}, {"broken", std::move(broken)}};
}

}  // namespace strata::crash
