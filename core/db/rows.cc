// Results in PostgreSQL's binary format.
#include <bit>
#include <initializer_list>

#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/connection_state.h"
#include "core/db/types.h"

namespace tarn::db {
namespace {

[[noreturn]] void misuse(size_t row, int column, std::string_view what) {
  throw Error(ErrorCode::kInternal,
              str_cat("reading row ", row, " column ", column, " of a result: ", what));
}

void expect_type(uint32_t type, std::initializer_list<uint32_t> allowed, size_t row, int column) {
  for (const uint32_t one : allowed) {
    if (type == one) return;
  }
  misuse(row, column, str_cat("its type is ", type));
}

/// Calls `element` for each element of a binary array. Returns false unless the bytes are a
/// one-dimensional array without NULLs.
template <typename Element>
bool each_element(std::string_view bytes, Element&& element) {
  constexpr size_t kHeadBytes = 12;
  constexpr size_t kDimensionBytes = 8;
  if (bytes.size() < kHeadBytes) return false;
  const auto dimensions = get_be<int32_t>(bytes);
  bytes.remove_prefix(kHeadBytes);
  if (dimensions == 0) return true;
  if (dimensions != 1 || bytes.size() < kDimensionBytes) return false;
  const auto count = get_be<int32_t>(bytes);
  bytes.remove_prefix(kDimensionBytes);
  for (int32_t i = 0; i < count; ++i) {
    if (bytes.size() < sizeof(int32_t)) return false;
    const auto length = get_be<int32_t>(bytes);
    bytes.remove_prefix(sizeof(int32_t));
    if (length < 0 || bytes.size() < static_cast<size_t>(length)) return false;
    element(bytes.substr(0, static_cast<size_t>(length)));
    bytes.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

int64_t integer_of(std::string_view bytes) {
  switch (bytes.size()) {
    case 2:
      return get_be<int16_t>(bytes);
    case 4:
      return get_be<int32_t>(bytes);
    default:
      return get_be<int64_t>(bytes);
  }
}

}  // namespace

size_t Rows::size() const {
  return state_ ? static_cast<size_t>(PQntuples(state_->result.get())) : 0;
}

uint64_t Rows::affected() const {
  if (!state_) return 0;
  const std::string count = PQcmdTuples(state_->result.get());
  return count.empty() ? 0 : std::stoull(count);
}

size_t Rows::row_bytes(size_t row) const {
  size_t bytes = 0;
  for (int column = 0; column < PQnfields(state_->result.get()); ++column) {
    bytes += static_cast<size_t>(PQgetlength(state_->result.get(), static_cast<int>(row), column));
  }
  return bytes;
}

bool Rows::null(size_t row, int column) const {
  if (row >= size() || column < 0 || column >= PQnfields(state_->result.get())) {
    misuse(row, column, "not there");
  }
  return PQgetisnull(state_->result.get(), static_cast<int>(row), column) != 0;
}

std::string_view Rows::field(size_t row, int column) const {
  if (null(row, column)) misuse(row, column, "NULL");
  const PGresult* result = state_->result.get();
  const int at = static_cast<int>(row);
  return {PQgetvalue(result, at, column), static_cast<size_t>(PQgetlength(result, at, column))};
}

uint32_t Rows::type(int column) const { return PQftype(state_->result.get(), column); }

bool Rows::boolean(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kBool}, row, column);
  return bytes[0] != 0;
}

int64_t Rows::integer(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kInt8, kInt4, kInt2, kPgLsn, kXid8}, row, column);
  return integer_of(bytes);
}

double Rows::real(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kFloat8}, row, column);
  return std::bit_cast<double>(get_be<uint64_t>(bytes));
}

std::string_view Rows::text(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kText, kBytea, kVarchar, kName, kBpchar, kJson}, row, column);
  return bytes;
}

std::string_view Rows::bytes(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kBytea}, row, column);
  return bytes;
}

std::vector<int64_t> Rows::integers(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kInt8Array, kInt4Array, kInt2Array}, row, column);
  std::vector<int64_t> out;
  if (!each_element(bytes, [&out](std::string_view e) { out.push_back(integer_of(e)); })) {
    misuse(row, column, "an array with NULLs or several dimensions");
  }
  return out;
}

std::vector<std::string> Rows::strings(size_t row, int column) const {
  const std::string_view bytes = field(row, column);
  expect_type(type(column), {kTextArray, kByteaArray, kVarcharArray, kNameArray}, row, column);
  std::vector<std::string> out;
  if (!each_element(bytes, [&out](std::string_view e) { out.emplace_back(e); })) {
    misuse(row, column, "an array with NULLs or several dimensions");
  }
  return out;
}

}  // namespace tarn::db
