// Random records, whole and damaged, against Boost.JSON: the same accepted and refused, the same
// texts. `--gtest_random_seed=N` repeats a run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/cells.h"
#include "ndjson/parse.h"
#include "ndjson/text.h"

namespace strata::ndjson {
namespace {

namespace json = boost::json;

using Cell = std::optional<std::string>;
using Row = std::vector<std::pair<std::string, Cell>>;

/// A value as JSON text with random white space, and as the cell it must become.
struct Sample {
  std::string source;
  std::string compact;  // source without white space between tokens
  Cell cell;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  std::string space() {
    std::string text;
    while (below(4) == 0) text += " \t\r"[below(3)];
    return text;
  }

  Sample record(Row& row) {
    Sample out{.source = space() + "{" + space(), .compact = "{", .cell = {}};
    const std::size_t count = below(12);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out.source += "," + space();
      Sample key = string();
      // A number in front keeps the keys of a record apart.
      // The mark keeps "1" + "0..." from being the eleventh key.
      key.source.insert(1, fmt::format("{}_", i));
      const Sample member = value(0);
      out.source += key.source + space() + ":" + space() + member.source + space();
      row.emplace_back(fmt::format("{}_{}", i, *key.cell), member.cell);
    }
    out.source += "}" + space();
    return out;
  }

  /// One byte put in, taken out or changed.
  void damage(std::string& text) {
    static constexpr std::string_view kBytes =
        "{}[]:,\"\\ \t\r0123456789+-.eEtrufalsn\x01\x7f\x80\xc3\xed\xf0\xff";
    const std::size_t at = below(text.size() + 1);
    const char byte = kBytes[below(kBytes.size())];
    switch (below(3)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        if (at < text.size()) text.erase(at, 1 + below(3));
        break;
      default:
        if (at < text.size()) text[at] = byte;
    }
  }

 private:
  Sample value(std::size_t depth) {
    switch (below(depth < 6 ? 8 : 6)) {
      case 0:
        return {"null", "null", {}};
      case 1: {
        const std::string word = below(2) == 0 ? "true" : "false";
        return {word, word, word};
      }
      case 2:
      case 3: {
        const std::string text = number();
        return {text, text, text};
      }
      case 4:
      case 5:
        return string();
      case 6:
        return container(depth, '[', ']');
      default:
        return container(depth, '{', '}');
    }
  }

  Sample container(std::size_t depth, char open, char close) {
    Sample out{.source = open + space(), .compact = {open}, .cell = {}};
    // Many keys now and then, so that duplicates are looked for by hash as well.
    const std::size_t count = below(30) == 0 ? 12 : below(4);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) {
        out.source += "," + space();
        out.compact += ",";
      }
      if (open == '{') {
        Sample key = string();
        key.source.insert(1, fmt::format("{}_", i));
        out.source += key.source + space() + ":" + space();
        out.compact += key.source + ":";
      }
      const Sample element = value(depth + 1);
      out.source += element.source + space();
      out.compact += element.compact;
    }
    out.source += close;
    out.compact += close;
    out.cell = out.compact;
    return out;
  }

  std::string digits(std::size_t most) {
    std::string text;
    for (std::size_t left = 1 + below(most); left > 0; --left)
      text += static_cast<char>('0' + below(10));
    return text;
  }

  std::string number() {
    std::string text = below(3) == 0 ? "-" : "";
    text +=
        below(4) == 0 ? "0" : static_cast<char>('1' + below(9)) + (below(2) == 0 ? "" : digits(25));
    if (below(2) == 0) text += "." + digits(6);
    if (below(3) == 0)
      text +=
          std::string(below(2) == 0 ? "e" : "E") + std::array{"", "+", "-"}[below(3)] + digits(2);
    return text;
  }

  std::uint32_t code_point() {
    static constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
        {0x20, 0x7e},    {0x20, 0x7e},     {0x20, 0x7e},       {0xa0, 0x7ff},
        {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};
    const auto& range = kRanges[below(std::size(kRanges))];
    return range.first + static_cast<std::uint32_t>(below(range.second - range.first + 1));
  }

  static std::string unit_escape(std::uint32_t unit) { return fmt::format("\\u{:04x}", unit); }

  Sample string() {
    std::string source = "\"";
    std::string text;
    for (std::size_t left = below(3) == 0 ? below(40) : below(6); left > 0; --left) {
      const std::uint32_t c = code_point();
      append_utf8(c, text);
      if (c >= 0x10000 && below(3) == 0) {
        source += unit_escape(0xd800 + ((c - 0x10000) >> 10)) +
                  unit_escape(0xdc00 + ((c - 0x10000) & 0x3ff));
      } else if (c < 0x10000 && below(8) == 0) {
        source += unit_escape(c);
      } else if (c == '"' || c == '\\' || (c == '/' && below(2) == 0)) {
        source += {'\\', static_cast<char>(c)};
      } else {
        append_utf8(c, source);
      }
    }
    source += '"';
    return {source, source, text};
  }

  std::mt19937_64 random_;
};

