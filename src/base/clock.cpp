#include "base/clock.h"

#include <fmt/format.h>

#include <charconv>

namespace strata {

std::optional<WallTime> Clock::trusted_wall() const {
  if (!trusted_.load(std::memory_order_relaxed)) return std::nullopt;
  return wall();
}

WallTime SystemClock::wall() const { return std::chrono::system_clock::now(); }
SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

WallTime FakeClock::wall() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

SteadyTime FakeClock::steady() const {
  const std::lock_guard lock(mutex_);
  return steady_;
}

void FakeClock::advance(std::chrono::nanoseconds by) {
  const std::lock_guard lock(mutex_);
  wall_ += by;
  steady_ += std::chrono::duration_cast<SteadyTime::duration>(by);
}

std::string format_iso8601(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::microseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<WallTime> parse_iso8601(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  const Error bad = make_error(Code::kBadRequest, "not a time like 2026-06-29T00:00:00.000000Z");
  if (text.size() != kShape.size()) return bad;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return bad;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return bad;
  return std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2)) +
         std::chrono::microseconds(number(20, 6));
}

}  // namespace strata
