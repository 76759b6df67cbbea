#include "api/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace strata::api {
namespace {

const prometheus::Histogram::BucketBoundaries kAckSeconds{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

const prometheus::Histogram::BucketBoundaries kStepSeconds{0.01, 0.03, 0.1, 0.3, 1,
                                                           3,    10,   30,  100, 300};

/// There from the start, so that a rate over any of them has a first point.
constexpr std::string_view kQueryResults[] = {"ok",
                                              "cancelled",
                                              "bad_request",
                                              "sql_error",
                                              "sql_refused",
                                              "unknown_table",
                                              "view_deferred",
                                              "not_acceptable",
                                              "out_of_memory",
                                              "busy",
                                              "timeout"};
constexpr std::string_view kOntologyResults[] = {"done", "unchanged", "failed", "cancelled"};

prometheus::MetricFamily family_of(const Metrics::Reading& reading) {
  prometheus::MetricFamily family;
  family.name = reading.name;
  family.help = reading.help;
  family.type = reading.counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  for (const Metrics::Sample& sample : reading.samples) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    (reading.counter ? metric.counter.value : metric.gauge.value) = sample.value;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

struct Metrics::Parts {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& batches = prometheus::BuildCounter()
                                                         .Name("strata_batches_total")
                                                         .Help("Batches by what became of them")
                                                         .Register(registry);
  prometheus::Family<prometheus::Counter>& rows =
      prometheus::BuildCounter().Name("strata_rows_total").Help("Rows landed").Register(registry);
  prometheus::Family<prometheus::Counter>& queries = prometheus::BuildCounter()
                                                         .Name("strata_queries_total")
                                                         .Help("Queries by outcome")
                                                         .Register(registry);
  prometheus::Histogram& ack = prometheus::BuildHistogram()
                                   .Name("strata_ack_seconds")
                                   .Help("From a batch's arrival to its 200")
                                   .Register(registry)
                                   .Add({}, kAckSeconds);
  prometheus::Family<prometheus::Counter>& ontology_jobs =
      prometheus::BuildCounter()
          .Name("strata_ontology_jobs_total")
          .Help("Applications of ontology that ended here, by outcome")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& ontology_steps =
      prometheus::BuildHistogram()
          .Name("strata_ontology_step_seconds")
          .Help("How long a step of applying ontology took")
          .Register(registry);
  prometheus::Family<prometheus::Gauge>& ontology_versions =
      prometheus::BuildGauge()
          .Name("strata_ontology_version")
          .Help("Version of the kb's model, when it was last applied here or asked for")
          .Register(registry);
  std::function<std::vector<Reading>()> read;

  /// A family finds a series by hashing all its labels, which costs more than the counting.
  prometheus::Counter& batches_of(const StreamLabels& stream, std::string_view result) {
    const std::lock_guard lock(mutex);
    const std::tuple<std::string_view, std::string_view, std::string_view> key(
        stream.kb, stream.stream, result);
    const auto known = batches_by_labels.find(key);
    if (known != batches_by_labels.end()) return *known->second;
    prometheus::Counter& counter = batches.Add(
        {{"kb", stream.kb}, {"stream", stream.stream}, {"result", std::string(result)}});
    batches_by_labels.emplace(key, &counter);
    return counter;
  }

  prometheus::Counter& rows_of(const StreamLabels& stream) {
    const std::lock_guard lock(mutex);
    const std::tuple<std::string_view, std::string_view> key(stream.kb, stream.stream);
    const auto known = rows_by_labels.find(key);
    if (known != rows_by_labels.end()) return *known->second;
    prometheus::Counter& counter = rows.Add({{"kb", stream.kb}, {"stream", stream.stream}});
    rows_by_labels.emplace(key, &counter);
    return counter;
  }

  std::mutex mutex;  // guards what follows
  std::map<std::tuple<std::string, std::string, std::string>, prometheus::Counter*, std::less<>>
      batches_by_labels;
  std::map<std::tuple<std::string, std::string>, prometheus::Counter*, std::less<>> rows_by_labels;
};

Metrics::Metrics() : parts_(std::make_unique<Parts>()) {
  for (const std::string_view result : kQueryResults) {
    parts_->queries.Add({{"result", std::string(result)}});
  }
  for (const std::string_view result : kOntologyResults) {
    parts_->ontology_jobs.Add({{"result", std::string(result)}});
  }
}
Metrics::~Metrics() = default;

void Metrics::count_batch(const StreamLabels& stream, std::string_view result) {
  parts_->batches_of(stream, result).Increment();
}

void Metrics::count_rows(const StreamLabels& stream, std::uint64_t rows) {
  parts_->rows_of(stream).Increment(static_cast<double>(rows));
}

void Metrics::observe_ack(std::chrono::nanoseconds duration) {
  parts_->ack.Observe(std::chrono::duration<double>(duration).count());
}

void Metrics::count_query(std::string_view result) {
  parts_->queries.Add({{"result", std::string(result)}}).Increment();
}

void Metrics::count_ontology_job(std::string_view result) {
  parts_->ontology_jobs.Add({{"result", std::string(result)}}).Increment();
}

void Metrics::observe_ontology_step(std::string_view step, std::chrono::nanoseconds duration) {
  parts_->ontology_steps.Add({{"step", std::string(step)}}, kStepSeconds)
      .Observe(std::chrono::duration<double>(duration).count());
}

void Metrics::set_ontology_version(const std::string& kb, std::uint64_t version) {
  parts_->ontology_versions.Add({{"kb", kb}}).Set(static_cast<double>(version));
}

void Metrics::on_look(std::function<std::vector<Reading>()> read) {
  parts_->read = std::move(read);
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  if (parts_->read) {
    for (const Reading& reading : parts_->read()) families.push_back(family_of(reading));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace strata::api
