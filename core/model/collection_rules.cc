#include "core/model/collection_rules.h"

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kRulesVersion = 1;

}  // namespace

std::string encode_collection_rules(const CollectionRules& rules) {
  std::string out(1, static_cast<char>(kRulesVersion));
  put_varint(out, rules.default_retention_days);
  put_varint(out, rules.retention_days.size());
  for (const auto& [branch, days] : rules.retention_days) {
    put_bytes(out, branch);
    put_varint(out, days);
  }
  return out;
}

CollectionRules decode_collection_rules(std::string_view bytes) {
  WireReader in(bytes, "garbage collection rules");
  if (in.u8() != kRulesVersion) in.fail("unknown version");
  CollectionRules out;
  out.default_retention_days = static_cast<uint32_t>(in.varint());
  for (uint64_t count = in.varint(); count > 0; --count) {
    std::string branch(in.bytes());
    out.retention_days[std::move(branch)] = static_cast<uint32_t>(in.varint());
  }
  in.expect_end();
  return out;
}

}  // namespace tarn
