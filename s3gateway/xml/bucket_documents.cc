#include "s3gateway/xml/bucket_documents.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

constexpr std::string_view kUnnamedRegion = "us-east-1";

}  // namespace

std::string location_to_xml(std::string_view region) {
  // The root element itself contains the text, unlike in all other documents.
  std::string out = Writer("LocationConstraint").finish();
  if (region == kUnnamedRegion) return out;
  std::string text;
  append_escaped(text, region);
  out.insert(out.rfind("</"), text);
  return out;
}

void check_creation(std::string_view document) {
  if (document.empty()) return;
  Reader in(document);
  in.enter_root("CreateBucketConfiguration");
  while (const auto child = in.next_child()) {
    if (*child == "Bucket" || *child == "Tags") refuse_unsupported(str_cat("the element ", *child));
    in.skip();
  }
  in.finish();
}

std::string versioning_to_xml(Versioning versioning) {
  Writer out("VersioningConfiguration");
  if (versioning != Versioning::kOff) {
    out.element("Status", versioning == Versioning::kEnabled ? "Enabled" : "Suspended");
  }
  return out.finish();
}

std::string parse_versioning_status(std::string_view document) {
  std::string status;
  Reader in(document);
  in.enter_root("VersioningConfiguration");
  while (const auto child = in.next_child()) {
    if (*child == "Status") {
      status = in.text();
    } else if (*child == "MfaDelete") {
      if (in.text() == "Enabled") refuse_unsupported("deletions that ask for a second factor");
    } else {
      in.skip();
    }
  }
  in.finish();
  return status;
}

std::string request_payment_to_xml() {
  Writer out("RequestPaymentConfiguration");
  out.element("Payer", "BucketOwner");
  return out.finish();
}

std::string empty_to_xml(std::string_view root) { return Writer(root).finish(); }

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

namespace {

constexpr std::string_view kFullControl = "FULL_CONTROL";
constexpr std::string_view kRead = "READ";
constexpr std::string_view kUserType =
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\"";
constexpr std::string_view kGroupType =
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"Group\"";
constexpr std::string_view kAllUsers = "http://acs.amazonaws.com/groups/global/AllUsers";
constexpr std::string_view kAuthenticatedUsers =
    "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";

/// The grantee of a Grant, and the permission.
struct Grant {
  std::string id;
  std::string group;
  bool others = false;  ///< an email address, or an unknown grantee
  std::string permission;
};

Grant parse_grant(Reader& in) {
  Grant out;
  while (const auto child = in.next_child()) {
    if (*child == "Permission") {
      out.permission = in.text();
    } else if (*child == "Grantee") {
      while (const auto name = in.next_child()) {
        if (*name == "ID") {
          out.id = in.text();
        } else if (*name == "URI") {
          out.group = in.text();
        } else {
          out.others |= *name != "DisplayName";
          in.skip();
        }
      }
    } else {
      in.fail("has an unknown element in a Grant");
    }
  }
  return out;
}

AclGrants meaning_of(const Grant& grant, const Owner& owner) {
  if (grant.group == kAllUsers || grant.group == kAuthenticatedUsers) {
    const bool alone = grant.id.empty() && !grant.others;
    return alone && grant.group == kAllUsers && grant.permission == kRead ? AclGrants::kPublicRead
                                                                          : AclGrants::kPublic;
  }
  const bool owners = grant.id == owner.id && grant.group.empty() && !grant.others;
  return owners && grant.permission == kFullControl ? AclGrants::kOwner : AclGrants::kOther;
}

}  // namespace

std::string acl_to_xml(const Owner& owner, bool public_read) {
  Writer out("AccessControlPolicy");
  write_owner(out, "Owner", owner);
  out.open("AccessControlList");
  out.open("Grant");
  out.open_with("Grantee", kUserType);
  out.element("ID", owner.id);
  out.element("DisplayName", owner.display_name);
  out.close("Grantee");
  out.element("Permission", kFullControl);
  out.close("Grant");
  if (public_read) {
    out.open("Grant");
    out.open_with("Grantee", kGroupType);
    out.element("URI", kAllUsers);
    out.close("Grantee");
    out.element("Permission", kRead);
    out.close("Grant");
  }
  out.close("AccessControlList");
  return out.finish();
}

AclGrants parse_acl(std::string_view document, const Owner& owner) {
  Reader in(document);
  in.enter_root("AccessControlPolicy");
  size_t owned = 0;
  AclGrants most = AclGrants::kOwner;
  bool other = false;
  while (const auto child = in.next_child()) {
    if (*child == "Owner") {
      while (const auto name = in.next_child()) {
        if (*name == "ID") {
          other |= in.text() != owner.id;
        } else {
          in.skip();
        }
      }
    } else if (*child == "AccessControlList") {
      while (const auto name = in.next_child()) {
        if (*name != "Grant") in.fail("has something other than a Grant in its list");
        const AclGrants one = meaning_of(parse_grant(in), owner);
        owned += one == AclGrants::kOwner;
        if (one == AclGrants::kOther) {
          other = true;
        } else {
          most = std::max(most, one);
        }
      }
    } else {
      in.fail("has an unknown element");
    }
  }
  in.finish();
  if (most == AclGrants::kPublic) return most;
  // A list without the owner's grant would remove access that the owner always has.
  return other || owned == 0
             ? (most == AclGrants::kPublicRead ? AclGrants::kPublic : AclGrants::kOther)
             : most;
}

namespace {

void parse_tag(Reader& in, Metadata& tags) {
  std::optional<std::string> key;
  std::optional<std::string> value;
  while (const auto child = in.next_child()) {
    if (*child == "Key") {
      key = in.text();
    } else if (*child == "Value") {
      value = in.text();
    } else {
      in.fail("has an unknown element in a Tag");
    }
  }
  if (!key || !value) in.fail("has a Tag without Key or Value");
  if (!tags.emplace(*key, *value).second) {
    throw Refusal(failure::kInvalidTag, "A tag key occurs more than once.", {{"TagKey", *key}});
  }
}

}  // namespace

Metadata parse_tagging(std::string_view document) {
  Metadata tags;
  Reader in(document);
  in.enter_root("Tagging");
  bool has_set = false;
  while (const auto child = in.next_child()) {
    if (*child != "TagSet" || has_set) in.fail("has something other than one TagSet");
    has_set = true;
    while (const auto tag = in.next_child()) {
      if (*tag != "Tag") in.fail("has something other than a Tag in its TagSet");
      parse_tag(in, tags);
    }
  }
  in.finish();
  if (!has_set) in.fail("has no TagSet");
  return tags;
}

std::string tagging_to_xml(const Metadata& tags) {
  Writer out("Tagging");
  out.open("TagSet");
  for (const auto& [key, value] : tags) {
    out.open("Tag");
    out.element("Key", key);
    out.element("Value", value);
    out.close("Tag");
  }
  out.close("TagSet");
  return out.finish();
}

}  // namespace tarn::s3::xml
