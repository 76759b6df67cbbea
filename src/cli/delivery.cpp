#include "cli/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cli/json.h"
#include "cli/problem.h"

namespace strata::cli {
namespace {

std::optional<std::chrono::seconds> retry_after(const http::ClientResponse& response) {
  const auto text = response.header("Retry-After");
  if (!text) return std::nullopt;
  std::uint32_t seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, failure] = std::from_chars(text->data(), end, seconds);
  // The header's other form, a date, is never sent by Strata.
  if (failure != std::errc() || stop != end) return std::nullopt;
  return std::chrono::seconds(seconds);
}

// A 200 counts only if it is Strata's: a proxy's page must not pass for a landed batch.
Delivery read_receipt(http::ClientResponse response) {
  Delivery delivery{.kind = Delivery::Kind::kRefused, .rows = 0, .response = {}, .error = {}};
  const auto receipt = parse_object(response.body);
  const auto* replayed = receipt ? receipt->if_contains("replayed") : nullptr;
  if (response.status == 200 && replayed != nullptr && replayed->is_bool()) {
    delivery.rows = count_member(*receipt, "rows");
    delivery.kind = replayed->get_bool() ? Delivery::Kind::kReplayed : Delivery::Kind::kLanded;
    return delivery;
  }
  delivery.response = std::move(response);
  return delivery;
}

}  // namespace

bool is_retried(int status) {
  constexpr std::array kRetried{408, 429, 500, 502, 503, 504, 507};
  return std::find(kRetried.begin(), kRetried.end(), status) != kRetried.end();
}

std::chrono::milliseconds backoff(const RetryPolicy& policy, int failed_tries, double chance,
                                  std::optional<std::chrono::seconds> asked) {
  std::chrono::milliseconds whole = policy.base;
  for (int tries = 1; tries < failed_tries && whole < policy.cap; ++tries) whole *= 2;
  whole = std::min(whole, policy.cap);
  const double half = static_cast<double>(whole.count()) / 2;
  const auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(half + half * chance));
  if (!asked) return wait;
  return std::min<std::chrono::milliseconds>(*asked, policy.retry_after_cap) + wait;
}

Courier::Courier(http::Client& client, const RetryPolicy& policy, Hooks hooks,
                 const std::atomic<bool>& cancelled)
    : client_(client), policy_(policy), hooks_(std::move(hooks)), cancelled_(cancelled) {}

// In slices, because another connection may give up meanwhile.
void Courier::wait(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kSlice{250};
  while (time.count() > 0 && !cancelled_.load()) {
    const auto slice = std::min(time, kSlice);
    hooks_.sleep(slice);
    time -= slice;
  }
}

Delivery Courier::deliver(const http::ClientRequest& request) {
  for (int tries = 1;; ++tries) {
    if (cancelled_.load()) return {};
    auto response = client_.send(request);
    if (response && !is_retried(response->status)) return read_receipt(std::move(*response));
    std::string reason = response ? describe(read_problem(*response)) : response.error().message;
    const auto asked = response ? retry_after(*response) : std::nullopt;
    if (tries == policy_.tries_max) {
      Delivery gave_up{.kind = Delivery::Kind::kGaveUp, .rows = 0, .response = {}, .error = {}};
      if (response) {
        gave_up.response = std::move(*response);
      } else {
        gave_up.error = std::move(response).error();
      }
      return gave_up;
    }
    if (tries == 1) hooks_.on_retry(reason);
    wait(backoff(policy_, tries, hooks_.chance(), asked));
  }
}

}  // namespace strata::cli
