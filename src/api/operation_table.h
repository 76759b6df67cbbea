#pragma once

#include "api/handlers.h"
#include "api/operations.h"

/// The rows of operations(). In a header so that access_test.cpp counts them when it is compiled:
/// whoever adds a row here adds one there.
namespace strata::api::operation_table {

using enum http::Lane;
using enum Access;

// One operation a row: longer lines here read better than broken ones.
// clang-format off
#define STRATA_OF_KB "/knowledgebase/{kb}/strata"

inline constexpr Operation kRows[] = {
    {"getHealth", "GET", "/healthz", kInline, kOpen, get_healthz,
     "Whether the server lives"},
    {"getReadiness", "GET", "/readyz", kControl, kOpen, get_readyz,
     "Whether the server is ready, and if not why"},
    {"getMetrics", "GET", "/metrics", kControl, kOpen, get_metrics,
     "Counters as Prometheus text"},
    {"getOpenApi", "GET", "/openapi.json", kControl, kOpen, get_openapi,
     "This description"},
    {"getLimits", "GET", "/limits", kControl, kAnyToken, get_limits,
     "Every limit a client meets"},
    {"listNodes", "GET", "/nodes", kControl, kAnyToken, list_nodes,
     "The processes that serve this root, and when each was last seen"},
    {"whoAmI", "GET", "/whoami", kControl, kAnyToken, get_whoami,
     "Whether tokens are needed, and the scopes of the caller's"},
    {"createToken", "POST", "/tokens", kControl, kAdmin, post_token,
     "Make a token; the answer shows its secret this once"},
    {"listTokens", "GET", "/tokens", kControl, kAdmin, get_tokens,
     "Every token, without its secret"},
    {"revokeToken", "DELETE", "/tokens/{token}", kControl, kAdmin, delete_token,
     "End a token"},
    {"createKnowledgebase", "POST", "/knowledgebase", kControl, kAdmin, post_knowledgebase,
     "Make a knowledgebase"},
    {"listKnowledgebases", "GET", "/knowledgebase", kControl, kAnyToken, list_knowledgebases,
     "The knowledgebases the caller may see"},
    {"getKnowledgebase", "GET", "/knowledgebase/{kb}", kControl, kIngestOrRead,
     get_knowledgebase,
     "One knowledgebase"},
    {"deleteKnowledgebase", "DELETE", "/knowledgebase/{kb}", kControl, kAdmin,
     delete_knowledgebase,
     "Move a knowledgebase aside"},
    {"listDocuments", "GET", "/knowledgebase/{kb}/documents", kControl, kRead, list_documents,
     "Documents and their status"},
    {"createReceiver", "POST", STRATA_OF_KB "/receivers", kControl, kAdmin, post_receiver,
     "Register a stream"},
    {"listReceivers", "GET", STRATA_OF_KB "/receivers", kControl, kIngestOrRead,
     list_receivers,
     "The receivers of a knowledgebase that the caller may see"},
    {"getReceiver", "GET", STRATA_OF_KB "/receivers/{stream}", kControl, kIngestOrRead,
     get_receiver,
     "One receiver with its numbers"},
    {"changeReceiver", "PATCH", STRATA_OF_KB "/receivers/{stream}", kControl, kAdmin,
     patch_receiver,
     "Change a receiver's settings"},
    {"deleteReceiver", "DELETE", STRATA_OF_KB "/receivers/{stream}", kControl, kAdmin,
     delete_receiver,
     "Move a stream aside"},
    {"resyncReceiver", "POST", STRATA_OF_KB "/receivers/{stream}/resync", kControl, kModel,
     post_resync,
     "Make the stream's view again"},
    {"verifyReceiver", "POST", STRATA_OF_KB "/receivers/{stream}/verify", kControl, kAdmin,
     post_verify,
     "Look through the stream's files, a page at a time"},
    {"listBatches", "GET", STRATA_OF_KB "/receivers/{stream}/batches", kControl, kIngestOrRead,
     list_batches,
     "The newest batches"},
    {"getBatch", "GET", STRATA_OF_KB "/receivers/{stream}/batches/{batch}", kControl,
     kIngestOrRead, get_batch,
     "One batch and where its rows are now"},
    {"listColumns", "GET", STRATA_OF_KB "/receivers/{stream}/columns", kControl, kRead,
     list_columns,
     "Per column the filled cells, samples and the first batch that has it"},
    {"getRates", "GET", STRATA_OF_KB "/receivers/{stream}/rates", kControl, kIngestOrRead,
     get_rates,
     "Rows and batches over time, for a chart"},
    {"getEvents", "GET", STRATA_OF_KB "/receivers/{stream}/events", kControl, kIngestOrRead,
     get_events,
     "The receiver's numbers as server-sent events when they change"},
    {"listRejects", "GET", STRATA_OF_KB "/receivers/{stream}/rejects", kControl, kIngestOrRead,
     list_rejects,
     "The newest rejected batches"},
    {"getReject", "GET", STRATA_OF_KB "/receivers/{stream}/rejects/{batch}", kControl,
     kIngestOrRead, get_reject,
     "One rejected batch: its reasons, or with ?body=1 its body"},
    {"deleteReject", "DELETE", STRATA_OF_KB "/receivers/{stream}/rejects/{batch}", kControl,
     kIngest, delete_reject,
     "Forget one rejected batch"},
    {"listTables", "GET", STRATA_OF_KB "/tables", kControl, kRead, list_tables,
     "Every table of a knowledgebase"},
    {"getSchema", "GET", STRATA_OF_KB "/schema", kControl, kRead, get_schema,
     "Schemas, views and columns, for completion"},
    {"query", "POST", STRATA_OF_KB "/query", kQuery, kRead, run_query,
     "Run one SELECT"},
    {"queryByAddress", "GET", STRATA_OF_KB "/query", kQuery, kRead, run_query,
     "Run one SELECT given as ?sql="},
    {"ingest", "POST", STRATA_OF_KB "/ingest/{stream}", kCommit, kIngest, post_batch,
     "Land one batch", admit_batch, /*takes_encodings=*/true},
};
#undef STRATA_OF_KB
// clang-format on

}  // namespace strata::api::operation_table
