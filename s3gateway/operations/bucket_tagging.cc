// GetBucketTagging, PutBucketTagging, DeleteBucketTagging.
#include "core/branch/bucket_settings.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3 {
namespace {

constexpr Failure kNoSuchTagSet{"NoSuchTagSet", 404};

void replace_bucket_tags(Call& call, std::string_view bucket, const Metadata& tags) {
  const Repository repository = require_existing(call.engine(), require_bucket(call, bucket));
  branch::change_bucket_settings(call.engine(), repository, /*force=*/false,
                                 [&](BucketSettings& settings) { settings.tags = tags; });
}

}  // namespace

http::Response run(Call& call, const GetBucketTagging& endpoint) {
  const Repository repository =
      require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  const Metadata tags = branch::get_bucket_settings(call.engine(), repository).tags;
  if (tags.empty()) {
    throw Refusal(kNoSuchTagSet, "The TagSet does not exist.", {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::tagging_to_xml(tags));
}

http::Response run(Call& call, const PutBucketTagging& endpoint) {
  const Metadata tags = xml::parse_tagging(read_document(call, xml::kTaggingDocumentBytesMax));
  check_tags(tags, kBucketTagsMax);
  replace_bucket_tags(call, endpoint.bucket, tags);
  return no_content();
}

http::Response run(Call& call, const DeleteBucketTagging& endpoint) {
  replace_bucket_tags(call, endpoint.bucket, {});
  return no_content();
}

}  // namespace tarn::s3
