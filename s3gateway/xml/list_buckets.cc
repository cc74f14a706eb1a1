#include "s3gateway/xml/list_buckets.h"

namespace tarn::s3::xml {

std::string to_xml(const ListAllMyBucketsResult& result) {
  Writer out("ListAllMyBucketsResult");
  out.open("Buckets");
  for (const ListAllMyBucketsResult::Bucket& bucket : result.buckets) {
    out.open("Bucket");
    out.element("BucketRegion", result.region);
    out.element("CreationDate", bucket.created);
    out.element("Name", bucket.name);
    out.close("Bucket");
  }
  out.close("Buckets");
  write_owner(out, "Owner", result.owner);
  if (!result.continuation_token.empty()) {
    out.element("ContinuationToken", result.continuation_token);
  }
  if (!result.prefix.empty()) out.element("Prefix", result.prefix);
  return out.finish();
}

}  // namespace tarn::s3::xml
