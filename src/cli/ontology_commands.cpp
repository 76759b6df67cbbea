#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/job_watch.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/pages.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

namespace json = boost::json;

/// `a, b, c`.
std::string joined(const json::object& object, std::string_view member) {
  std::string all;
  const json::value* const items = object.if_contains(member);
  if (items == nullptr || !items->is_array()) return all;
  for (const json::value& item : items->as_array()) {
    if (!item.is_string()) continue;
    all += (all.empty() ? "" : ", ") + printable(std::string(item.as_string()));
  }
  return all;
}

struct ApplyCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  bool wait = false;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(
        context, connection, {.method = "POST", .target = of_receiver(kb, stream, "/ontology")});
    if (!response) return response.error();
    if (wait) return watch_started_job(context, *this, kb, *response, render_outcome);
    return print_answer(context, *this, *response, [this](const json::object& answer) {
      const std::string job = printable(text_member(answer, "job"));
      return fmt::format("began job {0}: strata job show {1} {0} --wait\n", job, printable(kb));
    });
  }

 private:
  static std::string render_outcome(const json::object& job) {
    const json::value* const result = job.if_contains("result");
    if (result == nullptr || !result->is_object()) return render_object(job);
    const json::object& outcome = result->as_object();
    const json::value* const unchanged = outcome.if_contains("unchanged");
    const bool is_unchanged = unchanged != nullptr && unchanged->is_bool() && unchanged->as_bool();
    const json::value* const version = outcome.if_contains("version");
    return fmt::format("version {}{}: {}\n", version == nullptr ? "" : json::serialize(*version),
                       is_unchanged ? " as before" : "", joined(outcome, "views"));
  }
};

/// One line a type: its kind, its view, its properties.
std::string render_types(const json::object& ontology) {
  json::array lines;
  const json::value* const types = ontology.if_contains("object_types");
  if (types == nullptr || !types->is_array()) return {};
  for (const json::value& type : types->as_array()) {
    if (!type.is_object()) continue;
    json::object line{{"name", text_member(type.as_object(), "name")},
                      {"kind", text_member(type.as_object(), "kind")},
                      {"view", "ontology." + text_member(type.as_object(), "view")},
                      {"stream", text_member(type.as_object(), "stream")}};
    std::string properties;
    if (const json::value* const all = type.as_object().if_contains("properties");
        all != nullptr && all->is_array()) {
      for (const json::value& property : all->as_array()) {
        if (!property.is_object()) continue;
        properties += (properties.empty() ? "" : ", ") + text_member(property.as_object(), "name");
      }
    }
    line["properties"] = properties;
    lines.push_back(std::move(line));
  }
  return render_list({{"object_types", std::move(lines)}},
                     {"name", "kind", "view", "stream", "properties"});
}

struct OntologyShowCommand final : ControlCommand {
  std::string kb;

  ExitCode run(CommandContext& context) override {
    const auto response =
        ask_for_success(context, connection, {.target = strata_path(kb, "/ontology")});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_types);
  }
};

struct OntologyVersionsCommand final : ControlCommand {
  std::string kb;

  ExitCode run(CommandContext& context) override {
    const auto response =
        ask_for_success(context, connection, {.target = strata_path(kb, "/ontology/versions")});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [](const json::object& answer) {
      json::object shown = answer;
      if (json::value* const versions = shown.if_contains("versions");
          versions != nullptr && versions->is_array()) {
        for (json::value& version : versions->as_array()) {
          if (!version.is_object()) continue;
          for (const std::string_view list : {"added", "removed", "changed"}) {
            version.as_object()[list] = joined(version.as_object(), list);
          }
        }
      }
      return render_list(shown, {"version", "state", "created_at", "added", "removed", "changed"});
    });
  }
};

}  // namespace

void add_ontology_commands(CLI::App& app, CommandContext& context) {
  const auto [apply, applied] = add_command<ApplyCommand>(
      app, context, "apply", "Make a stream's data model", "strata apply demo compensation --wait");
  apply->add_option("KB", applied->kb, "the knowledgebase, of the backend postgres")->required();
  apply->add_option("STREAM", applied->stream, "the stream")->required();
  apply->add_flag("--wait", applied->wait, "until it is done; exit code 1 if it fails");
  add_control_options(*apply, *applied);

  CLI::App* group = app.add_subcommand("ontology", "Look at the data model");
  group->require_subcommand(1);
  group->footer("Example:\n  strata ontology show demo");
  const auto [show, shown] = add_command<OntologyShowCommand>(
      *group, context, "show", "Show the types of the model", "strata ontology show demo");
  show->add_option("KB", shown->kb, "the knowledgebase")->required();
  add_control_options(*show, *shown);
  const auto [versions, listed] = add_command<OntologyVersionsCommand>(
      *group, context, "versions", "List the versions of the model and what each changed",
      "strata ontology versions demo");
  versions->add_option("KB", listed->kb, "the knowledgebase")->required();
  add_control_options(*versions, *listed);
}

}  // namespace strata::cli
