#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/services.h"
#include "base/error.h"

namespace strata::api {

/// The streams a statement may read, and what they held before it ran. One request's; not shared.
class QueryStreams {
 public:
  /// Looks for the names of the kb's views in `sql`: finds at least every stream this process has
  /// open that the statement reads.
  QueryStreams(const std::string& sql, kb::Knowledgebase& knowledgebase, Services& services);

  /// Ready is a level: who finds a view not known to be ready asks for it too. Waits for it a
  /// little. Nothing is asked for where nothing has landed.
  void see_to_views();

  /// What to do about `missing`, the table that no generation has (`schema.name`, or nothing when
  /// that is not known). No error: its view came up meanwhile, run the statement again; no table
  /// gets that twice. Otherwise kViewDeferred where nothing has landed, kBusy where the view could
  /// not be made, or `unknown` with the nearest table's name.
  Result<void> see_to_missing(const Error& unknown, const std::string& missing);

  /// What to answer instead of `refused`, which led outside the kb (duck::leads_outside): kBusy
  /// where a view is not made again yet in a folder that was moved.
  Error see_to_stale(Error refused) const;

  /// A query failed: where it names a file of these streams, their receivers show it.
  void note(const Error& failure);

  /// The batches that the streams among `tables` held before the statement ran, so that what is
  /// counted here was there to be read.
  stream::Totals held(const std::vector<std::string>& tables) const;

 private:
  Result<void> bring_up_missing(stream::Stream& stream, const std::string& missing);

  kb::Knowledgebase& knowledgebase_;
  Services& services_;
  std::vector<stream::Stream*> named_;
  std::map<std::string, stream::Totals> held_;  // by table
  std::set<std::string> seen_to_;               // missing tables whose views came up
};

}  // namespace strata::api
