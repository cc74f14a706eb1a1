#include "core/model/tag_rule.h"

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kMayCreate = 1;
constexpr uint8_t kMayDelete = 2;

}  // namespace

std::string encode_tag_rules(const std::vector<TagRule>& rules) {
  std::string out(1, static_cast<char>(kVersion));
  put_varint(out, rules.size());
  for (const TagRule& rule : rules) {
    put_bytes(out, rule.pattern.pattern());
    out.push_back(
        static_cast<char>((rule.may_create ? kMayCreate : 0) | (rule.may_delete ? kMayDelete : 0)));
  }
  return out;
}

std::vector<TagRule> decode_tag_rules(std::string_view bytes) {
  WireReader in(bytes, "tag protection rules");
  if (in.u8() != kVersion) in.fail("unknown version");
  std::vector<TagRule> out;
  for (uint64_t count = in.varint(); count > 0; --count) {
    const std::string_view pattern = in.bytes();
    if (!Glob::problem(pattern).empty()) in.fail("a pattern that is none");
    const uint8_t may = in.u8();
    out.push_back({.pattern = Glob(pattern),
                   .may_create = (may & kMayCreate) != 0,
                   .may_delete = (may & kMayDelete) != 0});
  }
  in.expect_end();
  return out;
}

}  // namespace tarn
