#pragma once

#include <chrono>
#include <memory>

#include "api/services.h"
#include "stream/testing/stream_world.h"

namespace strata::api {

/// What a server's handlers work with, without its sockets: the kb `demo`, and a clock that stands
/// still.
class ApiProcess {
 protected:
  explicit ApiProcess(AuthOptions auth = {}) : auth_(auth) {}

  stream::World world_;
  stream::Process process_{world_};
  std::unique_ptr<kb::Tokens> tokens_ =
      kb::Tokens::open(process_.faults, world_.clock, process_.root->directory());
  Metrics metrics_;
  jobs::JobRunner jobs_{
      {.process = process_.root->process(), .beat_every = std::chrono::milliseconds(1)},
      world_.clock};
  const AuthOptions auth_;
  Services services_{world_.clock,
                     *process_.root,
                     *tokens_,
                     auth_,
                     *process_.kbs,
                     process_.workers,
                     process_.workers,
                     *process_.services,
                     *process_.streams,
                     *process_.views,
                     jobs_,
                     process_.acquisitions,
                     metrics_,
                     "test"};
};

}  // namespace strata::api
