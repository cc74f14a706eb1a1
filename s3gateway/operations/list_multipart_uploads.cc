#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/objects/multipart.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

/// Greater than every byte of UTF-8: skips all keys below a common prefix.
constexpr char kPastUploadsOfKey = '\xff';
/// Greater than every upload id: a key marker without an upload id skips all uploads of its key.
constexpr std::string_view kPastEveryId = "\x7f";

/// Collects one page and groups keys at the delimiter.
class UploadPages {
 public:
  /// `root` ("main/") precedes the keys of a rooted bucket in the store; clients do not see it.
  UploadPages(Call& call, const BucketName& bucket, const ListQuery& query)
      : call_(call),
        repository_(bucket.repository),
        root_(bucket.rooted() ? bucket.ref + "/" : ""),
        query_(query) {}

  void collect(std::string upload_id_marker, xml::ListMultipartUploadsResult& out) {
    objects::UploadMarker after;
    if (!query_.after.empty()) {
      const bool alone = upload_id_marker.empty();
      after = {root_ + query_.after,
               alone ? std::string(kPastEveryId) : std::move(upload_id_marker)};
    }
    bool more = true;
    while (more && !out.truncated) {
      auto page = objects::list_multiparts(call_.engine(), repository_, root_ + query_.prefix,
                                           after, kPageItemsMax);
      more = page.has_more;
      for (const objects::MultipartUpload& upload : page.items) {
        const std::string key = key_of(upload);
        after = {root_ + key, upload.upload_id};
        if (!add(upload, key, out)) break;
        // Skip the other uploads of the group.
        if (const auto group = group_of(key)) after = {root_ + *group + kPastUploadsOfKey, ""};
      }
    }
  }

 private:
  std::string key_of(const objects::MultipartUpload& upload) const {
    return str_cat(upload.branch.str(), '/', upload.key.str()).substr(root_.size());
  }

  std::optional<std::string> group_of(const std::string& key) const {
    if (query_.delimiter.empty()) return std::nullopt;
    const size_t at = key.find(query_.delimiter, query_.prefix.size());
    if (at == std::string::npos) return std::nullopt;
    return key.substr(0, at + query_.delimiter.size());
  }

  /// False if the page is full; marks it as truncated.
  bool add(const objects::MultipartUpload& upload, const std::string& key,
           xml::ListMultipartUploadsResult& out) {
    const auto group = group_of(key);
    if (group && *group == query_.after) return true;  // shown as the last of the previous page
    if (group && !out.common_prefixes.empty() && out.common_prefixes.back() == *group) return true;
    if (out.uploads.size() + out.common_prefixes.size() == query_.limit) {
      out.truncated = true;
      return false;
    }
    if (group) {
      out.common_prefixes.push_back(*group);
      out.next_key_marker = *group;
      out.next_upload_id_marker.clear();
    } else {
      out.uploads.push_back({key,
                             upload.upload_id,
                             {upload.owner, upload.owner},
                             upload.created,
                             std::string(upper_name_of(upload.checksum_algorithm)),
                             upload.checksum_type});
      out.next_key_marker = key;
      out.next_upload_id_marker = upload.upload_id;
    }
    return true;
  }

  Call& call_;
  const RepositoryName& repository_;
  const std::string root_;
  const ListQuery& query_;
};

}  // namespace

http::Response run(Call& call, const ListMultipartUploads& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-uploads", endpoint.key_marker.value_or(""));
  require_existing(call.engine(), bucket);
  xml::ListMultipartUploadsResult result;
  result.bucket = endpoint.bucket;
  result.prefix = query.prefix;
  result.delimiter = query.delimiter;
  result.key_marker = query.after;
  // Without a key marker the upload id marker is ignored.
  result.upload_id_marker = query.after.empty() ? "" : endpoint.upload_id_marker.value_or("");
  check_key_bytes(result.upload_id_marker);
  result.url_encoding = query.url_encoding;
  result.max_uploads = query.limit;
  if (query.limit > 0) {
    UploadPages(call, bucket, query).collect(result.upload_id_marker, result);
  }
  return xml_response(200, to_xml(result));
}

}  // namespace tarn::s3
