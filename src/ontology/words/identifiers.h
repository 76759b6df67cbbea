#pragma once

#include <string_view>

namespace strata::ontology::words {

/// The last word of a column that names things by codes. They are no part of the stem, but where
/// nothing else is left.
inline constexpr std::string_view kIdentifierEndings[] = {
    "code", "guid", "id", "key", "number", "ref", "reference", "serial", "sku", "uuid",
};

/// Also an identifier when it is the whole name or its last word, and a noun of its own.
inline constexpr std::string_view kIdentifierNouns[] = {
    "barcode", "ean", "gtin", "iata", "iban", "icao", "imei", "isbn", "serial", "sku", "upc", "vin",
};

/// The first word of an identifier: `id_customer`.
inline constexpr std::string_view kIdentifierBeginnings[] = {"guid", "id", "uuid"};

/// Of two identifiers of one thing the earlier word is its key.
inline constexpr std::string_view kKeyPreference[] = {
    "id", "uuid", "guid", "key", "number", "sku", "serial", "code", "reference", "ref",
};

/// The first word of a whole number that counts the lines below one header.
inline constexpr std::string_view kOrdinalBeginnings[] = {
    "index", "item", "line", "pos", "position", "record", "row", "sequence", "step",
};

/// The last word of a text that says where a thing is found, and so which one it is.
inline constexpr std::string_view kLocatorEndings[] = {"path", "slug", "uri", "url"};
/// The first word, or the only one, of a running number of the rows themselves: nobody's code.
inline constexpr std::string_view kRowWords[] = {"index", "line", "record", "row", "sequence"};

/// What the first line is numbered.
inline constexpr std::string_view kFirstOrdinals[] = {"0", "1", "10"};

}  // namespace strata::ontology::words
