#pragma once

#include <string_view>

namespace strata::ontology::words {

/// The last word of a column that names things by codes. They are no part of the stem, but where
/// nothing else is left.
inline constexpr std::string_view kIdentifierEndings[] = {
    "code", "guid", "id", "key", "number", "ref", "reference", "sku", "uuid",
};

/// Also an identifier when it is the whole name or its last word, and a noun of its own.
inline constexpr std::string_view kIdentifierNouns[] = {
    "barcode", "ean", "gtin", "iata", "iban", "icao", "isbn", "sku", "upc", "vin",
};

/// The first word of an identifier: `id_customer`.
inline constexpr std::string_view kIdentifierBeginnings[] = {"guid", "id", "uuid"};

/// Of two identifiers of one thing the earlier word is its key.
inline constexpr std::string_view kKeyPreference[] = {
    "id", "uuid", "guid", "key", "number", "sku", "code", "reference", "ref",
};

/// The first word of a whole number that counts the lines below one header.
inline constexpr std::string_view kOrdinalBeginnings[] = {
    "index", "item", "line", "pos", "position", "row", "sequence", "step",
};

/// What the first line is numbered.
inline constexpr std::string_view kFirstOrdinals[] = {"0", "1", "10"};

}  // namespace strata::ontology::words
