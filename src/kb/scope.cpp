#include "kb/scope.h"

#include <fmt/format.h>

#include "base/ids.h"

namespace strata::kb {
namespace {

constexpr std::string_view kAdmin = "admin";
constexpr std::string_view kIngest = "ingest";
constexpr std::string_view kRead = "read";
constexpr std::string_view kModel = "model";

}  // namespace

Result<Scope> Scope::parse(std::string_view text) {
  if (text == kAdmin) return Scope{Kind::kAdmin, {}, {}};
  const Error bad = make_error(
      Code::kBadRequest,
      fmt::format("A scope is ingest:KB/STREAM, read:KB, model:KB or admin, not '{:.80}'.", text));
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return bad;
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  const auto slash = rest.find('/');
  const bool is_ingest = kind == kIngest;
  if ((!is_ingest && kind != kRead && kind != kModel) ||
      is_ingest != (slash != std::string_view::npos)) {
    return bad;
  }
  const auto kb = KbId::parse(rest.substr(0, slash));
  if (!kb) return bad;
  if (!is_ingest) return Scope{kind == kRead ? Kind::kRead : Kind::kModel, kb->str(), {}};
  const auto stream = StreamId::parse(rest.substr(slash + 1));
  if (!stream) return bad;
  return Scope{Kind::kIngest, kb->str(), stream->str()};
}

std::string Scope::str() const {
  switch (kind) {
    case Kind::kAdmin:
      return std::string(kAdmin);
    case Kind::kIngest:
      return fmt::format("{}:{}/{}", kIngest, kb, stream);
    case Kind::kRead:
      return fmt::format("{}:{}", kRead, kb);
    case Kind::kModel:
      return fmt::format("{}:{}", kModel, kb);
  }
  return {};
}

}  // namespace strata::kb
