#include "s3gateway/xml/bucket_configuration.h"

#include "core/base/str_cat.h"
#include "s3gateway/errors.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

constexpr std::string_view kUnnamedRegion = "us-east-1";
constexpr std::string_view kFullControl = "FULL_CONTROL";
constexpr std::string_view kUserType =
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\"";

/// Whether a Grant gives the owner full control.
bool is_owners(Reader& in, const Owner& owner) {
  bool holder = false;
  bool others = false;
  bool full = false;
  while (const auto child = in.next_child()) {
    if (*child == "Permission") {
      full = in.text() == kFullControl;
    } else if (*child == "Grantee") {
      while (const auto name = in.next_child()) {
        if (*name == "ID") {
          holder = in.text() == owner.id;
        } else {
          others |= *name != "DisplayName";  // a group or an address
          in.skip();
        }
      }
    } else {
      in.fail("has an unknown element in a Grant");
    }
  }
  return holder && full && !others;
}

}  // namespace

std::string location_to_xml(std::string_view region) {
  // The root element is the value itself, so this one document has text in its root.
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

std::string no_versioning_to_xml() { return empty_to_xml("VersioningConfiguration"); }

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

std::string owner_only_acl_to_xml(const Owner& owner) {
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
  out.close("AccessControlList");
  return out.finish();
}

bool grants_owner_only(std::string_view document, const Owner& owner) {
  Reader in(document);
  in.enter_root("AccessControlPolicy");
  size_t grants = 0;
  bool only = true;
  while (const auto child = in.next_child()) {
    if (*child == "Owner") {
      while (const auto name = in.next_child()) {
        if (*name == "ID") {
          only &= in.text() == owner.id;
        } else {
          in.skip();
        }
      }
    } else if (*child == "AccessControlList") {
      while (const auto grant = in.next_child()) {
        if (*grant != "Grant") in.fail("has something other than a Grant in its list");
        only &= is_owners(in, owner);
        ++grants;
      }
    } else {
      in.fail("has an unknown element");
    }
  }
  in.finish();
  return only && grants > 0;
}

std::string request_payment_to_xml() {
  Writer out("RequestPaymentConfiguration");
  out.element("Payer", "BucketOwner");
  return out.finish();
}

std::string empty_to_xml(std::string_view root) { return Writer(root).finish(); }

}  // namespace tarn::s3::xml