/// What Boost.JSON says of a line, with the rules it does not have looked for on the way.
class Oracle {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;
  using Ignored = json::error_code;

  bool on_document_begin(Ignored&) { return true; }
  bool on_document_end(Ignored&) { return true; }
  bool on_object_begin(Ignored&) {
    if (depth() == 0) object_ = true;
    note("{");
    keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Ignored&) {
    keys_.pop_back();
    return note("}");
  }
  bool on_array_begin(Ignored&) {
    note("[");
    ++arrays_;
    return true;
  }
  bool on_array_end(std::size_t, Ignored&) {
    --arrays_;
    return note("]");
  }
  bool on_key_part(json::string_view part, std::size_t, Ignored&) {
    text_ += part;
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Ignored&) {
    text_ += part;
    if (!keys_.back().insert(text_).second || text_.contains('\0')) broken_ = true;
    if (at_top()) {
      if (!column_name_problem(text_).empty()) broken_ = true;
      if (!folded_.insert(ascii_lower(text_)).second) broken_ = true;
      key_ = text_;
    }
    return note("key " + std::exchange(text_, {}));
  }
  bool on_string_part(json::string_view part, std::size_t, Ignored&) {
    text_ += part;
    return true;
  }
  bool on_string(json::string_view part, std::size_t, Ignored&) {
    text_ += part;
    if (text_.contains('\0')) broken_ = true;
    return scalar("text ", std::exchange(text_, {}));
  }
  bool on_number_part(json::string_view part, Ignored&) {
    text_ += part;
    return true;
  }
  bool on_int64(std::int64_t, json::string_view text, Ignored&) { return number(text); }
  bool on_uint64(std::uint64_t, json::string_view text, Ignored&) { return number(text); }
  bool on_double(double, json::string_view text, Ignored&) { return number(text); }
  bool on_bool(bool value, Ignored&) { return scalar("word ", value ? "true" : "false"); }
  bool on_null(Ignored&) { return at_top() || note("null"); }
  bool on_comment_part(json::string_view, Ignored&) { return true; }
  bool on_comment(json::string_view, Ignored&) { return true; }

  bool accepts() const { return object_ && !broken_; }
  /// The cells that are strings, numbers, true or false.
  const std::map<std::string, std::string>& texts() const { return texts_; }
  /// The cells that are objects or arrays, each as the list of its tokens.
  const std::map<std::string, std::string>& tokens() const { return tokens_; }

 private:
  std::size_t depth() const { return keys_.size() + arrays_; }
  bool at_top() const { return keys_.size() == 1 && arrays_ == 0; }
  bool note(const std::string& token) {
    const bool of_the_record = depth() == 0 || (at_top() && token.starts_with("key "));
    if (!of_the_record) tokens_[key_] += fmt::format("{}:{}\n", token.size(), token);
    return true;
  }
  bool number(json::string_view text) {
    text_ += text;
    return scalar("number ", std::exchange(text_, {}));
  }
  bool scalar(std::string_view kind, std::string text) {
    if (!at_top()) return note(fmt::format("{}{}", kind, text));
    texts_[key_] = std::move(text);
    return true;
  }

