#include "app/offline_tokens.h"

#include <memory>
#include <utility>

#include "api/problem.h"
#include "api/tokens.h"
#include "base/ids.h"
#include "io/posix_file_system.h"
#include "kb/root.h"
#include "kb/root_identity.h"

namespace strata::app {
namespace {

constexpr std::string_view kPath = "/tokens";

/// A server may be at work on the root, so one that is there is only looked at: Root::open would
/// try the disk out and clear DEGRADED.
Result<std::unique_ptr<io::Directory>> open_root(io::FileSystem& fs, const Clock& clock,
                                                 const std::string& data, bool make) {
  auto directory = kb::open_root_directory(fs, data);
  if (directory || directory.error().code != Code::kNotFound || !make) return directory;
  STRATA_RETURN_IF_ERROR(kb::Root::open(fs, clock, {.path = data}));
  return fs.open_directory(data);
}

Result<http::Response> answer(const cli::ControlRequest& request, kb::Tokens& tokens) {
  if (request.method == "POST") {
    http::Request post{.method = request.method, .body = request.body};
    post.headers.emplace_back("Content-Type", "application/json");
    return api::create_token(post, tokens);
  }
  if (request.method == "DELETE") {
    return api::revoke_token(std::string_view(request.target).substr(kPath.size() + 1), tokens);
  }
  return api::list_tokens(tokens);
}

}  // namespace

Result<http::ClientResponse> answer_offline(const Clock& clock, const std::string& data,
                                            const cli::ControlRequest& request) {
  const auto fs = io::make_posix_file_system();
  STRATA_ASSIGN_OR_RETURN(const auto root, open_root(*fs, clock, data, request.method == "POST"));
  const auto tokens = kb::Tokens::open(*fs, clock, *root);
  auto answered = answer(request, *tokens);
  http::Response response =
      answered ? *std::move(answered) : api::problem(answered.error(), http::Request{});
  return http::ClientResponse{.status = response.status,
                              .headers = std::move(response.headers),
                              .body = std::move(response.body)};
}

}  // namespace strata::app
