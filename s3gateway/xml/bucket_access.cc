#include "s3gateway/xml/bucket_access.h"

#include <array>
#include <optional>

#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kOwnerships = {"BucketOwnerEnforced",
                                                         "BucketOwnerPreferred", "ObjectWriter"};

struct Member {
  std::string_view name;
  bool PublicAccessBlock::*value;
};
constexpr std::array kMembers{
    Member{"BlockPublicAcls", &PublicAccessBlock::block_public_acls},
    Member{"IgnorePublicAcls", &PublicAccessBlock::ignore_public_acls},
    Member{"BlockPublicPolicy", &PublicAccessBlock::block_public_policy},
    Member{"RestrictPublicBuckets", &PublicAccessBlock::restrict_public_buckets},
};

bool parse_boolean(Reader& in) {
  const std::string word = in.text();
  if (equal_ignoring_case(word, "true")) return true;
  if (!equal_ignoring_case(word, "false")) in.fail("has something other than true or false");
  return false;
}

std::optional<ObjectOwnership> find_ownership(std::string_view word) {
  for (size_t i = 0; i < kOwnerships.size(); ++i) {
    if (kOwnerships[i] == word) return static_cast<ObjectOwnership>(i);
  }
  return std::nullopt;
}

}  // namespace

ObjectOwnership parse_ownership(std::string_view word) {
  if (const auto found = find_ownership(word)) return *found;
  throw Refusal(failure::kMalformedXml,
                "The ownership of objects must be BucketOwnerEnforced, BucketOwnerPreferred or "
                "ObjectWriter.");
}

ObjectOwnership parse_ownership_controls(std::string_view document) {
  std::optional<std::string> word;
  Reader in(document);
  in.enter_root("OwnershipControls");
  while (const auto child = in.next_child()) {
    if (*child != "Rule" || word) in.fail("has something other than one Rule");
    while (const auto name = in.next_child()) {
      if (*name != "ObjectOwnership" || word) in.fail("has a Rule without one ObjectOwnership");
      word = in.text();
    }
    if (!word) in.fail("has a Rule without ObjectOwnership");
  }
  in.finish();
  if (!word) in.fail("has no Rule");
  return parse_ownership(*word);
}

std::string ownership_controls_to_xml(ObjectOwnership ownership) {
  Writer out("OwnershipControls");
  out.open("Rule");
  out.element("ObjectOwnership", kOwnerships[static_cast<size_t>(ownership)]);
  out.close("Rule");
  return out.finish();
}

PublicAccessBlock parse_public_access_block(std::string_view document) {
  PublicAccessBlock out;
  bool any = false;
  Reader in(document);
  in.enter_root("PublicAccessBlockConfiguration");
  while (const auto child = in.next_child()) {
    const Member* found = nullptr;
    for (const Member& member : kMembers) {
      if (member.name == *child) found = &member;
    }
    if (!found) in.fail("has an unknown element");
    out.*found->value = parse_boolean(in);
    any = true;
  }
  in.finish();
  if (any) return out;
  throw Refusal(failure::kInvalidRequest, "Must specify at least one configuration.");
}

std::string public_access_block_to_xml(const PublicAccessBlock& block) {
  Writer out("PublicAccessBlockConfiguration");
  for (const Member& member : kMembers) out.element(member.name, block.*member.value);
  return out.finish();
}

}  // namespace tarn::s3::xml
