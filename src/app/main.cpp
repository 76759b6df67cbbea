#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "app/backup_command.h"
#include "app/config.h"
#include "app/failure.h"
#include "app/offline_tokens.h"
#include "app/root_command.h"
#include "app/serve.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "duck/copy_batch_writer.h"
#include "duck/worker_pool.h"
#include "strata_version.h"

namespace strata::app {
namespace {

void run_serve(const ServeOptions& options, cli::CommandContext& context) {
  const auto served = serve(options);
  if (served) return;
  print_failure(*context.err, "serve", served.error());
  context.exit_code =
      served.error().code == Code::kBadRequest ? cli::ExitCode::kUsage : cli::ExitCode::kRefused;
}

/// What the command line says before it is settled.
struct ServeArguments {
  ServeOptions options;
  std::vector<std::string> hosts;
  std::string config;
};

void add_serve_command(CLI::App& app, ServeArguments& arguments, cli::CommandContext& context) {
  ServeOptions& options = arguments.options;
  CLI::App* serve_command = app.add_subcommand("serve", "Run the server");
  serve_command->add_option("--listen", options.listen, "Address and port")->capture_default_str();
  serve_command->add_option("--data", options.data, "The root folder; made when missing")
      ->capture_default_str();
  serve_command->add_option("--node", options.node, "This node's name")->capture_default_str();
  serve_command
      ->add_option("--postgres", options.postgres,
                   "PostgreSQL for the catalogs of knowledgebases of that backend; "
                   "postgresql://user:password@host/database, better in STRATA_POSTGRES")
      ->type_name("URL");
  serve_command
      ->add_option("--redis", options.redis,
                   "Redis for the lock between nodes on several machines; "
                   "redis://user:password@host:6379, better in STRATA_REDIS")
      ->type_name("URL");
  serve_command
      ->add_option("--allow-host", arguments.hosts,
                   "A Host name to answer for besides localhost; may be repeated")
      ->delimiter(',');
  const std::map<std::string, bool> required{{"off", false}, {"required", true}};
  serve_command
      ->add_option("--auth", options.auth.required,
                   "off: every request may do all; required: each needs a token; off is for this "
                   "machine's own addresses only")
      ->transform(CLI::CheckedTransformer(required))
      ->type_name("off|required")
      ->default_str("off");
  serve_command->add_flag("--metrics-auth", options.auth.metrics_too,
                          "With --auth required: /healthz, /readyz, /metrics and /openapi.json "
                          "need a token too");
  serve_command->add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  serve_command->add_flag("--unsafe-queries", options.unsafe_queries,
                          "Run SQL even if this machine's kernel lacks Landlock or seccomp, which "
                          "hold a query to its own files; without it such a server only ingests");
  serve_command->footer("Example:\n  strata serve --data ./strata-data");
  add_config_option(*serve_command, arguments.config);
  serve_command->callback([&arguments, &context, serve_command] {
    if (const auto read = apply_config(*serve_command, arguments.config); !read) {
      *context.err << "strata serve: " << read.error().message << '\n';
      context.exit_code = cli::ExitCode::kUsage;
      return;
    }
    arguments.options.allowed_hosts.insert(arguments.hosts.begin(), arguments.hosts.end());
    run_serve(arguments.options, context);
  });
}

int run(int argc, char** argv) {
  // Before the command line is looked at: a worker has nothing to do with it, and starts often.
  if (argc == 2 && std::string_view(argv[1]) == "worker") return duck::worker_main();

  SystemClock clock;
  cli::CommandContext context = cli::system_context(clock);
  context.offline = [&clock](const std::string& data, const cli::ControlRequest& request) {
    return answer_offline(clock, data, request);
  };
  CLI::App app("Strata: records in over HTTP, one Parquet file a batch, rows out over SQL.",
               "strata");
  app.set_version_flag("--version",
                       fmt::format("strata {} (DuckDB {})", kVersion, duck::library_version()));
  app.footer(
      "Example:\n  strata serve --data ./strata-data\n"
      "Every command has --help with an example that works.");
  ServeArguments arguments;
  arguments.options.program = std::filesystem::read_symlink("/proc/self/exe");
  add_serve_command(app, arguments, context);
  cli::add_client_commands(app, context);
  add_backup_command(app, context);
  add_root_command(app, context);
  return cli::run(app, argc, argv, context);
}

}  // namespace
}  // namespace strata::app

int main(int argc, char** argv) {
  // One of the two places where an exception of a library ends (style.md 2.3).
  try {
    return strata::app::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "strata: " << error.what() << '\n';
    return 1;
  }
}
