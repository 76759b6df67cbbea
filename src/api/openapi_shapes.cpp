#include "api/openapi_shapes.h"

#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace strata::api {
namespace {

namespace json = boost::json;

constexpr std::string_view kSchemas = R"json({
  "Problem": {"type": "string", "title": "string", "status": "integer", "detail": "string",
    "code": "string", "request_id": "string"},
  "LineError": {"line": "integer", "column?": "string", "reason": "string"},
  "BatchProblem": {"type": "string", "title": "string", "status": "integer", "detail": "string",
    "code": "string", "request_id": "string", "errors?": "[LineError]", "error_count?": "integer"},
  "Partition": {"$schema": {"type": "string", "enum": ["none", "day", "hour"]}},
  "Ready": {"ready": "boolean", "reasons": "[string]", "reduced": "[string]", "probe": "any"},
  "Limits": {"$schema": {"type": "object", "additionalProperties": {"type": "integer"}}},
  "Node": {"node": "string", "process": "string", "version": "string", "started_at": "string",
    "seen_seconds_ago": "integer", "alive": "boolean", "this": "boolean"},
  "KnowledgebaseRequest": {"id": "string", "backend?": "string"},
  "MigrateRequest": {"backend": "string"},
  "Knowledgebase": {"id": "string", "uuid": "string", "backend": "string", "created_at": "string"},
  "Document": {"document": "string", "status": "string", "tables": "integer"},
  "ReceiverRequest": {"stream": "string", "columns?": "[string]|null", "partition?": "Partition",
    "max_body_bytes?": "integer"},
  "ReceiverChange": {"columns?": "[string]|null", "partition?": "Partition",
    "max_body_bytes?": "integer"},
  "View": {"name": "string", "state": "ViewState", "reason?": "string"},
  "ViewState": {"$schema": {"type": "string", "enum": ["deferred", "ready", "error"]}},
  "Ingest": {"state": "IngestState", "code?": "string", "reason?": "string"},
  "IngestState": {"$schema": {"type": "string", "enum": ["open", "stopped"]}},
  "Receiver": {"stream": "string", "columns": "[string]|null", "partition": "Partition",
    "max_body_bytes": "integer", "view": "View", "ingest": "Ingest", "rows": "integer",
    "files": "integer", "bytes": "integer", "last_landed": "string|null", "rejected": "integer",
    "advice?": "string", "unreadable?": "string", "ingest_url": "string"},
  "Landed": {"batch_id": "string", "rows": "integer", "columns": "integer", "bytes?": "integer",
    "file?": "string", "body_sha256": "string", "file_sha256?": "string", "arrived_at": "string",
    "replayed": "boolean", "dry_run?": "boolean"},
  "Batch": {"batch_id": "string", "rows": "integer", "columns": "integer", "bytes": "integer",
    "file": "string|null", "body_sha256": "string", "file_sha256": "string",
    "arrived_at": "string", "where": "any"},
  "VerifyRequest": {"quarantine?": "boolean", "after?": "string|null"},
  "Finding": {"path": "string", "kind": "FindingKind", "reason": "string", "done?": "string",
    "failed?": "string"},
  "FindingKind": {"$schema": {"type": "string", "enum": ["damaged", "foreign", "claim", "columns",
    "receiver", "anchor", "unreadable"]}},
  "ColumnProfile": {"column": "string", "filled": "integer", "rows": "integer",
    "samples": "[string]", "first_batch": "string|null"},
  "Rate": {"at": "string", "rows": "integer", "batches": "integer"},
  "Rejected": {"batch_id": "string", "state": "RejectState", "rejected_at": "string",
    "bytes": "integer", "code": "any", "error_count": "any"},
  "RejectState": {"$schema": {"type": "string", "enum": ["open", "fixed"]}},
  "Job": {"job": "string", "kind": "string", "stream?": "string", "state": "JobState",
    "step": "string", "progress": "number", "result?": "any", "reason?": "string",
    "created_at": "string", "ended_at?": "string", "node": "string"},
  "JobState": {"$schema": {"type": "string", "enum": ["queued", "running", "done", "failed",
    "cancelled"]}},
  "Table": {"table": "string", "source": "string", "rows?": "integer", "state": "ViewState"},
  "SchemaColumn": {"name": "string", "type": "string"},
  "SchemaView": {"name": "string", "state": "ViewState", "columns": "[SchemaColumn]"},
  "Schema": {"name": "string", "views": "[SchemaView]"},
  "QueryRequest": {"sql": "string", "max_rows?": "integer", "timeout_ms?": "integer"},
  "Row": {"$schema": {"type": "array", "items": {}}},
  "Rows": {"columns": "[SchemaColumn]", "rows": "[Row]", "row_count": "integer",
    "truncated": "boolean", "read?": "any"},
  "Ndjson": {"$schema": {"type": "string", "description": "One JSON object a line."}},
  "Bytes": {"$schema": {"type": "string", "format": "binary"}},
  "ObjectType": {"id": "string", "name": "string", "kind": "string", "view": "string",
    "stream": "string", "key": "string|null", "properties": "[any]", "rules": "[string]"},
  "OntologyLink": {"name": "string", "from": "string", "to": "string", "column": "string",
    "status": "string", "rules": "[string]", "stream": "string"},
  "AppliedStream": {"stream": "string", "rows": "integer", "snapshot": "integer",
    "taken_at": "string", "views": "[string]"},
  "OntologyVersion": {"version": "integer", "state": "string", "created_at": "string",
    "job": "string", "added": "[string]", "removed": "[string]", "changed": "[string]"},
  "TokenRequest": {"scopes": "[string]", "expires?": "string|null", "name?": "string|null"},
  "Token": {"id": "string", "name": "string|null", "scopes": "[string]", "created_at": "string",
    "expires_at": "string|null"},
  "NewToken": {"id": "string", "name": "string|null", "scopes": "[string]",
    "created_at": "string", "expires_at": "string|null", "token": "string"}
})json";

