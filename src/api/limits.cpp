#include "base/limits.h"

#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t in_ms(milliseconds duration) { return duration.count(); }

}  // namespace

/// The names are those of base/limits.h in snake case, the unit last.
Result<http::Response> get_limits(const http::Request&, Services&) {
  using namespace limits;
  return json_response(200, boost::json::object{
                                {"body_bytes_default", kBodyBytesDefault},
                                {"body_bytes_ceiling", kBodyBytesCeiling},
                                {"nesting_depth_max", kNestingDepthMax},
                                {"columns_per_stream_max", kColumnsPerStreamMax},
                                {"column_name_bytes_max", kColumnNameBytesMax},
                                {"errors_reported_max", kErrorsReportedMax},
                                {"cells_per_batch_max", kCellsPerBatchMax},
                                {"failed_bytes_max", kFailedBytesMax},
                                {"failed_count_max", kFailedCountMax},
                                {"request_target_bytes_max", kRequestTargetBytesMax},
                                {"header_bytes_max", kHeaderBytesMax},
                                {"control_body_bytes_max", kControlBodyBytesMax},
                                {"connections_max", kConnectionsMax},
                                {"body_bytes_held_max", kBodyBytesHeldMax},
                                {"event_subscribers_max", kEventSubscribersMax},
                                {"header_deadline_ms", in_ms(kHeaderDeadline)},
                                {"body_deadline_ms", in_ms(kBodyDeadline)},
                                {"idle_deadline_ms", in_ms(kIdleDeadline)},
                                {"write_deadline_ms", in_ms(kWriteDeadline)},
                                {"sql_bytes_max", kSqlBytesMax},
                                {"query_rows_default", kQueryRowsDefault},
                                {"query_rows_ceiling", kQueryRowsCeiling},
                                {"query_timeout_default_ms", in_ms(kQueryTimeoutDefault)},
                                {"query_timeout_ceiling_ms", in_ms(kQueryTimeoutCeiling)},
                                {"first_view_wait_ms", in_ms(kFirstViewWait)},
                                {"files_counted_at_start", kFilesCountedAtStart},
                                {"free_bytes_reserve_min", kFreeBytesReserveMin},
                                {"free_bytes_reserve_max", kFreeBytesReserveMax},
                            });
}

}  // namespace strata::api
