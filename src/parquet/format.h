#pragma once

#include <cstdint>
#include <string_view>

/// The numbers of parquet.thrift that our files use; private to this folder.
namespace strata::parquet {

inline constexpr std::string_view kMagic = "PAR1";  // at both ends of a file

// Type, FieldRepetitionType, ConvertedType.
inline constexpr std::int64_t kByteArray = 6;
inline constexpr std::int64_t kOptional = 1;
inline constexpr std::int64_t kUtf8 = 0;
// CompressionCodec.
inline constexpr std::int64_t kUncompressed = 0;
inline constexpr std::int64_t kZstd = 6;
// Encoding.
inline constexpr std::int64_t kPlain = 0;
inline constexpr std::int64_t kRunLength = 3;
inline constexpr std::int64_t kDictionaryIndices = 8;
// PageType.
inline constexpr std::int64_t kDataPage = 0;
inline constexpr std::int64_t kDictionaryPage = 2;

}  // namespace strata::parquet
