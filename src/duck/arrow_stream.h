#pragma once

#include <duckdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/answer_writer.h"
#include "duck/handles.h"
#include "duck/render.h"

namespace strata::duck {

/// A result as an Arrow IPC stream (`application/vnd.apache.arrow.stream`): a schema message, a
/// record batch message for each chunk, the end-of-stream mark. Little-endian, uncompressed,
/// metadata version V5 (https://arrow.apache.org/docs/format/Columnar.html, "IPC Streaming
/// Format"). The types are those of DuckDB's export to Arrow's C data interface.
///
/// `result` outlives the writer; `memory_bytes` is what a query may take, for the words of
/// kOutOfMemory, with which the writer fails on a chunk that does not fit. kInternal: the engine
/// gave a type or a layout that is not one of ours; export_cast() leaves none such.
Result<std::unique_ptr<AnswerWriter>> make_arrow_stream(QueryResult& result,
                                                        const std::vector<RenderedColumn>& columns,
                                                        std::uint64_t memory_bytes);

}  // namespace strata::duck
