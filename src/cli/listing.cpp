#include "cli/listing.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "cli/table.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

namespace json = boost::json;

void flatten(const json::object& object, const std::string& prefix,
             std::vector<std::pair<std::string, std::string>>& lines) {
  for (const auto& [key, value] : object) {
    const std::string name = prefix + printable(key);
    if (value.is_object()) {
      flatten(value.get_object(), name + ".", lines);
    } else {
      lines.emplace_back(name, display(value));
    }
  }
}

}  // namespace

std::string render_list(const json::object& answer,
                        std::initializer_list<std::string_view> members) {
  std::vector<const json::object*> things;
  for (const auto& [key, value] : answer) {
    if (!value.is_array()) continue;
    for (const json::value& thing : value.get_array()) {
      if (thing.is_object()) things.push_back(&thing.get_object());
    }
  }
  Table table;
  std::vector<std::string_view> shown;
  for (const std::string_view member : members) {
    const auto has = [member](const json::object* thing) { return find_path(*thing, member); };
    const auto first = std::find_if(things.begin(), things.end(), has);
    if (first == things.end()) continue;
    shown.push_back(member);
    table.columns.push_back(
        {.name = std::string(member), .is_number = find_path(**first, member)->is_number()});
  }
  for (const json::object* thing : things) {
    auto& row = table.rows.emplace_back();
    for (const std::string_view member : shown) {
      const json::value* value = find_path(*thing, member);
      row.emplace_back(value == nullptr ? "-" : display(*value));
    }
  }
  if (things.empty()) return "none yet\n";
  return render_table(table);
}

std::string render_object(const json::object& object) {
  std::vector<std::pair<std::string, std::string>> lines;
  flatten(object, "", lines);
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, display_width(name));
  std::string out;
  for (const auto& [name, value] : lines) {
    out += name + ':' + std::string(width - display_width(name) + 1, ' ') + value + '\n';
  }
  return out;
}

}  // namespace strata::cli
