#include "cli/csv.h"

#include <fmt/format.h>

#include "base/limits.h"

namespace strata::cli {

Error CsvReader::bad(std::string_view reason) const {
  return make_error(Code::kBadRequest, fmt::format("line {}: {}", line_, reason));
}

Result<bool> CsvReader::refill() {
  STRATA_ASSIGN_OR_RETURN(piece_, source_.read());
  position_ = 0;
  if (!started_ && !piece_.empty()) {
    started_ = true;
    STRATA_ASSIGN_OR_RETURN(piece_, text_start(piece_));
    if (piece_.empty()) return refill();
  }
  return !piece_.empty();
}

void CsvReader::begin_cell(CsvRow& row) {
  if (cell_ == row.cells.size()) {
    row.cells.emplace_back();
  } else {
    row.cells[cell_].clear();
  }
}

// Takes the characters that mean themselves in one go; what ends the run is left for step().
void CsvReader::take_run(CsvRow& row) {
  const bool quoted = state_ == State::kQuoted;
  std::size_t end = position_;
  while (end < piece_.size()) {
    const char character = piece_[end];
    if (character == '"') break;
    if (quoted) {
      if (character == '\n') ++line_;
    } else if (character == ',' || character == '\n' || character == '\r') {
      break;
    }
    ++end;
  }
  row.cells[cell_].append(piece_.substr(position_, end - position_));
  row_bytes_ += end - position_;
  position_ = end;
}

// After a cell: only a separator or the end of the row can follow.
CsvReader::Step CsvReader::separator(char character, CsvRow& row) {
  switch (character) {
    case ',':
      ++cell_;
      begin_cell(row);
      state_ = State::kCellStart;
      return Step::kMore;
    case '\n':
      ++line_;
      state_ = State::kCellStart;
      return Step::kRowEnds;
    case '\r':
      state_ = State::kReturnSeen;
      return Step::kMore;
    default:
      problem_ = "text after the closing quote of a cell; a quote inside a cell is written twice";
      return Step::kBad;
  }
}

CsvReader::Step CsvReader::step(char character, CsvRow& row) {
  switch (state_) {
    case State::kCellStart:
      if (character == '"') {
        row.quoted = true;
        quote_line_ = line_;
        state_ = State::kQuoted;
        return Step::kMore;
      }
      [[fallthrough]];
    case State::kPlain:
      if (character == ',' || character == '\n' || character == '\r') {
        return separator(character, row);
      }
      if (character == '"') {
        problem_ =
            "a quote inside a cell that is not quoted; put the cell in quotes and write the "
            "quote twice";
        return Step::kBad;
      }
      row.cells[cell_] += character;
      state_ = State::kPlain;
      return Step::kMore;
    case State::kQuoted:  // take_run() took everything but the quote
      state_ = State::kQuoteSeen;
      return Step::kMore;
    case State::kQuoteSeen:
      if (character != '"') return separator(character, row);
      row.cells[cell_] += '"';
      state_ = State::kQuoted;
      return Step::kMore;
    case State::kReturnSeen:
      if (character == '\n') return separator(character, row);
      problem_ = "a carriage return that no line feed follows; rows end in LF or CRLF";
      return Step::kBad;
  }
  return Step::kBad;
}

Result<bool> CsvReader::finish(CsvRow& row) {
  if (state_ == State::kQuoted) {
    return make_error(
        Code::kBadRequest,
        fmt::format("line {}: the quote that opens here is never closed", quote_line_));
  }
  const bool blank = cell_ == 0 && row.cells[0].empty() && !row.quoted;
  state_ = State::kCellStart;
  row.cells.resize(cell_ + 1);
  return !blank;
}

Result<bool> CsvReader::next(CsvRow& row) {
  const auto begin_row = [this, &row] {
    row.line = line_;
    row.quoted = false;
    row_bytes_ = 0;
    cell_ = 0;
    begin_cell(row);
  };
  begin_row();
  for (;;) {
    if (row_bytes_ > limits::kBodyBytesCeiling) {
      return make_error(
          Code::kBadRequest,
          fmt::format("line {}: the row that begins here is over {} bytes, more than any receiver "
                      "takes; is a quote never closed?",
                      row.line, limits::kBodyBytesCeiling));
    }
    if (position_ == piece_.size()) {
      STRATA_ASSIGN_OR_RETURN(const bool more, refill());
      if (!more) return finish(row);
    }
    if (state_ == State::kPlain || state_ == State::kQuoted) {
      take_run(row);
      if (position_ == piece_.size()) continue;
    }
    ++row_bytes_;
    switch (step(piece_[position_++], row)) {
      case Step::kMore:
        break;
      case Step::kBad:
        return bad(problem_);
      case Step::kRowEnds:
        if (cell_ > 0 || !row.cells[0].empty() || row.quoted) {
          row.cells.resize(cell_ + 1);
          return true;
        }
        begin_row();  // a blank line
        break;
    }
  }
}

}  // namespace strata::cli
