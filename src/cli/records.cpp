#include "cli/records.h"

#include <fmt/format.h>

#include <set>

#include "base/cells.h"
#include "base/limits.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

bool begins_array(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first != std::string_view::npos && text[first] == '[';
}

Result<void> check_header(const CsvRow& header) {
  const auto bad = [&header](std::string_view reason) {
    return make_error(Code::kBadRequest,
                      fmt::format("line {}: {}", header.line, printable(reason)));
  };
  if (header.cells.size() == 1 && !header.quoted) {
    for (const auto& [delimiter, name] : {std::pair(';', "semicolon"), std::pair('\t', "tab")}) {
      if (header.cells[0].find(delimiter) == std::string::npos) continue;
      return bad(
          fmt::format("the header row is one cell with a {0} in it: the file seems to be "
                      "separated by {0}s, and only commas are read; write it again with "
                      "commas",
                      name));
    }
  }
  std::set<std::string> seen;
  for (std::size_t index = 0; index < header.cells.size(); ++index) {
    const std::string& name = header.cells[index];
    if (name.empty()) {
      return bad(
          fmt::format("cell {} of the header row is empty; every column needs a name", index + 1));
    }
    // Column names differ by more than ASCII case (architecture.md "Settled").
    if (!seen.insert(ascii_lower(name)).second) {
      return bad(
          fmt::format("the header row has the name '{}' twice (upper and lower case count "
                      "as the same); rename one",
                      name));
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<RecordReader> RecordReader::create(InputFormat format, ByteSource& source) {
  if (format == InputFormat::kCsv) return std::make_unique<CsvRecords>(source);
  return std::make_unique<NdjsonRecords>(source);
}

// Takes one line without its line feed; false when nothing is left.
Result<bool> NdjsonRecords::read_line(std::string& line) {
  line.clear();
  ++line_;
  for (;;) {
    if (piece_.empty()) {
      STRATA_ASSIGN_OR_RETURN(piece_, source_.read());
      if (piece_.empty()) return !line.empty();
      if (!started_) {
        started_ = true;
        STRATA_ASSIGN_OR_RETURN(piece_, text_start(piece_));
      }
    }
    const std::size_t end = piece_.find('\n');
    line += piece_.substr(0, end);
    if (first_ && begins_array(line)) {
      return make_error(Code::kBadRequest,
                        fmt::format("line {}: the file is a JSON array, and Strata takes one "
                                    "object per line: make it so with jq -c '.[]'",
                                    line_));
    }
    if (line.size() > limits::kBodyBytesCeiling) {
      return make_error(Code::kBadRequest,
                        fmt::format("line {}: the line is over {} bytes, more than any receiver "
                                    "takes",
                                    line_, limits::kBodyBytesCeiling));
    }
    if (end != std::string_view::npos) {
      piece_.remove_prefix(end + 1);
      return true;
    }
    piece_ = {};
  }
}

Result<bool> NdjsonRecords::next(Record& record) {
  for (;;) {
    STRATA_ASSIGN_OR_RETURN(const bool more, read_line(record.text));
    if (!more) return false;
    if (is_blank(record.text)) continue;
    if (record.text.back() == '\r') record.text.pop_back();
    record.text += '\n';
    record.line = line_;
    first_ = false;
    return true;
  }
}

Result<void> CsvRecords::read_header() {
  STRATA_ASSIGN_OR_RETURN(const bool more, reader_.next(row_));
  if (!more) return {};
  STRATA_RETURN_IF_ERROR(check_header(row_));
  for (const std::string& name : row_.cells) {
    std::string key(1, keys_.empty() ? '{' : ',');
    append_json_string(key, name);
    keys_.push_back(key + ':');
  }
  return {};
}

Result<bool> CsvRecords::next(Record& record) {
  if (keys_.empty()) STRATA_RETURN_IF_ERROR(read_header());
  if (keys_.empty()) return false;
  STRATA_ASSIGN_OR_RETURN(const bool more, reader_.next(row_));
  if (!more) return false;
  if (row_.cells.size() != keys_.size()) {
    return make_error(
        Code::kBadRequest,
        fmt::format("line {}: the row has {}, the header row has {}", row_.line,
                    counted(row_.cells.size(), "cell"), counted(keys_.size(), "cell")));
  }
  record.text.clear();
  for (std::size_t index = 0; index < keys_.size(); ++index) {
    record.text += keys_[index];
    append_json_string(record.text, row_.cells[index]);
  }
  record.text += "}\n";
  record.line = row_.line;
  return true;
}

}  // namespace strata::cli
