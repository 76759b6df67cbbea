// catalog_put CATALOG.SQLITE TABLE SOURCE STATE [ROWS]: puts one manifest row, as a part of Strata
// that is not built yet would (documents, uploads, feeds).
#include <charconv>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string_view>

#include "catalog/sqlite_catalog.h"

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::cerr << "usage: catalog_put CATALOG.SQLITE TABLE SOURCE STATE [ROWS]\n";
    return 2;
  }
  std::optional<std::uint64_t> rows;
  if (argc == 6) {
    const std::string_view text(argv[5]);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      std::cerr << "catalog_put: " << text << " is no number of rows\n";
      return 2;
    }
    rows = number;
  }
  const auto catalog = strata::catalog::open_sqlite_catalog(argv[1]);
  const auto put = catalog ? (*catalog)->put_manifest({argv[2], argv[3], rows, argv[4]})
                           : strata::Result<void>(catalog.error());
  if (!put) {
    std::cerr << "catalog_put: " << put.error().message << ' ' << put.error().detail << '\n';
    return 1;
  }
  return 0;
}
