#include "s3gateway/xml/documents.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

std::string to_xml(const ErrorDocument& document) {
  Writer out("Error", Writer::Root::kBare);
  out.element("Code", document.code);
  out.element("Message", document.message);
  for (const auto& [name, text] : document.elements) out.element(name, text);
  out.element("Resource", document.resource);
  out.element("RequestId", document.request_id);
  out.element("HostId", document.host_id);
  return out.finish();
}

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

namespace {

constexpr size_t kObjectBytes = 400;  // of the element of one object with a key of usual length

Writer writer_for(std::string_view root, const Listing& listing, size_t objects) {
  const size_t names = objects + listing.common_prefixes.size();
  return Writer(root, Writer::Root::kS3Namespace, Writer::kUsualBytes + names * kObjectBytes);
}

/// Writes names as the listing's encoding wants them.
class ElementNames {
 public:
  ElementNames(Writer& out, const Listing& listing) : out_(out), encoded_(listing.url_encoding) {}

  void write(std::string_view element, std::string_view name) {
    out_.open(element);
    write(name);
    out_.close(element);
  }
  void write(std::string_view name) {
    if (encoded_) {
      out_.text(percent_encode(name, /*keep_slash=*/true));
    } else {
      out_.text(name);
    }
  }

 private:
  Writer& out_;
  const bool encoded_;
};

void write_common_prefixes(Writer& out, const Listing& listing) {
  ElementNames names(out, listing);
  for (const std::string& prefix : listing.common_prefixes) {
    out.open("CommonPrefixes");
    names.write("Prefix", prefix);
    out.close("CommonPrefixes");
  }
}

/// Writes the elements between Key (and VersionId) and the end of an entry.
void write_facts(Writer& out, const Listing& listing, const ListedObject& object) {
  out.markup("<LastModified>");
  out.time(object.modified);
  out.markup("</LastModified>");
  out.etag(object.etag);
  if (!object.checksum_algorithm.empty()) {
    out.markup("<ChecksumAlgorithm>");
    out.text(object.checksum_algorithm);
    out.markup("</ChecksumAlgorithm><ChecksumType>");
    out.text(object.checksum_type);
    out.markup("</ChecksumType>");
  }
  out.markup("<Size>");
  out.number(object.size_bytes);
  out.markup("</Size><StorageClass>");
  out.text(object.storage_class);
  out.markup("</StorageClass>");
  if (listing.owner) write_owner(out, "Owner", *listing.owner);
}

void write_contents(Writer& out, const Listing& listing) {
  ElementNames names(out, listing);
  for (const ListedObject& object : listing.objects) {
    out.markup("<Contents><Key>");
    names.write(object.key);
    out.markup("</Key>");
    write_facts(out, listing, object);
    out.markup("</Contents>");
  }
}

void write_head(Writer& out, const Listing& listing) {
  out.element("Name", listing.bucket);
  ElementNames(out, listing).write("Prefix", listing.prefix);
}

void write_limits(Writer& out, const Listing& listing) {
  out.element("MaxKeys", listing.max_keys);
  if (!listing.delimiter.empty()) ElementNames(out, listing).write("Delimiter", listing.delimiter);
  if (listing.url_encoding) out.element("EncodingType", "url");
  out.element("IsTruncated", listing.truncated);
}

}  // namespace

std::string to_xml(const ListObjectsV1Result& result) {
  const Listing& listing = result.listing;
  Writer out = writer_for("ListBucketResult", listing, listing.objects.size());
  ElementNames names(out, listing);
  write_head(out, listing);
  names.write("Marker", result.marker);
  if (!result.next_marker.empty()) names.write("NextMarker", result.next_marker);
  write_limits(out, listing);
  write_contents(out, listing);
  write_common_prefixes(out, listing);
  return out.finish();
}

std::string to_xml(const ListObjectsV2Result& result) {
  const Listing& listing = result.listing;
  Writer out = writer_for("ListBucketResult", listing, listing.objects.size());
  write_head(out, listing);
  if (result.start_after) ElementNames(out, listing).write("StartAfter", *result.start_after);
  if (result.continuation_token) out.element("ContinuationToken", *result.continuation_token);
  if (!result.next_continuation_token.empty()) {
    out.element("NextContinuationToken", result.next_continuation_token);
  }
  out.element("KeyCount", uint64_t{listing.objects.size() + listing.common_prefixes.size()});
  write_limits(out, listing);
  write_contents(out, listing);
  write_common_prefixes(out, listing);
  return out.finish();
}

std::string to_xml(const ListVersionsResult& result) {
  const Listing& listing = result.listing;
  Writer out = writer_for("ListVersionsResult", listing, result.versions.size());
  ElementNames names(out, listing);
  write_head(out, listing);
  names.write("KeyMarker", result.key_marker);
  out.element("VersionIdMarker", result.version_id_marker);
  if (!result.next_key_marker.empty()) {
    names.write("NextKeyMarker", result.next_key_marker);
  }
  if (!result.next_version_id_marker.empty()) {
    out.element("NextVersionIdMarker", result.next_version_id_marker);
  }
  write_limits(out, listing);
  for (const ListedVersion& version : result.versions) {
    const std::string_view element = version.delete_marker ? "DeleteMarker" : "Version";
    out.open(element);
    names.write("Key", version.object.key);
    out.element("VersionId", version.version_id);
    out.element("IsLatest", version.latest);
    if (version.delete_marker) {
      out.element("LastModified", version.object.modified);
      if (listing.owner) write_owner(out, "Owner", *listing.owner);
    } else {
      write_facts(out, listing, version.object);
    }
    out.close(element);
  }
  write_common_prefixes(out, listing);
  return out.finish();
}