  bool object_ = false;
  bool broken_ = false;
  std::vector<std::set<std::string>> keys_;
  std::set<std::string> folded_;
  std::size_t arrays_ = 0;
  std::string text_;
  std::string key_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::string> tokens_;
};

struct Verdict {
  std::optional<bool> accepted;  // nothing: Boost cannot tell
  std::map<std::string, std::string> texts;
  std::map<std::string, std::string> tokens;
};

Verdict ask_oracle(const std::string& line) {
  json::parse_options options;
  options.max_depth = limits::kNestingDepthMax;
  json::basic_parser<Oracle> parser(options);
  json::error_code error;
  const std::size_t used = parser.write_some(false, line.data(), line.size(), error);
  if (error == json::error::exponent_overflow) return {};
  const bool accepted = !error && used == line.size() && parser.handler().accepts();
  return {accepted, parser.handler().texts(), parser.handler().tokens()};
}

unsigned seed_of_this_run() {
  const int wanted = GTEST_FLAG_GET(random_seed);
  return wanted != 0 ? static_cast<unsigned>(wanted) : 1 + std::random_device()() % 99'999;
}

std::map<std::string, std::string> texts_of(const CellTable& table) {
  std::map<std::string, std::string> texts;
  for (const Field& field : table.row(0)) texts[table.columns[field.column]] = field.text;
  return texts;
}

/// A refusal must be fit to show: valid UTF-8, no control character, a line, a sentence.
void expect_fit_to_show(const Rejection& rejection) {
  ASSERT_EQ(rejection.errors.size(), 1U);
  const LineError& error = rejection.errors[0];
  for (const std::string& text : {error.reason, error.column, rejection.advice}) {
    EXPECT_EQ(find_invalid_utf8(text), nullptr);
    EXPECT_EQ(find_control_character(text), std::string::npos);
  }
  EXPECT_TRUE(error.reason.ends_with('.')) << error.reason;
  EXPECT_LE(error.reason.size(), 250U) << error.reason;
}

class ParseOracle : public testing::Test {
 protected:
  ParseOracle() : seed_(seed_of_this_run()), generator_(seed_) {
    std::cout << "--gtest_random_seed=" << seed_ << '\n';
  }

  unsigned seed_;
  Generator generator_;
};

TEST_F(ParseOracle, WholeRecordsComeBackAsTheyWereMade) {
  for (int i = 0; i < 20'000; ++i) {
    Row row;
    const Sample record = generator_.record(row);
    SCOPED_TRACE(record.source);
    const auto table = parse(record.source, {});
    ASSERT_TRUE(table) << table.error().errors[0].reason;
    std::vector<std::string> columns;
    std::map<std::string, std::string> texts;
    for (const auto& [key, cell] : row) {
      columns.push_back(key);
      if (cell) texts[key] = *cell;
    }
    ASSERT_EQ(table->columns, columns);
    ASSERT_EQ(texts_of(*table), texts);
  }
}

TEST_F(ParseOracle, DamagedRecordsAreJudgedAsByBoost) {
  std::size_t refused = 0;
  for (int i = 0; i < 60'000; ++i) {
    Row row;
    std::string line = generator_.record(row).source;
    for (std::size_t left = generator_.below(3); left > 0; --left) generator_.damage(line);
    const Verdict verdict = ask_oracle(line);
    const auto table = parse(line, {});
    SCOPED_TRACE(line);
    if (!verdict.accepted) continue;
    ASSERT_EQ(table.has_value(), *verdict.accepted)
        << (table ? "we accept" : table.error().errors[0].reason);
    if (!table) {
      ++refused;
      expect_fit_to_show(table.error());
      continue;
    }
    std::map<std::string, std::string> texts = texts_of(*table);
    for (const auto& [key, tokens] : verdict.tokens) {
      ASSERT_TRUE(texts.contains(key)) << key;
      const std::string cell = texts.extract(key).mapped();
      ASSERT_EQ(ask_oracle("{\"k\":" + cell + "}").tokens["k"], tokens) << cell;
    }
    ASSERT_EQ(texts, verdict.texts);
  }
  EXPECT_GT(refused, 10'000U);
}

}  // namespace
}  // namespace strata::ndjson
