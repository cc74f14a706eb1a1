#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/versioning/multipart.h"
#include "core/versioning/objects.h"
#include "s3gateway/checksums.h"
#include "s3gateway/errors.h"
#include "s3gateway/joined_checksums.h"
#include "s3gateway/lookup.h"
#include "s3gateway/operations/open_upload.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/precondition.h"
#include "s3gateway/range.h"
#include "s3gateway/xml/multipart.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kFullObject = "FULL_OBJECT";

std::optional<uint64_t> announced_bytes(const http::Headers& headers) {
  const std::string* text = headers.find("x-amz-mp-object-size");
  if (!text) return std::nullopt;
  const auto bytes = parse_decimal(*text);
  if (!bytes) {
    throw Refusal(failure::kInvalidRequest, "Value for x-amz-mp-object-size header is invalid.");
  }
  return bytes;
}

/// The uploaded parts that the completion names; those it names wrongly are left out, for
/// versioning to refuse.
std::vector<versioning::UploadedPart> named_parts(Call& call,
                                                  const versioning::MultipartUpload& upload,
                                                  const versioning::Completion& completion) {
  std::vector<versioning::UploadedPart> stored;
  uint32_t after = 0;
  for (bool more = true; more;) {
    auto page = versioning::list_parts(call.engine(), upload, after, kPageItemsMax);
    more = page.has_more;
    if (more) after = page.items.back().number;
    std::move(page.items.begin(), page.items.end(), std::back_inserter(stored));
  }
  std::vector<versioning::UploadedPart> out;
  auto from = stored.begin();
  for (const versioning::CompletedPart& wanted : completion.parts) {
    from =
        std::find_if(from, stored.end(), [&](const auto& p) { return p.number >= wanted.number; });
    if (from != stored.end() && from->number == wanted.number) out.push_back(*from);
  }
  return out;
}

/// Puts the object's checksum, made from those of its parts, into the completion, and compares it
/// with the client's.
void settle_checksum(Call& call, const versioning::MultipartUpload& upload,
                     versioning::Completion& completion) {
  const std::vector<Checksum> given = std::exchange(completion.checksums, {});
  if (given.empty() && upload.checksum_algorithm.empty()) {
    if (auto joined = join_any_crc(named_parts(call, upload, completion))) {
      completion.checksums = {*std::move(joined)};
    }
    return;
  }
  const std::string algorithm =
      upload.checksum_algorithm.empty() ? given.front().algorithm : upload.checksum_algorithm;
  const bool full =
      upload.checksum_type.empty() ? !given.front().composite : upload.checksum_type == kFullObject;
  const auto joined =
      join_checksums(algorithm, full ? JoinedKind::kFullObject : JoinedKind::kComposite,
                     named_parts(call, upload, completion));
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
  if (joined) completion.checksums = {*joined};
}

http::Response completed(const Call& call, const CompleteMultipartUpload& endpoint,
                         const Entry& entry) {
  xml::CompleteMultipartUploadResult result;
  result.location = object_url(call, endpoint.bucket, endpoint.key);
  result.bucket = endpoint.bucket;
  result.key = endpoint.key;
  result.etag = entry.etag;
  result.checksums = entry.checksums();
  return xml_response(200, to_xml(result));
}

/// The object, when it is what completing these parts made: a client whose first answer was lost
/// asks again.
std::optional<Entry> completed_before(Call& call, const Location& location,
                                      const versioning::Completion& completion) {
  std::vector<std::string> etags;
  for (const versioning::CompletedPart& part : completion.parts) etags.push_back(part.etag);
  if (etags.empty() || location.path.empty()) return std::nullopt;
  const auto found = versioning::find_object(call.engine(), location.repository, location.ref,
                                             parse_key(location.path), kCommitDigitsMin);
  if (!found || found->commit || found->entry.etag != joined_etag(etags)) return std::nullopt;
  return found->entry;
}

versioning::Completion read_completion(Call& call) {
  http::Headers& headers = call.request.headers;
  versioning::Completion out;
  out.condition = write_condition(headers);
  out.checksums = checksum_headers(headers);
  out.object_bytes = announced_bytes(headers);
  // The checksum headers are about the object, not about the document in the body.
  for (const Checksum& checksum : out.checksums) headers.remove(header_of(checksum.algorithm));
  xml::CompleteRequest document =
      xml::parse_complete(read_document(call, xml::kCompleteDocumentBytesMax));
  for (xml::CompleteRequest::Part& part : document.parts) {
    out.parts.push_back({part.number, std::move(part.etag), std::move(part.checksums)});
  }
  return out;
}

}  // namespace

http::Response run(Call& call, const CompleteMultipartUpload& endpoint) {
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  versioning::Completion completion = read_completion(call);
  std::optional<versioning::MultipartUpload> upload;
  try {
    upload = open_upload(call, location, endpoint.upload_id);
  } catch (const Error& error) {
    if (error.reason() != kNoSuchUploadReason) throw;
    const auto entry = completed_before(call, location, completion);
    if (!entry) throw;
    return completed(call, endpoint, *entry);
  }
  settle_checksum(call, *upload, completion);
  return completed(call, endpoint,
                   versioning::complete_multipart(call.engine(), *upload, completion));
}

}  // namespace tarn::s3
