#include "app/config.h"

#include <fmt/format.h>

// Errors are values here (style.md 2).
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "base/nearest.h"

namespace strata::app {
namespace {

constexpr const char* kConfig = "--config";

/// `log_format` of `--log-format`.
std::string key_of(const CLI::Option& option) {
  std::string key = option.get_lnames().front();
  std::ranges::replace(key, '-', '_');
  return key;
}

std::map<std::string, CLI::Option*> options_by_key(CLI::App& command) {
  std::map<std::string, CLI::Option*> options;
  for (CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option == command.get_help_ptr()) continue;
    options.emplace(key_of(*option), option);
  }
  return options;
}

Error at(const std::string& path, const toml::source_region& where, const std::string& reason) {
  return make_error(Code::kBadRequest,
                    fmt::format("{}, line {}: {}", path, where.begin.line, reason));
}

/// As the command line would have it. Nothing: a value of a kind that no option takes.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
  std::vector<std::string> texts;
  if (const auto* list = node.as_array()) {
    for (const toml::node& element : *list) {
      const auto text = text_of(element);
      if (!text) return std::nullopt;
      texts.push_back(*text);
    }
    return texts;
  }
  if (const auto text = text_of(node)) return std::vector{*text};
  return std::nullopt;
}

Error unknown_key(const std::string& path, const toml::node& node, const std::string& key,
                  const std::map<std::string, CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const auto& [name, option] : options) {
    if (option->get_name() != kConfig) names.push_back(name);
  }
  const auto near = nearest_name(key, names);
  return at(path, node.source(),
            near
                ? fmt::format("there is no key '{}'. Did you mean '{}'?", key, *near)
                : fmt::format("there is no key '{}'. Known are: {}.", key, fmt::join(names, ", ")));
}

Result<void> set(CLI::Option& option, const std::vector<std::string>& texts) {
  // CLI11 tells of a value it does not take by an exception only.
  try {
    for (const std::string& text : texts) option.add_result(text);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    return make_error(Code::kBadRequest, error.what());
  }
  return {};
}

}  // namespace

void add_config_option(CLI::App& command, std::string& path) {
  command.add_option(kConfig, path, "A file of these options, in TOML");
  for (const auto& [key, option] : options_by_key(command)) {
    std::string name = "STRATA_" + key;
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    option->envname(name);
  }
}

Result<void> apply_config(CLI::App& command, const std::string& path) {
  if (path.empty()) return {};
  const toml::parse_result parsed = toml::parse_file(path);
  if (!parsed) {
    return at(path, parsed.error().source(), std::string(parsed.error().description()));
  }
  const auto options = options_by_key(command);
  for (const auto& [name, node] : parsed.table()) {
    const std::string key(name.str());
    const auto found = options.find(key);
    if (found == options.end() || found->second->get_name() == kConfig) {
      return unknown_key(path, node, key, options);
    }
    const auto texts = texts_of(node);
    if (!texts) return at(path, node.source(), fmt::format("'{}' takes no such value.", key));
    if (found->second->count() > 0) continue;
    if (const auto done = set(*found->second, *texts); !done) {
      return at(path, node.source(), done.error().message);
    }
  }
  return {};
}

}  // namespace strata::app
