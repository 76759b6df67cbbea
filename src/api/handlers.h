#pragma once

#include <cstdint>
#include <expected>

#include "api/services.h"
#include "base/error.h"
#include "http/message.h"

/// One function per route: parse ids, one call into the domain, render. No socket, no global, no
/// clock but the services'. They answer an Error where routes.cpp is to make the problem body.
namespace strata::api {

Result<http::Response> get_healthz(const http::Request& request, Services& services);
Result<http::Response> get_readyz(const http::Request& request, Services& services);
Result<http::Response> get_metrics(const http::Request& request, Services& services);

Result<http::Response> get_openapi(const http::Request& request, Services& services);
Result<http::Response> get_limits(const http::Request& request, Services& services);
Result<http::Response> list_nodes(const http::Request& request, Services& services);

Result<http::Response> post_knowledgebase(const http::Request& request, Services& services);
Result<http::Response> list_knowledgebases(const http::Request& request, Services& services);
Result<http::Response> get_knowledgebase(const http::Request& request, Services& services);
Result<http::Response> post_migrate(const http::Request& request, Services& services);
Result<http::Response> delete_knowledgebase(const http::Request& request, Services& services);

Result<http::Response> post_receiver(const http::Request& request, Services& services);
Result<http::Response> list_receivers(const http::Request& request, Services& services);
Result<http::Response> get_receiver(const http::Request& request, Services& services);
Result<http::Response> patch_receiver(const http::Request& request, Services& services);
Result<http::Response> delete_receiver(const http::Request& request, Services& services);
Result<http::Response> post_resync(const http::Request& request, Services& services);
Result<http::Response> post_verify(const http::Request& request, Services& services);

/// Before the body is read: the body's limit, or why it will not be read.
Result<std::uint64_t> admit_batch(const http::Request& head, Services& services);
Result<http::Response> post_batch(const http::Request& request, Services& services);

Result<http::Response> list_batches(const http::Request& request, Services& services);
Result<http::Response> get_batch(const http::Request& request, Services& services);
Result<http::Response> list_columns(const http::Request& request, Services& services);
Result<http::Response> get_rates(const http::Request& request, Services& services);
Result<http::Response> get_events(const http::Request& request, Services& services);
Result<http::Response> list_rejects(const http::Request& request, Services& services);
Result<http::Response> get_reject(const http::Request& request, Services& services);
Result<http::Response> delete_reject(const http::Request& request, Services& services);

Result<http::Response> post_ontology(const http::Request& request, Services& services);
Result<http::Response> get_ontology(const http::Request& request, Services& services);
Result<http::Response> list_ontology_versions(const http::Request& request, Services& services);
Result<http::Response> list_jobs(const http::Request& request, Services& services);
Result<http::Response> get_job(const http::Request& request, Services& services);
Result<http::Response> get_job_events(const http::Request& request, Services& services);
Result<http::Response> delete_job(const http::Request& request, Services& services);

Result<http::Response> list_tables(const http::Request& request, Services& services);
Result<http::Response> list_documents(const http::Request& request, Services& services);
Result<http::Response> get_schema(const http::Request& request, Services& services);

Result<http::Response> get_whoami(const http::Request& request, Services& services);
Result<http::Response> post_token(const http::Request& request, Services& services);
Result<http::Response> get_tokens(const http::Request& request, Services& services);
Result<http::Response> delete_token(const http::Request& request, Services& services);

Result<http::Response> run_query(const http::Request& request, Services& services);

/// The kb a route names; an id that is no id is answered as an unknown one.
Result<kb::Knowledgebase*> knowledgebase_of(const http::Request& request, Services& services);
/// The stream a route names, in that kb.
Result<stream::Stream*> stream_of(const http::Request& request, Services& services);

}  // namespace strata::api
