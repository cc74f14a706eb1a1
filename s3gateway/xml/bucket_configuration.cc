#include "s3gateway/xml/bucket_configuration.h"

#include "core/base/str_cat.h"
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

}  // namespace tarn::s3::xml