constexpr std::string_view kOperationShapes = R"json({
  "getHealth": {"answers": {"200": {"live": "boolean"}}},
  "getReadiness": {"answers": {"200": "Ready", "503": "Ready"}},
  "getMetrics": {"answers": {"200": {"$media": {"text/plain": "string"}}}},
  "getOpenApi": {"answers": {"200": {"$schema": {"type": "object"}}}},
  "getLimits": {"answers": {"200": "Limits"}},
  "listNodes": {"answers": {"200": {"nodes": "[Node]"}}},
  "whoAmI": {"answers": {"200": {"auth": "string", "token": "string|null", "name": "string|null",
    "scopes": "[string]", "expires_at?": "string|null"}}},
  "createToken": {"body": "TokenRequest", "answers": {"201": "NewToken"}},
  "listTokens": {"answers": {"200": {"tokens": "[Token]"}}},
  "revokeToken": {"answers": {"200": {"id": "string", "revoked": "boolean"}}},
  "createKnowledgebase": {"body": "KnowledgebaseRequest", "answers": {"201": "Knowledgebase"}},
  "listKnowledgebases": {"answers": {"200": {"knowledgebase": "[Knowledgebase]"}}},
  "getKnowledgebase": {"answers": {"200": "Knowledgebase"}},
  "migrateKnowledgebase": {"body": "MigrateRequest", "answers": {"202": {"job": "string"}}},
  "deleteKnowledgebase": {"query": {"confirm": "string"},
    "answers": {"200": {"id": "string", "moved_to": "string"}}},
  "listDocuments": {"answers": {"200": {"documents": "[Document]"}}},
  "createReceiver": {"body": "ReceiverRequest", "answers": {"201": "Receiver", "200": "Receiver"}},
  "listReceivers": {"answers": {"200": {"receivers": "[Receiver]"}}},
  "getReceiver": {"answers": {"200": "Receiver"}},
  "changeReceiver": {"body": "ReceiverChange", "answers": {"200": "Receiver"}},
  "deleteReceiver": {"answers": {"200": {"stream": "string", "moved_to": "string"}}},
  "resyncReceiver": {"answers": {"200": {"view": "View"}}},
  "verifyReceiver": {"body": "VerifyRequest", "answers": {"200": {"stream": "string",
    "problems": "[Finding]", "leftovers": "[string]", "files": "integer", "rows": "integer",
    "bytes": "integer", "finished": "integer", "numbers": {"files": "integer", "rows": "integer"},
    "next": "string|null"}}},
  "listBatches": {"query": {"limit?": "integer", "before?": "string"},
    "answers": {"200": {"batches": "[Batch]", "next": "string|null"}}},
  "getBatch": {"answers": {"200": "Batch"}},
  "listColumns": {"answers": {"200": {"columns": "[ColumnProfile]", "rows": "integer",
    "files": "integer", "files_read": "integer", "complete": "boolean"}}},
  "getRates": {"query": {"window?": "string"}, "answers": {"200": {"rates": "[Rate]",
    "window": "string", "bucket_seconds": "integer", "since": "string"}}},
  "getEvents": {"answers": {"200": {"$media": {"text/event-stream": "string"}}}},
  "listRejects": {"query": {"limit?": "integer", "before?": "string"},
    "answers": {"200": {"rejects": "[Rejected]", "next": "string|null", "count": "integer",
    "bytes": "integer", "dropped": "integer"}}},
  "getReject": {"query": {"body?": "string"}, "answers": {"200": {"$media": {
    "application/json": "any", "application/x-ndjson": "Ndjson"}}}},
  "deleteReject": {"answers": {"200": "any"}},
  "applyOntology": {"answers": {"202": {"job": "string"}}},
  "getOntology": {"answers": {"200": {"version": "integer|null", "created_at": "string|null",
    "object_types": "[ObjectType]", "links": "[OntologyLink]", "streams": "[AppliedStream]"}}},
  "listOntologyVersions": {"answers": {"200": {"versions": "[OntologyVersion]"}}},
  "listJobs": {"query": {"limit?": "integer", "before?": "string"},
    "answers": {"200": {"jobs": "[Job]", "next": "string|null"}}},
  "getJob": {"answers": {"200": "Job"}},
  "getJobEvents": {"answers": {"200": {"$media": {"text/event-stream": "string"}}}},
  "cancelJob": {"answers": {"202": "Job"}},
  "listTables": {"answers": {"200": {"tables": "[Table]"}}},
  "getSchema": {"answers": {"200": {"schemas": "[Schema]"}}},
  "query": {"body": "QueryRequest", "answers": {"200": {"$media": {"application/json": "Rows",
    "application/x-ndjson": "Ndjson", "text/csv": "string",
    "application/vnd.apache.parquet": "Bytes",
    "application/vnd.apache.arrow.stream": "Bytes"}}}},
  "queryByAddress": {"query": {"sql": "string", "max_rows?": "integer", "timeout_ms?": "integer"},
    "answers": {"200": {"$media": {"application/json": "Rows",
    "application/x-ndjson": "Ndjson", "text/csv": "string",
    "application/vnd.apache.parquet": "Bytes",
    "application/vnd.apache.arrow.stream": "Bytes"}}}},
  "ingest": {"query": {"dry_run?": "string"},
    "headers": {"Idempotency-Key?": "string", "Content-Encoding?": "string"},
    "body": {"$media": {"application/x-ndjson": "Ndjson", "application/ndjson": "Ndjson",
      "application/jsonl": "Ndjson", "application/x-jsonlines": "Ndjson"}},
    "answers": {"200": "Landed", "400": {"$media": {"application/problem+json": "BatchProblem"}}}}
})json";

