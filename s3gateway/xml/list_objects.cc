#include "s3gateway/xml/list_objects.h"

#include "core/base/encoding.h"

namespace tarn::s3::xml {
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
  out.markup("</LastModified><ETag>&quot;");
  out.text(object.etag);
  out.markup("&quot;</ETag>");
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

}  // namespace tarn::s3::xml
