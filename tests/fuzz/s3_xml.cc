// XML request bodies of S3: the first byte chooses the document, the rest is its text.
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"
#include "s3gateway/xml/cors.h"
#include "s3gateway/xml/documents.h"
#include "s3gateway/xml/lifecycle.h"
#include "s3gateway/xml/reader.h"
#include "tests/fuzz/require.h"

namespace s3 = tarn::s3;
namespace xml = tarn::s3::xml;

namespace {

void read_delete(std::string_view body) {
  const size_t count = xml::parse_delete(body).objects.size();
  require(count > 0 && count <= xml::kDeleteKeysMax, "as many keys as are allowed");
}

void read_complete(std::string_view body) {
  require(xml::parse_complete(body).parts.size() <= xml::kCompletePartsMax,
          "as many parts as are allowed");
}

void read_tagging(std::string_view body) {
  const tarn::Metadata tags = xml::parse_tagging(body);
  require(xml::parse_tagging(xml::tagging_to_xml(tags)) == tags, "tags come back as they were");
}

void read_access_control(std::string_view body) {
  const xml::Owner owner{"id", "name"};
  require(xml::parse_acl(xml::acl_to_xml(owner, false), owner) == xml::AclGrants::kOwner,
          "the shown list can be written back");
  require(xml::parse_acl(xml::acl_to_xml(owner, true), owner) == xml::AclGrants::kPublicRead,
          "the shown public list can be written back");
  xml::parse_acl(body, owner);
}

void read_lifecycle(std::string_view body) {
  const tarn::LifecycleRules rules = xml::parse_lifecycle(body);
  const std::string shown = xml::lifecycle_to_xml(rules);
  require(xml::lifecycle_to_xml(xml::parse_lifecycle(shown)) == shown,
          "rules come back as they were");
}

void read_cors(std::string_view body) {
  const s3::CorsRules rules = xml::parse_cors(body);
  require(xml::parse_cors(xml::cors_to_xml(rules)) == rules, "rules come back as they were");
}

void read_ownership(std::string_view body) {
  const tarn::ObjectOwnership ownership = xml::parse_ownership_controls(body);
  require(xml::parse_ownership_controls(xml::ownership_controls_to_xml(ownership)) == ownership,
          "ownership comes back as it was");
}

void read_public_access(std::string_view body) {
  const std::string shown = xml::public_access_block_to_xml(xml::parse_public_access_block(body));
  require(xml::public_access_block_to_xml(xml::parse_public_access_block(shown)) == shown,
          "the block comes back as it was");
}

/// An unknown document, skipped as a whole.
void read_any(std::string_view body) {
  xml::Reader in(body);
  in.enter_root("Any");
  while (in.next_child()) in.skip();
  in.finish();
}

constexpr std::array kReaders = {&read_delete,    &read_complete,       &read_tagging,
                                 &read_any,       &read_access_control, &read_lifecycle,
                                 &read_ownership, &read_public_access,  &read_cors};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto read = kReaders[data[0] % kReaders.size()];
  try {
    read(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const s3::Refusal& refusal) {
    const int status = refusal.failure().status;
    require(status == 400 || status == 501, "a bad document is the caller's");
    require(!refusal.message().empty(), "a refusal says why");
  }
  return 0;
}
