// Parameters in PostgreSQL's binary format.
#include <bit>

#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/types.h"

namespace tarn::db {
namespace {

/// libpq would silently cut the text at the NUL.
void refuse_nul(std::string_view text) {
  const size_t at = text.find('\0');
  if (at != std::string_view::npos) {
    throw_invalid(str_cat("passing text to the database: NUL byte at offset ", at));
  }
}

void put_array_head(std::string& out, uint32_t element_type, size_t count) {
  put_be<int32_t>(out, count == 0 ? 0 : 1);  // dimensions: an empty array has none
  put_be<int32_t>(out, 0);                   // no NULL elements
  put_be<uint32_t>(out, element_type);
  if (count == 0) return;
  put_be<int32_t>(out, static_cast<int32_t>(count));
  put_be<int32_t>(out, 1);  // lower bound
}

template <typename T>
std::string integer_array(uint32_t element_type, std::span<const T> values) {
  std::string out;
  out.reserve(20 + values.size() * (4 + sizeof(T)));
  put_array_head(out, element_type, values.size());
  for (const T value : values) {
    put_be<int32_t>(out, sizeof(T));
    put_be<T>(out, value);
  }
  return out;
}

void put_element(std::string& out, std::string_view bytes) {
  put_be<int32_t>(out, static_cast<int32_t>(bytes.size()));
  out.append(bytes);
}

}  // namespace

Param::Param(bool v) : bytes_(1, v ? '\1' : '\0'), type_oid_(kBool) {}
Param::Param(int16_t v) : type_oid_(kInt2) { put_be(bytes_, v); }
Param::Param(int32_t v) : type_oid_(kInt4) { put_be(bytes_, v); }
Param::Param(int64_t v) : type_oid_(kInt8) { put_be(bytes_, v); }
Param::Param(double v) : type_oid_(kFloat8) { put_be(bytes_, std::bit_cast<uint64_t>(v)); }
Param::Param(std::string_view v) : bytes_(v), type_oid_(kText) { refuse_nul(v); }
Param::Param(Bytes v) : bytes_(v.value), type_oid_(kBytea) {}
Param::Param(std::nullopt_t) : null_(true) {}

Param::Param(std::span<const int64_t> v) : bytes_(integer_array(kInt8, v)), type_oid_(kInt8Array) {}
Param::Param(const std::vector<int32_t>& v)
    : bytes_(integer_array<int32_t>(kInt4, v)), type_oid_(kInt4Array) {}
Param::Param(const std::vector<int16_t>& v)
    : bytes_(integer_array<int16_t>(kInt2, v)), type_oid_(kInt2Array) {}

Param::Param(const std::vector<std::string>& v) : type_oid_(kTextArray) {
  put_array_head(bytes_, kText, v.size());
  for (const std::string& text : v) {
    refuse_nul(text);
    put_element(bytes_, text);
  }
}

Param::Param(const std::vector<Bytes>& v) : type_oid_(kByteaArray) {
  put_array_head(bytes_, kBytea, v.size());
  for (const Bytes& element : v) put_element(bytes_, element.value);
}

}  // namespace tarn::db
