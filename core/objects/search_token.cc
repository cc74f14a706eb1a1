#include "core/objects/search_token.h"

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/wire.h"

namespace tarn::objects {
namespace {

constexpr uint8_t kVersion = 1;

void put_place(std::string& out, const Place& place) {
  put_bytes(out, place.repository);
  put_bytes(out, place.ref);
  put_bytes(out, place.path);
}

/// The names go into SQL, which takes neither NUL nor bytes that are not UTF-8.
std::string read_text(WireReader& in) {
  std::string out(in.bytes());
  if (!is_utf8(out) || out.find('\0') != std::string::npos) in.fail("holds a name that is no text");
  return out;
}

Place read_place(WireReader& in) {
  Place out;
  out.repository = read_text(in);
  out.ref = read_text(in);
  out.path = read_text(in);
  return out;
}

void put_sorted(std::string& out, const SortedPlace& at) {
  out.push_back(at.rank.missing ? 1 : 0);
  put_u64be(out, at.rank.value);
  put_place(out, at.place);
}

SortedPlace read_sorted(WireReader& in) {
  SortedPlace out;
  out.rank.missing = in.u8() != 0;
  out.rank.value = in.u64be();
  out.place = read_place(in);
  return out;
}

void put_optional(std::string& out, const std::optional<SortedPlace>& at) {
  out.push_back(at ? 1 : 0);
  if (at) put_sorted(out, *at);
}

std::optional<SortedPlace> read_optional(WireReader& in) {
  if (in.u8() == 0) return std::nullopt;
  return read_sorted(in);
}

SearchToken read(std::string_view bytes) {
  WireReader in(bytes, "token");
  SearchToken out;
  if (in.u8() != kVersion) in.fail("has another version");
  out.question = in.u64be();
  out.position = read_place(in);
  out.ref_done = in.u8() != 0;
  out.above = read_optional(in);
  out.up_to = read_optional(in);
  while (!in.done()) out.candidates.push_back(read_sorted(in));
  return out;
}

[[noreturn]] void refuse() {
  throw_invalid(
      "search: 'after' is not where this search goes on: pass next_offset of its last page, with "
      "the same conditions, order, repositories and refs");
}

}  // namespace

std::string SearchToken::encode() const {
  std::string out(1, static_cast<char>(kVersion));
  put_u64be(out, question);
  put_place(out, position);
  out.push_back(ref_done ? 1 : 0);
  put_optional(out, above);
  put_optional(out, up_to);
  for (const SortedPlace& one : candidates) put_sorted(out, one);
  return to_base64url(out);
}

SearchToken SearchToken::decode(std::string_view text, uint64_t question) {
  const auto bytes = from_base64url(text);
  if (!bytes) refuse();
  try {
    SearchToken out = read(*bytes);
    if (out.question != question) refuse();
    return out;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    refuse();
  }
}

}  // namespace tarn::objects
