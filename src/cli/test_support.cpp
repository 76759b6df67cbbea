#include "cli/test_support.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/clock.h"
#include "cli/cli.h"

namespace strata::cli::testing {

ProgramRun run_program(FakeServer& server, const ProgramInput& input) {
  std::ostringstream out;
  std::ostringstream err;
  std::FILE* in = std::tmpfile();
  STRATA_CHECK(in != nullptr);
  std::fwrite(input.standard_input.data(), 1, input.standard_input.size(), in);
  std::rewind(in);
  FakeClock clock{WallTime{}};
  std::atomic<std::int64_t> slept_ms = 0;

  CommandContext context;
  context.out = &out;
  context.err = &err;
  context.in = in;
  context.err_is_terminal = input.err_is_terminal;
  context.clock = &clock;
  context.environment = [&input](const char* name) -> std::optional<std::string> {
    const auto found = input.environment.find(name);
    if (found == input.environment.end()) return std::nullopt;
    return found->second;
  };
  context.connect = [&server](const std::string& url,
                              std::chrono::milliseconds) -> Result<std::unique_ptr<http::Client>> {
    const std::lock_guard lock(server.mutex);
    server.urls.push_back(url);
    return std::make_unique<FakeClient>(server);
  };
  context.sleep = [&slept_ms](std::chrono::milliseconds time) { slept_ms += time.count(); };

  CLI::App app("Strata", "strata");
  add_client_commands(app, context);
  std::vector<const char*> argv{"strata"};
  for (const std::string& argument : input.arguments) argv.push_back(argument.c_str());
  ProgramRun result;
  result.exit_code = run(app, static_cast<int>(argv.size()), argv.data(), context);
  std::fclose(in);
  result.out = out.str();
  result.err = err.str();
  result.slept = std::chrono::milliseconds(slept_ms.load());
  return result;
}

TempFolder::TempFolder() {
  path_ = std::filesystem::temp_directory_path() / "strata-cli-test-XXXXXX";
  STRATA_CHECK(mkdtemp(path_.data()) != nullptr);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::file(const std::string& name, std::string_view text) const {
  std::ofstream stream(path(name), std::ios::binary);
  stream << text;
  stream.close();
  STRATA_CHECK(stream.good());
  return path(name);
}

}  // namespace strata::cli::testing
