#include "server/api/json/presigned.h"

#include "server/api/json/object.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

/// Source: S3's limit of parts.
constexpr int64_t kPartNumberMax = 10'000;
constexpr size_t kBytesPerUrl = 800;

std::string address_in(const Value& body) {
  const Value value = body.at("physical_address");
  std::string text = value.text();
  if (text.empty()) value.fail("must not be empty");
  return text;
}

}  // namespace

std::string staging_location_body(std::string_view physical_address,
                                  const std::optional<PresignedUrl>& presigned) {
  Writer out;
  out.begin_object();
  out.text("physical_address", physical_address);
  if (presigned) {
    out.text("presigned_url", presigned->url);
    out.number("presigned_url_expiry", to_seconds(presigned->expiry));
  } else {
    out.key("presigned_url");
    out.null();
  }
  out.end_object();
  return std::move(out).take();
}

std::string presigned_upload_body(const PresignedUpload& upload) {
  Writer out(512 + kBytesPerUrl * upload.urls.size());
  out.begin_object();
  out.text("physical_address", upload.physical_address);
  if (!upload.urls.empty()) {
    out.key("presigned_urls");
    out.begin_array();
    for (const std::string& url : upload.urls) out.text(url);
    out.end_array();
  }
  out.text("upload_id", upload.upload_id);
  out.end_object();
  return std::move(out).take();
}

std::string upload_to_body(std::string_view url) {
  Writer out;
  out.begin_object();
  out.text("presigned_url", url);
  out.end_object();
  return std::move(out).take();
}

std::string parse_upload_address(const Value& body) { return address_in(body); }

CopyPart parse_copy_part(const Value& body) {
  const Value source = body.at("copy_source");
  return {.physical_address = address_in(body),
          .repository = source.at("repository").text(),
          .ref = source.at("ref").text(),
          .path = source.at("path").text(),
          .range = source.text_or_empty("range")};
}

CompleteUpload parse_complete_upload(const Value& body) {
  CompleteUpload out;
  out.physical_address = address_in(body);
  const Value parts = body.at("parts");
  for (const Value& part : parts.items()) {
    const auto number = static_cast<uint32_t>(part.at("part_number").integer(1, kPartNumberMax));
    if (!out.parts.empty() && number <= out.parts.back().number) {
      part.at("part_number").fail("must be greater than the one before");
    }
    out.parts.push_back({.number = number, .etag = bare_checksum(part.at("etag"))});
  }
  if (out.parts.empty()) parts.fail("must name at least one part");
  out.metadata = body.map_or_empty("user_metadata");
  out.content_type = content_type_of(body);
  return out;
}

}  // namespace tarn::api::json