json::object parse(std::string_view text) {
  return json::parse(json::string_view(text.data(), text.size())).as_object();
}

json::value named(std::string_view shape) {
  if (shape.ends_with("|null")) {
    return json::object{
        {"anyOf", json::array{named(shape.substr(0, shape.size() - 5)), {{"type", "null"}}}}};
  }
  if (shape.starts_with('[') && shape.ends_with(']')) {
    return json::object{{"type", "array"}, {"items", named(shape.substr(1, shape.size() - 2))}};
  }
  if (shape == "any") return json::object{};
  if (shape.front() >= 'A' && shape.front() <= 'Z') {
    return json::object{{"$ref", "#/components/schemas/" + std::string(shape)}};
  }
  return json::object{{"type", shape}};
}

}  // namespace

const json::object& schemas() {
  static const json::object parsed = parse(kSchemas);
  return parsed;
}

const json::object& operation_shapes() {
  static const json::object parsed = parse(kOperationShapes);
  return parsed;
}

json::value to_json_schema(const json::value& shape) {
  if (const json::string* name = shape.if_string()) return named(*name);
  const json::object& object = shape.as_object();
  if (const json::value* schema = object.if_contains("$schema")) return *schema;
  json::object properties;
  json::array required;
  for (const auto& [key, member] : object) {
    std::string name(key);
    if (name.ends_with('?')) {
      name.pop_back();
    } else {
      required.emplace_back(name);
    }
    properties[name] = to_json_schema(member);
  }
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace strata::api
