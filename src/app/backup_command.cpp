#include "app/backup_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

#include "app/failure.h"
#include "io/posix_file_system.h"
#include "stream/backup.h"

namespace strata::app {
namespace {

class BackupCommand final : public cli::Command {
 public:
  std::string data = "./strata-data";
  std::string kb;
  std::string target;

  cli::ExitCode run(cli::CommandContext& context) override {
    const auto id = KbId::parse(kb);
    if (!id) return fail(context, id.error());
    const auto fs = io::make_posix_file_system();
    const auto report =
        stream::back_up(*fs, {.root = absolute(data), .kb = *id, .target = absolute(target)});
    if (!report) return fail(context, report.error());
    *context.out << fmt::format("Backed up '{}' into {}: {} streams, {} batches, {} rows.\n", kb,
                                target, report->streams, report->batches, report->rows);
    if (report->copied == 0) {
      *context.out << "Its files are hard links to the root's: copy the folder to another disk to "
                      "be safe from the loss of this one.\n";
    }
    *context.out << fmt::format(
        "To restore it, put it back as kb/{} (or another name) of a root, owned by the server's "
        "user, and start the server.\n",
        kb);
    return cli::ExitCode::kDone;
  }

 private:
  static std::string absolute(const std::string& path) {
    std::string normal = std::filesystem::absolute(path).lexically_normal().string();
    while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
    return normal;
  }

  static cli::ExitCode fail(cli::CommandContext& context, const Error& error) {
    print_failure(*context.err, "backup", error);
    return cli::ExitCode::kUsage;
  }
};

}  // namespace

void add_backup_command(CLI::App& app, cli::CommandContext& context) {
  auto owned = std::make_unique<BackupCommand>();
  BackupCommand& command = *owned;
  context.commands.push_back(std::move(owned));
  CLI::App* backup = app.add_subcommand(
      "backup", "Copy a knowledgebase as it is now, also while batches land in it");
  backup->add_option("KB", command.kb, "The knowledgebase")->required();
  backup->add_option("DIR", command.target, "The backup's folder; must not exist yet")->required();
  backup->add_option("--data", command.data, "The root folder the server has as --data")
      ->capture_default_str();
  backup->footer("Example:\n  strata backup demo ./demo-backup --data ./strata-data");
  backup->callback([&command, &context] { context.exit_code = command.run(context); });
}

}  // namespace strata::app
