#include "s3gateway/xml/acl.h"

#include <algorithm>

#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
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

}  // namespace tarn::s3::xml
