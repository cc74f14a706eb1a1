// PostgreSQL's type numbers (fixed for built-in types; catalog/pg_type.dat) and its big-endian
// integers. Private to core/db.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tarn::db {

enum TypeOid : uint32_t {
  kBool = 16,
  kBytea = 17,
  kName = 19,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kJson = 114,
  kFloat8 = 701,
  kBpchar = 1042,
  kVarchar = 1043,
  kByteaArray = 1001,
  kNameArray = 1003,
  kInt2Array = 1005,
  kInt4Array = 1007,
  kTextArray = 1009,
  kVarcharArray = 1015,
  kInt8Array = 1016,
  kPgLsn = 3220,
  kXid8 = 5069,
};

/// Appends an integer, most significant byte first.
template <typename T>
void put_be(std::string& out, T value) {
  char bytes[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * (sizeof(T) - 1 - i)));
  }
  out.append(bytes, sizeof(T));
}

/// Reads the integer at the front of `bytes`, which holds at least sizeof(T).
template <typename T>
T get_be(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return static_cast<T>(value);
}

/// -1 as a length means NULL, in fields, array elements and COPY alike.
constexpr int32_t kNullLength = -1;

}  // namespace tarn::db
