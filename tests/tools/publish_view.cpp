// publish_view PROGRAM KB_FOLDER VIEW: publishes one generation with the view raw_extracted.VIEW
// through the product's own code, but without the kb lock, as a process would that lost its lease
// and does not know. Prints the generation's number. PROGRAM is the strata whose workers run DDL.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "duck/worker_pool.h"
#include "io/posix_file_system.h"
#include "kb/file_generations.h"

namespace {

using namespace strata;

Result<kb::Generation> publish_view(const std::string& program, const std::string& kb_path,
                                    std::string_view view) {
  const SystemClock clock;
  const auto fs = io::make_posix_file_system();
  const auto workers = duck::make_worker_pool({.program = program, .workers_max = 1});
  STRATA_ASSIGN_OR_RETURN(const auto folder, fs->open_directory(kb_path));
  STRATA_ASSIGN_OR_RETURN(
      const auto generations,
      kb::open_generations({.fs = *fs,
                            .clock = clock,
                            .workers = *workers,
                            .kb_folder = *folder,
                            .process = "publish_view-" + std::to_string(::getpid())}));
  duck::Sql ddl("CREATE VIEW raw_extracted.");
  ddl.ident(view).raw(" AS SELECT 1 AS one");
  return generations->publish({ddl});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: publish_view PROGRAM KB_FOLDER VIEW\n";
    return 2;
  }
  const auto published = publish_view(std::filesystem::absolute(argv[1]), argv[2], argv[3]);
  if (!published) {
    std::cerr << "publish_view: " << published.error().message << ' ' << published.error().detail
              << '\n';
    return 1;
  }
  std::cout << published->number << '\n';
  return 0;
}
