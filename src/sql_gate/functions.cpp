#include "sql_gate/functions.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/nearest.h"

namespace strata::sql_gate {
namespace {

// A list is its names with a blank before and after each.

/// Operators, as the parser names them.
constexpr std::string_view kOperators =
    " !__postfix !~~ !~~* % & && * ** + - -> ->> / // <-> << <=> <@ >> @ @> ^ ^@ ilike_escape "
    "like_escape not_ilike_escape not_like_escape | || ~ ~~ ~~* ~~~ ";

/// Text and bytes.
constexpr std::string_view kText =
    " ascii bar base64 bin bit_length bit_position bitstring char_length character_length chr "
    "concat concat_ws contains damerau_levenshtein decode editdist3 encode ends_with error "
    "format format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_binary "
    "from_hex get_bit hamming hash hex instr jaccard jaro_similarity jaro_winkler_similarity "
    "lcase left left_grapheme length length_grapheme levenshtein lower lpad ltrim md5 "
    "md5_number md5_number_lower md5_number_upper mismatches nfc_normalize octet_length ord "
    "parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path position "
    "prefix printf regexp_escape regexp_extract regexp_extract_all regexp_full_match "
    "regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table repeat replace "
    "reverse right right_grapheme rpad rtrim set_bit sha1 sha256 split split_part starts_with "
    "str_split str_split_regex string_split string_split_regex string_to_array strip_accents "
    "strlen strpos substr substring substring_grapheme suffix to_base64 to_binary to_hex "
    "translate trim ucase unbin unhex unicode upper url_decode url_encode ";

/// Numbers.
constexpr std::string_view kNumbers =
    " abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot "
    "degrees divide equi_width_bins even exp factorial fdiv floor fmod gamma gcd "
    "greatest_common_divisor isfinite isinf isnan lcm least_common_multiple lgamma ln log "
    "log10 log2 mod multiply nextafter pi pow power radians random round round_even "
    "roundbankers sign signbit sin sinh sqrt subtract tan tanh to_base trunc xor ";

/// Dates and times.
constexpr std::string_view kDates =
    " age ago century current_date current_localtime current_localtimestamp date_add date_diff "
    "date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth "
    "dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era "
    "get_current_time get_current_timestamp hour isodow isoyear julian last_day make_date "
    "make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz microsecond "
    "millennium millisecond minute month monthname nanosecond normalized_interval now quarter "
    "second strftime strptime time_bucket timezone timezone_hour timezone_minute to_centuries "
    "to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes "
    "to_months to_quarters to_seconds to_timestamp to_weeks to_years today "
    "transaction_timestamp try_strptime week weekday weekofyear year yearweek ";

/// Lists and arrays.
constexpr std::string_view kLists =
    " aggregate apply array_aggr array_aggregate array_append array_apply array_cat "
    "array_concat array_contains array_cosine_distance array_cosine_similarity "
    "array_cross_product array_distance array_distinct array_dot_product array_extract "
    "array_filter array_grade_up array_has array_has_all array_has_any array_indexof "
    "array_inner_product array_intersect array_length array_negative_dot_product "
    "array_negative_inner_product array_pop_back array_pop_front array_position array_prepend "
    "array_push_back array_push_front array_reduce array_resize array_reverse "
    "array_reverse_sort array_select array_slice array_sort array_to_string "
    "array_to_string_comma_default array_transform array_unique array_value array_where "
    "array_zip filter flatten generate_series generate_subscripts grade_up len list_aggr "
    "list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg "
    "list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat "
    "list_contains list_cosine_distance list_cosine_similarity list_count list_distance "
    "list_distinct list_dot_product list_element list_entropy list_extract list_filter "
    "list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof "
    "list_inner_product list_intersect list_kurtosis list_kurtosis_pop list_last list_mad "
    "list_max list_median list_min list_mode list_negative_dot_product "
    "list_negative_inner_product list_pack list_position list_prepend list_product list_reduce "
    "list_resize list_reverse list_reverse_sort list_select list_sem list_skewness list_slice "
    "list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform "
    "list_unique list_value list_var_pop list_var_samp list_where list_zip range reduce unnest ";

/// Structs, maps, unions, enums.
constexpr std::string_view kNested =
    " cardinality element_at enum_code enum_first enum_last enum_range enum_range_boundary map "
    "map_concat map_contains map_contains_entry map_contains_value map_entries map_extract "
    "map_extract_value map_from_entries map_keys map_values row struct_concat struct_contains "
    "struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys "
    "struct_pack struct_position struct_update struct_values union_extract union_tag "
    "union_value ";

/// JSON.
constexpr std::string_view kJson =
    " array_to_json from_json from_json_strict json json_array json_array_length json_contains "
    "json_exists json_extract json_extract_path json_extract_path_text json_extract_string "
    "json_group_array json_group_object json_group_structure json_keys json_merge_patch "
    "json_object json_pretty json_quote json_structure json_transform json_transform_strict "
    "json_type json_valid json_value row_to_json to_json ";

/// Any value.
constexpr std::string_view kAny =
    " alias coalesce constant_or_null current_catalog current_database current_role "
    "current_schema current_schemas current_user gen_random_uuid greatest icu_sort_key ifnull "
    "least nullif pg_typeof session_user switch typeof user uuid uuid_extract_timestamp "
    "uuid_extract_version uuidv4 uuidv7 variant_typeof version ";

/// Aggregates and window functions.
constexpr std::string_view kAggregates =
    " any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max "
    "arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin "
    "array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or corr count count_if "
    "count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg fill first "
    "first_value fsum geomean geometric_mean group_concat histogram histogram_exact kahan_sum "
    "kurtosis kurtosis_pop lag last last_value lead list listagg mad max max_by mean median "
    "min min_by mode nth_value ntile percent_rank product quantile quantile_cont quantile_disc "
    "rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx "
    "regr_sxy regr_syy reservoir_quantile row_number sem skewness stddev stddev_pop "
    "stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance wavg "
    "weighted_avg ";

/// In FROM, where they make rows one by one.
constexpr std::string_view kTableFunctions = " generate_series range unnest ";

constexpr std::array kAllLists = {kOperators, kText, kNumbers, kDates,     kLists,
                                  kNested,    kJson, kAny,     kAggregates};

bool holds(std::string_view list, std::string_view name) {
  return name.find(' ') == std::string_view::npos &&
         list.find(' ' + std::string(name) + ' ') != std::string_view::npos;
}

void append_names(std::string_view list, std::vector<std::string>& names) {
  for (std::size_t begin = 1; begin < list.size();) {
    const std::size_t end = list.find(' ', begin);
    names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

bool is_allowed_function(std::string_view name) {
  return std::ranges::any_of(kAllLists, [name](auto list) { return holds(list, name); });
}

bool is_allowed_table_function(std::string_view name) { return holds(kTableFunctions, name); }

std::optional<std::string> nearest_function(std::string_view name) {
  std::vector<std::string> names;
  for (const std::string_view list : kAllLists) append_names(list, names);
  return nearest_name(name, names);
}

}  // namespace strata::sql_gate
