#pragma once

#include <atomic>
#include <string>

#include "api/metrics.h"
#include "api/unreadable_files.h"
#include "base/clock.h"
#include "duck/worker_pool.h"
#include "duck/worker_sandbox.h"
#include "jobs/job_runner.h"
#include "kb/clock_check.h"
#include "kb/knowledgebases.h"
#include "kb/root.h"
#include "kb/tokens.h"
#include "lock/kb_lock.h"
#include "stream/streams.h"

namespace strata::api {

/// Whether requests need a token. Without one every request has all rights.
struct AuthOptions {
  bool required = false;
  bool metrics_too = false;  // and the operations that are open otherwise
};

/// What handlers work with. Made by app/, outlives every request.
struct Services {
  const Clock& clock;
  kb::Root& root;
  kb::Tokens& tokens;
  AuthOptions auth;
  kb::Knowledgebases& knowledgebases;
  duck::WorkerPool& workers;      // for readers' queries
  duck::WorkerPool& own_workers;  // for views and DDL
  const stream::StreamServices& stream_services;
  stream::Streams& streams;
  stream::ViewJob& views;
  jobs::JobRunner& jobs;
  lock::AcquisitionCounter& acquisitions;
  Metrics& metrics;
  std::string version;
  duck::SandboxSupport sandbox;                 // what this machine holds workers with
  bool unsafe_queries = false;                  // readers' SQL is run without all of it too
  const kb::ClockCheck* clock_check = nullptr;  // null: the nodes share no clock
  std::atomic<int> subscribers = 0;             // that are sent events now
  UnreadableFiles unreadable_files;
};

}  // namespace strata::api
