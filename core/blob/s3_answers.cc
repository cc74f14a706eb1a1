#include "core/blob/s3_answers.h"

#include <charconv>
#include <optional>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/xml_scanner.h"

namespace tarn::blob {
namespace {

using Path = std::vector<std::string_view>;

[[noreturn]] void fail(std::string_view why) {
  throw Error(ErrorCode::kUnavailable, str_cat("reading the store's XML answer: ", why));
}

/// Calls visit(path, text) at the end of every element. The outermost must be `root`.
template <typename Visit>
void for_each_end(std::string_view xml, std::string_view root, const Visit& visit) {
  XmlScanner scanner(xml);
  bool seen = false;
  while (true) {
    const XmlScanner::Event event = scanner.next();
    if (event == XmlScanner::Event::kDone) break;
    if (scanner.path().front() != root)
      fail(str_cat("it is a ", scanner.path().front(), ", no ", root));
    seen = true;
    if (event == XmlScanner::Event::kEnd) visit(scanner.path(), scanner.text());
  }
  if (!seen) fail("it is empty");
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

// With encoding-type=url a literal '+' comes as %2B whatever the server makes of a blank.
std::string decoded(const std::string& text, bool url_encoded) {
  if (!url_encoded) return text;
  auto plain = form_decode(text);
  if (!plain) fail("a key is not percent-encoded");
  return std::move(*plain);
}

void set_field(BlobStat& item, std::string_view name, const std::string& text) {
  if (name == "Key") {
    item.key = text;
  } else if (name == "Size") {
    item.size_bytes = parse_size(text);
  } else if (name == "ETag") {
    item.etag = unquoted_etag(text);
  } else if (name == "LastModified") {
    item.mtime_ns = to_millis(parse_time(text)) * 1'000'000;
  }
}

}  // namespace

ListPage parse_list_objects(std::string_view xml) {
  ListPage page;
  BlobStat item;
  bool url_encoded = false;
  for_each_end(xml, "ListBucketResult", [&](const Path& path, const std::string& text) {
    if (path.size() == 2 && path[1] == "Contents") {
      page.items.push_back(std::exchange(item, {}));
    } else if (path.size() == 2 && path[1] == "IsTruncated") {
      page.has_more = text == "true";
    } else if (path.size() == 2 && path[1] == "EncodingType") {
      url_encoded = text == "url";  // may come before or after the keys
    } else if (path.size() == 3 && path[1] == "Contents") {
      set_field(item, path[2], text);
    }
  });
  for (BlobStat& one : page.items) one.key = decoded(one.key, url_encoded);
  return page;
}

S3Failure parse_failure(std::string_view xml) {
  S3Failure failure;
  try {
    for_each_end(xml, "Error", [&](const Path& path, const std::string& text) {
      if (path.size() != 2) return;
      if (path[1] == "Code") failure.code = text;
      if (path[1] == "Message") failure.message = text;
    });
  } catch (const Error&) {
    return {};
  }
  return failure;
}

std::string parse_upload_id(std::string_view xml) {
  std::string id;
  for_each_end(xml, "InitiateMultipartUploadResult",
               [&](const Path& path, const std::string& text) {
                 if (path.size() == 2 && path[1] == "UploadId") id = text;
               });
  if (id.empty()) fail("it holds no UploadId");
  return id;
}

std::string parse_copied_part(std::string_view xml) {
  std::string etag;
  for_each_end(xml, "CopyPartResult", [&](const Path& path, const std::string& text) {
    if (path.size() == 2 && path[1] == "ETag") etag = unquoted_etag(text);
  });
  if (etag.empty()) fail("it holds no ETag");
  return etag;
}

S3UploadPage parse_list_uploads(std::string_view xml) {
  S3UploadPage page;
  S3Upload item;
  bool url_encoded = false;
  for_each_end(xml, "ListMultipartUploadsResult", [&](const Path& path, const std::string& text) {
    const std::string_view name = path.back();
    if (path.size() == 2) {
      if (name == "Upload") page.items.push_back(std::exchange(item, {}));
      if (name == "IsTruncated") page.has_more = text == "true";
      if (name == "NextKeyMarker") page.next_key = text;
      if (name == "NextUploadIdMarker") page.next_id = text;
      if (name == "EncodingType") url_encoded = text == "url";
    } else if (path.size() == 3 && path[1] == "Upload") {
      if (name == "Key") item.key = text;
      if (name == "UploadId") item.id = text;
      if (name == "Initiated") item.begun = parse_time(text);
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
