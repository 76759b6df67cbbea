#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "catalog/catalog.h"

/// How both versions keep times, jobs, versions and nodes. Private to this folder.
namespace strata::catalog {

inline std::uint64_t to_micros(WallTime time) {
  return static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::microseconds>(time).time_since_epoch().count());
}

inline std::uint64_t to_micros(std::chrono::seconds length) {
  return static_cast<std::uint64_t>(std::chrono::microseconds(length).count());
}

inline WallTime from_micros(std::uint64_t micros) {
  return WallTime(std::chrono::microseconds(micros));
}

inline std::optional<std::uint64_t> to_micros(const std::optional<WallTime>& time) {
  return time ? std::optional(to_micros(*time)) : std::nullopt;
}

inline std::optional<WallTime> from_micros(const std::optional<std::uint64_t>& micros) {
  return micros ? std::optional(from_micros(*micros)) : std::nullopt;
}

/// In the order in which job_of reads them.
#define STRATA_JOB_COLUMNS                                                              \
  "id, kind, subject, state, step, progress, owner, result, reason, cancel_requested, " \
  "created, started, heartbeat, ended"

/// `Row` has text() and number(), as SqliteStatement and PostgresRow do.
template <typename Row>
JobRow job_of(const Row& row) {
  return {.id = row.text(0),
          .kind = row.text(1),
          .subject = row.text(2),
          .state = row.text(3),
          .step = row.text(4),
          .progress = row.number(5).value_or(0),
          .owner = row.text(6),
          .result = row.text(7),
          .reason = row.text(8),
          .cancel_requested = row.number(9) == 1U,
          .created = from_micros(row.number(10).value_or(0)),
          .started = from_micros(row.number(11)),
          .heartbeat = from_micros(row.number(12).value_or(0)),
          .ended = from_micros(row.number(13))};
}

/// In the order in which version_of reads them.
#define STRATA_VERSION_COLUMNS "version, state, model_sha256, content, job, created"

template <typename Row>
VersionRow version_of(const Row& row) {
  return {.version = row.number(0).value_or(0),
          .state = row.text(1),
          .model_sha256 = row.text(2),
          .content = row.text(3),
          .job = row.text(4),
          .created = from_micros(row.number(5).value_or(0))};
}

/// Of node, process, started_at, version, heartbeat and the database's clock, of one instant.
template <typename Row>
NodeSeen node_seen_of(const Row& row) {
  const auto ago = from_micros(row.number(5).value_or(0)) - from_micros(row.number(4).value_or(0));
  return {.node = {row.text(0), row.text(1), row.text(2), row.text(3)},
          .ago = std::chrono::floor<std::chrono::seconds>(ago)};
}

/// From the row of a beat's RETURNING, if there was one to beat.
inline JobHold hold_of(const std::vector<std::uint64_t>& cancel_requested) {
  if (cancel_requested.empty()) return JobHold::kLost;
  return cancel_requested.front() == 1 ? JobHold::kCancelAsked : JobHold::kOurs;
}

}  // namespace strata::catalog
