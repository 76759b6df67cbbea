#include "ontology/table_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/ids.h"
#include "base/sha256.h"

namespace strata::ontology {
namespace {

constexpr std::string_view kStream = "stream:";
constexpr std::size_t kPartBytesMax = 255;
/// What file systems take as one name.
constexpr std::size_t kFolderBytesMax = 255;
constexpr std::size_t kDigestBytes = 64;

bool is_part(std::string_view part) {
  return !part.empty() && part.size() <= kPartBytesMax &&
         std::ranges::none_of(part, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; });
}

Error bad_id(std::string_view text) {
  std::string shown(text.substr(0, kPartBytesMax));
  std::ranges::replace_if(shown, [](char c) { return c >= 0 && c < ' '; }, '?');
  return make_error(
      Code::kBadId,
      fmt::format(
          "'{}' is no table's id: one is '<kb>/stream:<stream>' or '<kb>/<document>/<table>'",
          shown));
}

bool is_plain(char c) {
  constexpr std::string_view kPlain = "._-:";
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

std::string folder_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    // A leading dot hides a folder, and `..` is another one.
    if (is_plain(c) && !(c == '.' && name.empty())) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  if (name.size() <= kFolderBytesMax) return name;
  return name.substr(0, kFolderBytesMax - kDigestBytes - 1) + '%' + sha256_hex(text);
}

}  // namespace

Result<TableId> TableId::parse(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text; parts.size() < 4;) {
    const std::size_t slash = rest.find('/');
    parts.push_back(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  const bool is_stream = parts.size() == 2 && parts[1].starts_with(kStream);
  if (!(is_stream || parts.size() == 3) || !std::ranges::all_of(parts, is_part) ||
      !KbId::parse(parts[0])) {
    return bad_id(text);
  }
  if (is_stream && !StreamId::parse(parts[1].substr(kStream.size()))) return bad_id(text);
  TableId id;
  id.text_ = text;
  id.kb_ = parts[0];
  id.document_ = parts[1];
  if (!is_stream) id.table_ = parts[2];
  return id;
}

std::string TableId::sidecar_folder() const {
  return folder_name(std::string_view(text_).substr(kb_.size() + 1));
}

std::string TableId::snapshot_folder() const {
  if (!table_) return document_.substr(kStream.size());
  return folder_name(std::string_view(text_).substr(kb_.size() + 1));
}

Result<SourceTable> resolve(const std::vector<TableSource*>& sources, std::string_view id) {
  STRATA_ASSIGN_OR_RETURN(const TableId parsed, TableId::parse(id));
  for (TableSource* source : sources) {
    STRATA_ASSIGN_OR_RETURN(auto table, source->resolve(parsed));
    if (table) return std::move(*table);
  }
  return make_error(
      Code::kUnknownTable,
      fmt::format("no table '{}' is known: none of the sources of tables reads it", parsed.str()));
}

}  // namespace strata::ontology
