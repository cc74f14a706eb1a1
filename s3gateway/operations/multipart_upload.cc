// Multipart uploads: creation, parts, completion and listings.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "core/base/encoding.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/operations/copy_source_object.h"
#include "s3gateway/operations/joined_checksums.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

/// Throws NoSuchUpload for an id that is unknown, completed, aborted, or of another bucket, branch
/// or key.
objects::MultipartUpload open_upload(Call& call, const Location& location,
                                     std::string_view upload_id) {
  // A key that no object can have cannot have an upload either.
  if (!is_branch_name(location.ref) || location.path.empty() || upload_id.empty()) {
    throw Error(ErrorCode::kNotFound, reason::kNoSuchUpload, "nothing can be uploaded there");
  }
  return objects::get_multipart(call.engine(), location.repository, BranchName(location.ref),
                                parse_key(location.path), upload_id);
}

/// Throws InvalidArgument unless it is a number from 1 to 10000.
uint32_t check_part_number(const std::string& text) {
  if (text.empty()) {
    throw Refusal(failure::kInvalidArgument, "The parameter partNumber is required.",
                  {{"ArgumentName", "partNumber"}});
  }
  return static_cast<uint32_t>(check_number(text, "partNumber", 1, objects::kPartNumberMax, 1));
}

constexpr std::string_view kComposite = "COMPOSITE";
constexpr std::string_view kIfInitiatedTime = "x-amz-if-match-initiated-time";

/// Chooses algorithm and type of the object's checksum. SHA digests cannot be merged, CRC64NVME
/// always is.
void choose_checksum(const http::Headers& headers, objects::MultipartCreation& creation) {
  const std::string_view name = headers.get("x-amz-checksum-algorithm");
  const std::string_view type = headers.get("x-amz-checksum-type");
  if (name.empty()) {
    if (type.empty()) return;
    throw Refusal(failure::kInvalidRequest,
                  "The x-amz-checksum-type header can only be used with the "
                  "x-amz-checksum-algorithm header.");
  }
  creation.checksum_algorithm = require_algorithm(name);
  const bool is_sha = creation.checksum_algorithm.starts_with("sha");
  const bool merged_only = creation.checksum_algorithm == "crc64nvme";
  if (type.empty()) {
    creation.checksum_type = std::string(merged_only ? kFullObjectType : kComposite);
  } else if ((type == kFullObjectType && !is_sha) || (type == kComposite && !merged_only)) {
    creation.checksum_type = std::string(type);
  } else {
    throw Refusal(failure::kInvalidRequest,
                  str_cat("The ", type, " checksum type cannot be used with the ", name,
                          " checksum algorithm."));
  }
}

}  // namespace

http::Response run(Call& call, const CreateMultipartUpload& endpoint) {
  const http::Headers& headers = call.request.headers;
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_object_acl(call, endpoint.bucket);
  objects::MultipartCreation creation;
  creation.owner = call.caller.user.name;
  creation.attributes = parse_object_attributes(headers);
  choose_checksum(headers, creation);
  const objects::UploadTarget target = check_upload(call.engine(), location, {});
  const objects::MultipartUpload upload =
      objects::create_multipart(call.engine(), target, creation);
  http::Response response = xml_response(
      200,
      to_xml(xml::InitiateMultipartUploadResult{endpoint.bucket, endpoint.key, upload.upload_id}));
  if (!creation.checksum_algorithm.empty()) {
    response.headers.add("x-amz-checksum-algorithm",
                         std::string(upper_name_of(creation.checksum_algorithm)));
    response.headers.add("x-amz-checksum-type", creation.checksum_type);
  }
  return response;
}

http::Response run(Call& call, const AbortMultipartUpload& endpoint) {
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  const auto created = time_condition(call.request.headers, kIfInitiatedTime);
  if (created && to_seconds(*created) != to_seconds(upload.created)) refuse_condition();
  objects::abort_multipart(call.engine(), upload);
  return no_content();
}

// UploadPart and UploadPartCopy.