namespace {

void write_parts(Writer& out, const ObjectAttributesResult::Parts& parts) {
  out.open("ObjectParts");
  out.element("PartsCount", parts.total);
  out.element("PartNumberMarker", parts.marker);
  out.element("NextPartNumberMarker", parts.next_marker);
  out.element("MaxParts", parts.max_parts);
  out.element("IsTruncated", parts.truncated);
  for (const ObjectAttributesResult::Part& part : parts.parts) {
    out.open("Part");
    out.element("PartNumber", uint64_t{part.number});
    out.element("Size", part.size_bytes);
    write_checksums(out, part.checksums, /*with_type=*/false);
    out.close("Part");
  }
  out.close("ObjectParts");
}

}  // namespace

std::string to_xml(const ObjectAttributesResult& result) {
  Writer out("GetObjectAttributesResponse");
  if (result.etag) out.element("ETag", *result.etag);
  if (!result.checksums.empty()) {
    out.open("Checksum");
    write_checksums(out, result.checksums, /*with_type=*/true);
    out.close("Checksum");
  }
  if (result.parts) write_parts(out, *result.parts);
  if (result.storage_class) out.element("StorageClass", *result.storage_class);
  if (result.size_bytes) out.element("ObjectSize", *result.size_bytes);
  return out.finish();
}

std::string to_xml(const CopyObjectResult& result) {
  Writer out("CopyObjectResult");
  out.etag(result.etag);
  out.element("LastModified", result.modified);
  write_checksums(out, result.checksums, /*with_type=*/true);
  return out.finish();
}

std::string to_xml(const CopyPartResult& result) {
  Writer out("CopyPartResult");
  out.etag(result.etag);
  out.element("LastModified", result.modified);
  write_checksums(out, result.checksums, /*with_type=*/false);
  return out.finish();
}

namespace {

DeleteRequest::Object parse_object(Reader& in) {
  DeleteRequest::Object out;
  bool has_key = false;
  while (const auto child = in.next_child()) {
    if (*child == "Key") {
      out.key = in.text();
      has_key = !out.key.empty();
    } else if (*child == "VersionId") {
      out.version_id = in.text();
    } else if (*child == "ETag") {
      out.etag = in.text();
    } else if (*child == "Size") {
      out.size = in.text();
    } else if (*child == "LastModifiedTime") {
      out.modified = in.text();
    } else {
      // An unknown condition must not be ignored.
      in.fail(str_cat("has an Object with an unknown element ", *child));
    }
  }
  if (!has_key) in.fail("has an Object without Key");
  return out;
}

}  // namespace

DeleteRequest parse_delete(std::string_view document) {
  DeleteRequest out;
  Reader in(document);
  in.enter_root("Delete");
  while (const auto child = in.next_child()) {
    if (*child == "Object") {
      if (out.objects.size() == kDeleteKeysMax) in.fail("has more than 1000 objects");
      out.objects.push_back(parse_object(in));
    } else if (*child == "Quiet") {
      out.quiet = in.text() == "true";
    } else {
      in.fail(str_cat("has an unknown element ", *child));
    }
  }
  in.finish();
  if (out.objects.empty()) in.fail("has no objects");
  return out;
}

std::string to_xml(const DeleteResult& result) {
  Writer out("DeleteResult");
  for (const DeleteResult::Deleted& deleted : result.deleted) {
    out.open("Deleted");
    out.element("Key", deleted.key);
    if (deleted.version_id) out.element("VersionId", *deleted.version_id);
    if (deleted.delete_marker) {
      out.element("DeleteMarker", true);
      out.element("DeleteMarkerVersionId", deleted.marker_version_id);
    }
    out.close("Deleted");
  }
  for (const DeleteResult::Failed& failed : result.failed) {
    out.open("Error");
    out.element("Key", failed.key);
    if (failed.version_id) out.element("VersionId", *failed.version_id);
    out.element("Code", failed.code);
    out.element("Message", failed.message);
    out.close("Error");
  }
  return out.finish();
}

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

std::string shown_name(const std::string& name, bool url_encoding) {
  return url_encoding ? percent_encode(name, /*keep_slash=*/true) : name;
}

void write_upload(Writer& out, const ListMultipartUploadsResult::Upload& upload,
                  bool url_encoding) {
  out.open("Upload");
  out.element("Key", shown_name(upload.key, url_encoding));
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
  out.element("Key", shown_name(result.key, result.url_encoding));
  out.element("UploadId", result.upload_id);
  out.element("PartNumberMarker", result.part_number_marker);
  out.element("NextPartNumberMarker", result.next_part_number_marker);
  if (result.url_encoding) out.element("EncodingType", "url");
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
  const auto name = [&](const std::string& text) { return shown_name(text, result.url_encoding); };
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

std::string to_xml(const PostResponse& response) {
  Writer out("PostResponse", Writer::Root::kBare);
  out.element("Location", response.location);
  out.element("Bucket", response.bucket);
  out.element("Key", response.key);
  out.etag(response.etag);
  return out.finish();
}

}  // namespace tarn::s3::xml
