#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace strata::ontology {

/// Lower-case words: of a column's name, or of a stem, which is what its things are called.
using Words = std::vector<std::string>;

/// Apart at each change of case and at all that is neither letter nor digit, as they are written.
Words split_name(std::string_view name);
/// The same with the words that abbreviations stand for, and `userid` as two: what is compared.
Words words_of(std::string_view name);
/// What is left without the words that only say that it is a code or a name: `employee_id` and
/// `emp_nm` are employee. The last word is singular. Empty: `id`, `name`, `first_name`.
Words stem_of(const Words& words);

std::string singular(std::string_view word);
bool starts_with(const Words& words, const Words& beginning);
/// What a column is called among those of its entity: `emp_nm` is `name` of employee. One that is
/// not called after the entity, or has no other word, keeps its name.
std::string name_below(std::string_view name, const Words& stem);

std::string pascal_case(const Words& words);
std::string snake_case(const Words& words);

/// Names that are all different, whatever case they are compared in. Order of taking matters: take
/// in sorted order. Not thread-safe.
class NameSet {
 public:
  static constexpr std::size_t kNameBytesMax = 63;

  enum class Reserved : std::uint8_t { kAvoid, kAllow };
  explicit NameSet(Reserved reserved) : reserved_(reserved) {}
  /// `wanted`, cut to 63 bytes, with a number behind it if it is taken or SQL's own. `mark` stands
  /// before the number.
  std::string take(std::string_view wanted, std::string_view mark);

 private:
  Reserved reserved_;
  std::set<std::string> taken_;  // in lower case
};

}  // namespace strata::ontology
