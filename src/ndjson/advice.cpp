#include "ndjson/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::ndjson {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

NotText compressed(std::string_view name) {
  return {fmt::format("The body is {} data, not text: say so with Content-Encoding, or send the "
                      "records uncompressed.",
                      name),
          fmt::format("The body is compressed: add the header Content-Encoding: {}.", name)};
}

/// Takes the first line that is not blank off `body`, without the white space around it.
std::string_view take_line(std::string_view& body) {
  body.remove_prefix(std::min(body.find_first_not_of(kSpace), body.size()));
  std::string_view line = body.substr(0, body.find('\n'));
  body.remove_prefix(line.size());
  line.remove_suffix(line.size() - (line.find_last_not_of(kSpace) + 1));
  return line;
}

}  // namespace

std::optional<NotText> recognise_not_text(std::string_view body) {
  using namespace std::string_view_literals;
  if (body.starts_with("\x1f\x8b"sv)) return compressed("gzip");
  if (body.starts_with("\x28\xb5\x2f\xfd"sv)) return compressed("zstd");
  const bool byte_order_mark = body.starts_with("\xff\xfe"sv) || body.starts_with("\xfe\xff"sv);
  // Of an ASCII character's two bytes one is NUL, which stands nowhere in NDJSON.
  const bool half_nul = body.size() >= 2 && (body[0] == '\0') != (body[1] == '\0');
  if (byte_order_mark || half_nul) {
    return NotText{"The body is UTF-16, not UTF-8: send it in UTF-8.",
                   "The body is UTF-16: save it as UTF-8, for example with "
                   "iconv -f UTF-16 -t UTF-8 FILE."};
  }
  return std::nullopt;
}

std::string advice_for(std::string_view body, Problem problem) {
  const std::string_view first = take_line(body);
  const std::string_view second = take_line(body);
  if (first.starts_with('[')) {
    return "The body is a JSON array: send its objects one per line, for example with "
           "jq -c '.[]' FILE.";
  }
  if (problem == Problem::kLineEnds && !second.empty() &&
      (first == "{" || !second.starts_with('{'))) {
    return "The objects run over several lines: send each on one line, for example with "
           "jq -c . FILE.";
  }
  if (problem == Problem::kNoObject && first.contains(',')) {
    return "The body looks like CSV: strata send KB STREAM FILE --format csv sends it.";
  }
  if (problem == Problem::kSecondRecord) {
    return "Several records stand on one line: curl -d drops line ends, so use "
           "curl --data-binary @FILE.";
  }
  return {};
}

}  // namespace strata::ndjson
