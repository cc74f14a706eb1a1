#include <span>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "s3gateway/operations/joined_checksums.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/open_upload.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
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
      upload.checksum_type.empty() ? kFullObject : std::string_view(upload.checksum_type);
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
  const bool full =
      upload.checksum_type.empty() ? !given.front().composite : upload.checksum_type == kFullObject;
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
    if (error.reason() != kNoSuchUploadReason) throw;
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

}  // namespace tarn::s3