namespace {

/// Keeps the digest of the upload's algorithm, which the completion joins.
std::vector<sigv4::ChecksumAlgorithm> algorithms_of(const objects::MultipartUpload& upload) {
  const auto algorithm = sigv4::parse_checksum_algorithm(upload.checksum_algorithm);
  if (!algorithm) return {};
  return {*algorithm};
}

/// A part must have the checksum algorithm of its upload, or the completion could not check it.
void check_part_algorithm(const objects::MultipartUpload& upload, const http::Headers& headers) {
  if (upload.checksum_algorithm.empty()) return;
  for (const Checksum& checksum : checksum_headers(headers)) {
    if (checksum.algorithm == upload.checksum_algorithm) continue;
    throw Refusal(
        failure::kInvalidRequest,
        str_cat("Checksum Type mismatch occurred, expected checksum Type: ",
                upload.checksum_algorithm, ", actual checksum Type: ", checksum.algorithm));
  }
}

blob::ByteRange copied_range(const http::Headers& headers, uint64_t source_bytes) {
  const std::string* header = headers.find("x-amz-copy-source-range");
  if (!header) return {0, source_bytes};
  const auto range = parse_copy_range(*header);
  if (!range) {
    throw Refusal(
        failure::kInvalidArgument,
        "The x-amz-copy-source-range value must be of the form bytes=first-last where first and "
        "last are the zero-based offsets of the first and last bytes to copy.",
        {{"ArgumentName", "x-amz-copy-source-range"}, {"ArgumentValue", *header}});
  }
  if (range->offset + range->length > source_bytes) {
    throw Refusal(
        failure::kInvalidRange,
        str_cat("Range specified is not valid for source object of size: ", source_bytes),
        {{"RangeRequested", *header}, {"ActualObjectSize", std::to_string(source_bytes)}});
  }
  return *range;
}

}  // namespace

http::Response run(Call& call, const UploadPart& endpoint) {
  const http::Headers& headers = call.request.headers;
  const uint32_t number = check_part_number(endpoint.part_number);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  check_part_algorithm(upload, headers);
  PayloadBody body(call, algorithms_of(upload));
  check_upload_length(call, body.length());
  const objects::UploadedPart part =
      objects::put_part(call.engine(), upload, number, body, body.length());
  http::Response response;
  response.headers.add("ETag", quoted(part.etag));
  for (const Checksum& checksum : part.checksums) {
    response.headers.add(header_of(checksum.algorithm), text_of(checksum));
  }
  add_quota_warning(call, upload.repository.id, upload.branch.str(), response.headers);
  return response;
}

http::Response run(Call& call, const UploadPartCopy& endpoint) {
  const http::Headers& headers = call.request.headers;
  const uint32_t number = check_part_number(endpoint.part_number);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  const auto held = objects::hold_sources(call.engine());
  const SourceObject source = require_copy_source(call);
  const blob::ByteRange range = copied_range(headers, source.found.entry.size_bytes);
  const objects::UploadedPart part =
      objects::copy_part(call.engine(), upload, number, source.found, range);
  http::Response response =
      xml_response(200, to_xml(xml::CopyPartResult{part.etag, part.modified, part.checksums}));
  if (source.found.commit) {
    response.headers.add("x-amz-copy-source-version-id", to_text(*source.found.commit));
  }
  add_quota_warning(call, upload.repository.id, upload.branch.str(), response.headers);
  return response;
}

