#include "duck/cells_function.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

namespace strata::duck {
namespace {

struct Cursor {
  const CellSource& source;
  std::size_t next_row = 0;
};

/// One column of the chunk being filled.
struct ColumnBuffer {
  duckdb_vector vector = nullptr;
  std::uint64_t* validity = nullptr;
};

void bind(duckdb_bind_info info) {
  const auto* slots = static_cast<const CellSlots*>(duckdb_bind_get_extra_info(info));
  const Value slot(duckdb_bind_get_parameter(info, 0));
  const CellSource* source = slots->find(duckdb_get_int64(slot.get()));
  if (source == nullptr) {
    duckdb_bind_set_error(info, "strata_cells: no batch has this slot");
    return;
  }
  const LogicalType varchar(duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR));
  for (const std::string& name : source->names) {
    duckdb_bind_add_result_column(info, name.c_str(), varchar.get());
  }
  if (!source->batch_id_column.empty()) {
    duckdb_bind_add_result_column(info, source->batch_id_column.c_str(), varchar.get());
  }
  duckdb_bind_set_cardinality(info, source->cells.row_count(), true);
  // Borrowed: whoever runs the statement keeps the slot until it has ended.
  duckdb_bind_set_bind_data(info, const_cast<CellSource*>(source), nullptr);
}

void destroy_cursor(void* cursor) { std::unique_ptr<Cursor>(static_cast<Cursor*>(cursor)); }

void init(duckdb_init_info info) {
  const auto* source = static_cast<const CellSource*>(duckdb_init_get_bind_data(info));
  // One thread, one cursor: rows keep their order.
  duckdb_init_set_max_threads(info, 1);
  duckdb_init_set_init_data(info, std::make_unique<Cursor>(Cursor{*source}).release(),
                            destroy_cursor);
}

ColumnBuffer null_column(duckdb_data_chunk chunk, std::size_t column, std::size_t rows) {
  ColumnBuffer buffer;
  buffer.vector = duckdb_data_chunk_get_vector(chunk, column);
  duckdb_vector_ensure_validity_writable(buffer.vector);
  buffer.validity = duckdb_vector_get_validity(buffer.vector);
  std::fill_n(buffer.validity, (rows + 63) / 64, std::uint64_t{0});
  return buffer;
}

/// False if DuckDB took the text for no valid UTF-8: it then stores NULL and says nothing.
bool assign(const ColumnBuffer& buffer, std::size_t row, std::string_view text) {
  duckdb_validity_set_row_valid(buffer.validity, row);
  duckdb_vector_assign_string_element_len(buffer.vector, row, text.data(), text.size());
  return duckdb_validity_row_is_valid(buffer.validity, row);
}

bool fill(Cursor& cursor, duckdb_data_chunk chunk) {
  const CellSource& source = cursor.source;
  const std::size_t rows =
      std::min<std::size_t>(duckdb_vector_size(), source.cells.row_count() - cursor.next_row);
  std::vector<ColumnBuffer> buffers;
  buffers.reserve(source.column_count());
  for (std::size_t column = 0; rows > 0 && column < source.column_count(); ++column) {
    buffers.push_back(null_column(chunk, column, rows));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (const Field& field : source.cells.row(cursor.next_row + row)) {
      if (!assign(buffers[field.column], row, field.text)) return false;
    }
    if (!source.batch_id_column.empty() && !assign(buffers.back(), row, source.batch_id)) {
      return false;
    }
  }
  duckdb_data_chunk_set_size(chunk, rows);
  cursor.next_row += rows;
  return true;
}

/// No exception may pass through DuckDB's frames.
void next_chunk(duckdb_function_info info, duckdb_data_chunk chunk) {
  auto* cursor = static_cast<Cursor*>(duckdb_function_get_init_data(info));
  try {
    if (!fill(*cursor, chunk)) {
      duckdb_function_set_error(info, "strata_cells: a cell is no valid UTF-8");
    }
  } catch (const std::exception& error) {
    duckdb_function_set_error(info, error.what());
  }
}

}  // namespace

CellSlots::Slot::Slot(CellSlots& slots, const CellSource& source) : slots_(slots) {
  const std::lock_guard lock(slots_.mutex_);
  number_ = ++slots_.last_number_;
  slots_.sources_.emplace(number_, &source);
}

CellSlots::Slot::~Slot() {
  const std::lock_guard lock(slots_.mutex_);
  slots_.sources_.erase(number_);
}

const CellSource* CellSlots::find(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(number);
  return found == sources_.end() ? nullptr : found->second;
}

Result<void> register_cells_function(duckdb_connection connection, CellSlots& slots) {
  const TableFunction function(duckdb_create_table_function());
  const LogicalType slot(duckdb_create_logical_type(DUCKDB_TYPE_BIGINT));
  duckdb_table_function_set_name(function.get(), "strata_cells");
  duckdb_table_function_add_parameter(function.get(), slot.get());
  duckdb_table_function_set_extra_info(function.get(), &slots, nullptr);
  duckdb_table_function_set_bind(function.get(), bind);
  duckdb_table_function_set_init(function.get(), init);
  duckdb_table_function_set_function(function.get(), next_chunk);
  if (duckdb_register_table_function(connection, function.get()) != DuckDBSuccess) {
    return make_error(Code::kInternal, "The file writer could not be prepared.",
                      "duckdb_register_table_function failed");
  }
  return {};
}

}  // namespace strata::duck
