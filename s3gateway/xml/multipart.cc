#include "s3gateway/xml/multipart.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

constexpr std::string_view kAlgorithms[] = {"crc32", "crc32c", "crc64nvme", "sha1", "sha256"};
constexpr std::string_view kStandardClass = "STANDARD";

/// The algorithm of a ChecksumXXX element; "" if it is another element.
std::string_view algorithm_of(std::string_view element) {
  for (std::string_view algorithm : kAlgorithms) {
    if (element_of(algorithm) == element) return algorithm;
  }
  return {};
}

std::string unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

CompleteRequest::Part parse_part(Reader& in) {
  CompleteRequest::Part out;
  bool has_number = false;
  while (const auto child = in.next_child()) {
    const std::string_view algorithm = algorithm_of(*child);
    if (*child == "PartNumber") {
      const auto number = parse_decimal(in.text());
      if (!number || *number > UINT32_MAX) in.fail("has a PartNumber that is no number");
      out.number = static_cast<uint32_t>(*number);
      has_number = true;
    } else if (*child == "ETag") {
      out.etag = unquoted(in.text());
    } else if (!algorithm.empty()) {
      out.checksums.push_back(parse_checksum(algorithm, in.text()));
    } else if (child->starts_with("Checksum")) {
      refuse_unsupported(str_cat("the element ", *child));
    } else {
      in.skip();
    }
  }
  if (!has_number || out.etag.empty()) in.fail("has a Part without PartNumber or ETag");
  return out;
}

void write_upload(Writer& out, const ListMultipartUploadsResult::Upload& upload,
                  bool url_encoding) {
  out.open("Upload");
  out.element("Key", url_encoding ? percent_encode(upload.key, true) : upload.key);
  out.element("UploadId", upload.upload_id);
  write_owner(out, "Initiator", upload.owner);
  write_owner(out, "Owner", upload.owner);
  out.element("StorageClass", kStandardClass);
  out.element("Initiated", upload.initiated);
  if (!upload.checksum_algorithm.empty()) {
    out.element("ChecksumAlgorithm", upload.checksum_algorithm);
    out.element("ChecksumType", upload.checksum_type);
  }
  out.close("Upload");
}

}  // namespace

std::string to_xml(const InitiateMultipartUploadResult& result) {
  Writer out("InitiateMultipartUploadResult");
  out.element("Bucket", result.bucket);
  out.element("Key", result.key);
  out.element("UploadId", result.upload_id);
  return out.finish();
}

CompleteRequest parse_complete(std::string_view document) {
  CompleteRequest out;
  Reader in(document);
  in.enter_root("CompleteMultipartUpload");
  while (const auto child = in.next_child()) {
    if (*child != "Part") {
      in.skip();
      continue;
    }
    if (out.parts.size() == kCompletePartsMax) in.fail("has more than 10000 parts");
    out.parts.push_back(parse_part(in));
  }
  in.finish();
  return out;
}

std::string to_xml(const CompleteMultipartUploadResult& result) {
  Writer out("CompleteMultipartUploadResult");
  out.element("Location", result.location);
  out.element("Bucket", result.bucket);
  out.element("Key", result.key);
  out.etag(result.etag);
  write_checksums(out, result.checksums, /*with_type=*/true);
  return out.finish();
}

std::string to_xml(const ListPartsResult& result) {
  Writer out("ListPartsResult");
  out.element("Bucket", result.bucket);
  out.element("Key", result.key);
  out.element("UploadId", result.upload_id);
  out.element("PartNumberMarker", result.part_number_marker);
  out.element("NextPartNumberMarker", result.next_part_number_marker);
  out.element("MaxParts", result.max_parts);
  out.element("IsTruncated", result.truncated);
  for (const ListPartsResult::Part& part : result.parts) {
    out.open("Part");
    out.element("PartNumber", uint64_t{part.number});
    out.element("LastModified", part.modified);
    out.etag(part.etag);
    out.element("Size", part.size_bytes);
    write_checksums(out, part.checksums, /*with_type=*/false);
    out.close("Part");
  }
  write_owner(out, "Initiator", result.owner);
  write_owner(out, "Owner", result.owner);
  out.element("StorageClass", result.storage_class);
  if (!result.checksum_algorithm.empty()) {
    out.element("ChecksumAlgorithm", result.checksum_algorithm);
    out.element("ChecksumType", result.checksum_type);
  }
  return out.finish();
}

std::string to_xml(const ListMultipartUploadsResult& result) {
  const auto name = [&](const std::string& text) {
    return result.url_encoding ? percent_encode(text, /*keep_slash=*/true) : text;
  };
  Writer out("ListMultipartUploadsResult");
  out.element("Bucket", result.bucket);
  out.element("KeyMarker", name(result.key_marker));
  out.element("UploadIdMarker", result.upload_id_marker);
  if (result.truncated) {
    out.element("NextKeyMarker", name(result.next_key_marker));
    out.element("NextUploadIdMarker", result.next_upload_id_marker);
  }
  out.element("Prefix", name(result.prefix));
  if (!result.delimiter.empty()) out.element("Delimiter", name(result.delimiter));
  if (result.url_encoding) out.element("EncodingType", "url");
  out.element("MaxUploads", result.max_uploads);
  out.element("IsTruncated", result.truncated);
  for (const auto& upload : result.uploads) write_upload(out, upload, result.url_encoding);
  for (const std::string& prefix : result.common_prefixes) {
    out.open("CommonPrefixes");
    out.element("Prefix", name(prefix));
    out.close("CommonPrefixes");
  }
  return out.finish();
}

}  // namespace tarn::s3::xml