namespace {

std::optional<uint64_t> announced_bytes(const http::Headers& headers) {
  const std::string* text = headers.find("x-amz-mp-object-size");
  if (!text) return std::nullopt;
  const auto bytes = parse_decimal(*text);
  if (!bytes) {
    throw Refusal(failure::kInvalidRequest, "Value for x-amz-mp-object-size header is invalid.");
  }
  return bytes;
}

/// x-amz-checksum-type must equal the upload's type, or FULL_OBJECT if that has none.
void check_type(const objects::MultipartUpload& upload, const std::string& type) {
  if (type.empty()) return;
  const std::string_view agreed =
      upload.checksum_type.empty() ? kFullObjectType : std::string_view(upload.checksum_type);
  if (type == agreed) return;
  throw Refusal(failure::kInvalidRequest,
                str_cat("The upload was created using the ", agreed,
                        " checksum mode. The complete request must use the same checksum mode."));
}

/// The object's checksum, joined from those of its parts and compared with the client's.
std::vector<Checksum> settled_checksums(const objects::MultipartUpload& upload,
                                        const std::vector<Checksum>& given,
                                        std::span<const objects::UploadedPart> parts) {
  if (given.empty() && upload.checksum_algorithm.empty()) {
    auto joined = join_any_crc(parts);
    return joined ? std::vector<Checksum>{*std::move(joined)} : std::vector<Checksum>{};
  }
  const std::string algorithm =
      upload.checksum_algorithm.empty() ? given.front().algorithm : upload.checksum_algorithm;
  const bool full = upload.checksum_type.empty() ? !given.front().composite
                                                 : upload.checksum_type == kFullObjectType;
  const auto joined =
      join_checksums(algorithm, full ? JoinedKind::kFullObject : JoinedKind::kComposite, parts);
  for (const Checksum& checksum : given) {
    if (checksum.algorithm != algorithm || !joined) {
      throw Refusal(failure::kInvalidRequest,
                    str_cat("The upload was not created with a ", upper_name_of(checksum.algorithm),
                            " checksum, so the one given for the whole object cannot be checked."));
    }
    if (!agrees(checksum, *joined)) {
      throw Refusal(failure::kBadDigest,
                    str_cat("The ", upper_name_of(algorithm),
                            " you specified did not match the calculated checksum."));
    }
  }
  return joined ? std::vector<Checksum>{*joined} : std::vector<Checksum>{};
}

http::Response completed(const Call& call, const CompleteMultipartUpload& endpoint,
                         const StagedEntry& entry) {
  xml::CompleteMultipartUploadResult result;
  result.location = object_url(call, endpoint.bucket, endpoint.key);
  result.bucket = endpoint.bucket;
  result.key = endpoint.key;
  result.etag = entry.etag;
  result.checksums = entry.checksums();
  http::Response response = xml_response(200, to_xml(result));
  add_version_header(response.headers, entry.version);
  return response;
}

/// The same as objects::completed_before, at a location.
std::optional<StagedEntry> completed_before(Call& call, const Location& location,
                                            const objects::Completion& completion) {
  if (!is_branch_name(location.ref) || location.path.empty()) return std::nullopt;
  return objects::completed_before(call.engine(), location.repository, BranchName(location.ref),
                                   parse_key(location.path), completion.parts);
}

struct CompletionRequest {
  objects::Completion completion;
  std::vector<Checksum> checksums;  ///< of the whole object, as the client gives them
};

CompletionRequest read_completion(Call& call) {
  http::Headers& headers = call.request.headers;
  CompletionRequest out;
  out.completion.condition = write_condition(headers);
  out.checksums = checksum_headers(headers);
  out.completion.object_bytes = announced_bytes(headers);
  // The checksum headers describe the object, not the document in the body.
  for (const Checksum& checksum : out.checksums) headers.remove(header_of(checksum.algorithm));
  xml::CompleteRequest document =
      xml::parse_complete(read_document(call, xml::kCompleteDocumentBytesMax));
  for (xml::CompleteRequest::Part& part : document.parts) {
    out.completion.parts.push_back({part.number, std::move(part.etag), std::move(part.checksums)});
  }
  return out;
}

}  // namespace

http::Response run(Call& call, const CompleteMultipartUpload& endpoint) {
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  const std::string type(call.request.headers.get("x-amz-checksum-type"));
  auto [completion, checksums] = read_completion(call);
  std::optional<objects::MultipartUpload> upload;
  try {
    upload = open_upload(call, location, endpoint.upload_id);
  } catch (const Error& error) {
    if (error.reason() != reason::kNoSuchUpload) throw;
    const auto entry = completed_before(call, location, completion);
    if (!entry) throw;
    return completed(call, endpoint, *entry);
  }
  check_type(*upload, type);
  completion.checksums = [&, given = std::move(checksums)](auto parts) {
    return settled_checksums(*upload, given, parts);
  };
  http::Response response =
      completed(call, endpoint, objects::complete_multipart(call.engine(), *upload, completion));
  add_quota_warning(call, upload->repository.id, upload->branch.str(), response.headers);
  return response;
}

namespace {}  // namespace

http::Response run(Call& call, const ListParts& endpoint) {
  const uint64_t limit =
      std::min(check_number(endpoint.max_parts, "max-parts", 0, INT32_MAX, kPartsPerPageMax),
               kPartsPerPageMax);
  const uint64_t after =
      check_number(endpoint.part_number_marker, "part-number-marker", 0, INT32_MAX, 0);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  xml::ListPartsResult result;
  result.bucket = endpoint.bucket;
  result.key = endpoint.key;
  result.upload_id = endpoint.upload_id;
  result.url_encoding = endpoint.url_encoding;
  result.owner = {upload.owner, upload.owner};
  result.storage_class = std::string(kStandardStorageClass);
  result.part_number_marker = after;
  result.max_parts = limit;
  result.checksum_algorithm = upper_name_of(upload.checksum_algorithm);
  result.checksum_type = upload.checksum_type;
  if (limit > 0) {
    auto page = objects::list_parts(call.engine(), upload, static_cast<uint32_t>(after),
                                    static_cast<uint32_t>(limit));
    for (objects::UploadedPart& part : page.items) {
      result.parts.push_back({part.number, part.modified, std::move(part.etag), part.size_bytes,
                              std::move(part.checksums)});
      result.next_part_number_marker = part.number;
    }
    result.truncated = page.has_more;
  }
  return xml_response(200, to_xml(result));
}

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
