#include "core/blob/s3_answers.h"

#include <charconv>
#include <optional>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/xml/reader.h"

namespace tarn::blob {
namespace {

[[noreturn]] void fail(std::string_view why) {
  throw Error(ErrorCode::kUnavailable, str_cat("reading the store's XML answer: ", why));
}

/// Calls `visit(in, name)` for every child of the root, which must be `root`.
template <typename Visit>
void for_each_child(std::string_view xml, std::string_view root, const Visit& visit) {
  XmlReader in(xml, &fail);
  in.enter_root(root);
  while (const auto name = in.next_child()) visit(in, *name);
  in.finish();
}

uint64_t parse_size(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("a size is no number");
  return value;
}

Instant parse_time(std::string_view text) {
  const auto time = parse_rfc3339(text);
  if (!time) fail("a time cannot be read");
  return *time;
}

// A literal '+' arrives as %2B with encoding-type=url, however the server encodes a space.
std::string decoded(const std::string& text, bool url_encoded) {
  if (!url_encoded) return text;
  auto plain = form_decode(text);
  if (!plain) fail("a key is not percent-encoded");
  return std::move(*plain);
}

BlobStat read_object(XmlReader& in) {
  BlobStat item;
  while (const auto name = in.next_child()) {
    if (*name == "Key") {
      item.key = in.text();
    } else if (*name == "Size") {
      item.size_bytes = parse_size(in.text());
    } else if (*name == "ETag") {
      item.etag = unquoted_etag(in.text());
    } else if (*name == "LastModified") {
      item.mtime_ns = to_millis(parse_time(in.text())) * 1'000'000;
    } else {
      in.skip();
    }
  }
  return item;
}

S3Upload read_upload(XmlReader& in) {
  S3Upload item;
  while (const auto name = in.next_child()) {
    if (*name == "Key") {
      item.key = in.text();
    } else if (*name == "UploadId") {
      item.id = in.text();
    } else if (*name == "Initiated") {
      item.begun = parse_time(in.text());
    } else {
      in.skip();
    }
  }
  return item;
}

S3Version read_version(XmlReader& in) {
  S3Version item;
  while (const auto name = in.next_child()) {
    if (*name == "Key") {
      item.key = in.text();
    } else if (*name == "VersionId") {
      item.id = in.text();
    } else {
      in.skip();
    }
  }
  return item;
}

S3Undeleted read_undeleted(XmlReader& in) {
  S3Undeleted item;
  while (const auto name = in.next_child()) {
    if (*name == "Key") {
      item.key = in.text();
    } else if (*name == "VersionId") {
      item.version_id = in.text();
    } else if (*name == "Code") {
      item.failure.code = in.text();
    } else if (*name == "Message") {
      item.failure.message = in.text();
    } else {
      in.skip();
    }
  }
  return item;
}

/// The text of the last child of the root with this name; "" if there is none.
std::string text_of(std::string_view xml, std::string_view root, std::string_view wanted) {
  std::string text;
  for_each_child(xml, root, [&](XmlReader& in, std::string_view name) {
    if (name == wanted) {
      text = in.text();
    } else {
      in.skip();
    }
  });
  return text;
}

}  // namespace

ListPage parse_list_objects(std::string_view xml) {
  ListPage page;
  bool url_encoded = false;
  for_each_child(xml, "ListBucketResult", [&](XmlReader& in, std::string_view name) {
    if (name == "Contents") {
      page.items.push_back(read_object(in));
    } else if (name == "IsTruncated") {
      page.has_more = in.text() == "true";
    } else if (name == "EncodingType") {
      url_encoded = in.text() == "url";  // may come before or after the keys
    } else {
      in.skip();
    }
  });
  for (BlobStat& one : page.items) one.key = decoded(one.key, url_encoded);
  return page;
}

S3VersionPage parse_list_versions(std::string_view xml) {
  S3VersionPage page;
  bool url_encoded = false;
  for_each_child(xml, "ListVersionsResult", [&](XmlReader& in, std::string_view name) {
    if (name == "Version" || name == "DeleteMarker") {
      page.items.push_back(read_version(in));
    } else if (name == "IsTruncated") {
      page.has_more = in.text() == "true";
    } else if (name == "NextKeyMarker") {
      page.next_key = in.text();
    } else if (name == "NextVersionIdMarker") {
      page.next_id = in.text();
    } else if (name == "EncodingType") {
      url_encoded = in.text() == "url";
    } else {
      in.skip();
    }
  });
  for (S3Version& one : page.items) one.key = decoded(one.key, url_encoded);
  page.next_key = decoded(page.next_key, url_encoded);
  return page;
}

std::vector<S3Undeleted> parse_undeleted(std::string_view xml) {
  std::vector<S3Undeleted> out;
  for_each_child(xml, "DeleteResult", [&](XmlReader& in, std::string_view name) {
    if (name == "Error") {
      out.push_back(read_undeleted(in));
    } else {
      in.skip();
    }
  });
  return out;
}

S3Failure parse_failure(std::string_view xml) {
  S3Failure failure;
  try {
    for_each_child(xml, "Error", [&](XmlReader& in, std::string_view name) {
      if (name == "Code") {
        failure.code = in.text();
      } else if (name == "Message") {
        failure.message = in.text();
      } else {
        in.skip();
      }
    });
  } catch (const Error&) {
    return {};
  }
  return failure;
}

std::string parse_upload_id(std::string_view xml) {
  std::string id = text_of(xml, "InitiateMultipartUploadResult", "UploadId");
  if (id.empty()) fail("it holds no UploadId");
  return id;
}

std::string parse_copied_part(std::string_view xml) {
  std::string etag = unquoted_etag(text_of(xml, "CopyPartResult", "ETag"));
  if (etag.empty()) fail("it holds no ETag");
  return etag;
}

S3UploadPage parse_list_uploads(std::string_view xml) {
  S3UploadPage page;
  bool url_encoded = false;
  for_each_child(xml, "ListMultipartUploadsResult", [&](XmlReader& in, std::string_view name) {
    if (name == "Upload") {
      page.items.push_back(read_upload(in));
    } else if (name == "IsTruncated") {
      page.has_more = in.text() == "true";
    } else if (name == "NextKeyMarker") {
      page.next_key = in.text();
    } else if (name == "NextUploadIdMarker") {
      page.next_id = in.text();
    } else if (name == "EncodingType") {
      url_encoded = in.text() == "url";
    } else {
      in.skip();
    }
  });
  for (S3Upload& one : page.items) one.key = decoded(one.key, url_encoded);
  page.next_key = decoded(page.next_key, url_encoded);
  return page;
}

std::vector<StoredDigest> stored_digests(const http::Headers& headers) {
  std::vector<StoredDigest> out;
  for (const char* algorithm : {"crc32", "crc32c", "crc64nvme", "sha1", "sha256"}) {
    const std::string_view text = headers.get(str_cat("x-amz-checksum-", algorithm));
    if (!text.empty()) out.push_back({algorithm, std::string(text)});
  }
  return out;
}

std::string unquoted_etag(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string quoted_etag(std::string_view etag) {
  return etag.starts_with("W/") ? std::string(etag) : str_cat('"', etag, '"');
}

}  // namespace tarn::blob
