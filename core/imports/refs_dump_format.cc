#include "core/imports/refs_dump_format.h"

#include <utility>

#include "core/base/wire.h"

namespace tarn::imports {
namespace {

constexpr uint8_t kFormat = 2;
constexpr uint8_t kFormatWithoutAliases = 1;

}  // namespace

std::string encode_refs(std::span<const DumpedRef> refs) {
  std::string out(1, static_cast<char>(kFormat));
  put_varint(out, refs.size());
  for (const DumpedRef& ref : refs) {
    out.push_back(static_cast<char>(ref.kind));
    put_bytes(out, ref.name);
    put_bytes(out, view_of(ref.commit));
    out.push_back(ref.hidden ? 1 : 0);
  }
  return out;
}

std::vector<DumpedRef> decode_refs(std::string_view bytes) {
  WireReader in(bytes, "dump of refs");
  const uint8_t format = in.u8();
  if (format != kFormat && format != kFormatWithoutAliases) in.fail("has an unknown format");
  std::vector<DumpedRef> refs;
  for (uint64_t left = in.varint(); left > 0; --left) {
    DumpedRef ref;
    const uint8_t kind = in.u8();
    if (kind > static_cast<uint8_t>(RefKind::kAlias)) in.fail("holds a ref of an unknown kind");
    ref.kind = static_cast<RefKind>(kind);
    ref.name = std::string(in.bytes());
    ref.commit = commit_id_from_bytes(in.bytes());
    ref.hidden = in.u8() != 0;
    refs.push_back(std::move(ref));
  }
  in.expect_end();
  return refs;
}

}  // namespace tarn::imports
