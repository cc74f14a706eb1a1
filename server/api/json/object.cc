#include "server/api/json/object.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/model/content_type.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

/// A pebibyte: more than any store accepts for one object, and safe in signed arithmetic.
constexpr int64_t kObjectBytesMax = int64_t{1} << 50;
/// Longer values do not fit into a response header.
constexpr size_t kContentTypeBytesMax = 1024;

StagedBytes staged_bytes(const Value& body, std::string_view metadata_name) {
  StagedBytes out;
  out.checksum = bare_checksum(body.at("checksum"));
  out.size_bytes = static_cast<uint64_t>(body.at("size_bytes").integer(0, kObjectBytesMax));
  if (const std::optional<Value> mtime = body.find_number("mtime")) out.mtime = instant_of(*mtime);
  out.metadata = body.map_or_empty(metadata_name);
  out.content_type = content_type_of(body);
  out.force = body.flag("force");
  return out;
}

void write_user_metadata(Writer& out, const ObjectView& view) {
  using Shown = ObjectView::UserMetadata;
  if (view.user_metadata == Shown::kNever) return;
  const Metadata pairs =
      view.user_metadata == Shown::kEmpty ? Metadata() : view.entry.user_metadata();
  if (pairs.empty() && view.user_metadata == Shown::kWhenAny) return;
  out.text_map("metadata", pairs);
}

}  // namespace

std::string bare_checksum(const Value& value) {
  std::string text = value.text();
  std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
  if (text.empty()) value.fail("checksum is required");
  if (text.size() > kEtagBytesMax || has_control(text)) {
    value.fail("must be at most 255 printable characters");
  }
  return text;
}

std::string content_type_of(const Value& body) {
  std::string text = body.text_or_empty("content_type");
  if (text.size() > kContentTypeBytesMax || has_control(text)) {
    body.at("content_type").fail("must be at most 1024 printable characters");
  }
  return text;
}

void write_object(Writer& out, const ObjectView& view) {
  out.begin_object();
  out.text("checksum", view.entry.etag);
  out.text("content_type",
           view.entry.content_type.empty() ? kDefaultContentType : view.entry.content_type);
  write_user_metadata(out, view);
  out.number("mtime", to_seconds(view.entry.mtime));
  out.text("path", view.path);
  out.text("path_type", "object");
  out.text("physical_address", view.physical_address);
  if (view.address_expiry) out.number("physical_address_expiry", to_seconds(*view.address_expiry));
  if (!view.repository.empty()) {
    out.text("ref", view.ref);
    out.text("repository", view.repository);
  }
  out.number("size_bytes", static_cast<int64_t>(view.entry.size_bytes));
  if (std::holds_alternative<PartListAddress>(view.entry.address)) {
    out.boolean("stored_in_parts", true);
  }
  out.end_object();
}

std::string object_body(const ObjectView& view) {
  Writer out;
  write_object(out, view);
  return std::move(out).take();
}

void write_common_prefix(Writer& out, std::string_view path) {
  out.begin_object();
  out.text("checksum", "");
  out.number("mtime", 0);
  out.text("path", path);
  out.text("path_type", "common_prefix");
  out.text("physical_address", "");
  out.end_object();
}

std::vector<std::string> parse_path_list(const Value& body) { return body.at("paths").texts(); }

ArchivePaths parse_archive_paths(const Value& body) {
  ArchivePaths out{.paths = body.at("paths").texts(kArchivePathsMax)};
  if (out.paths.empty()) body.at("paths").fail("name at least one path");
  const std::string missing = body.find_text("missing").value_or("fail");
  if (missing != "fail" && missing != "mark") body.at("missing").fail("must be fail or mark");
  out.mark_missing = missing == "mark";
  return out;
}

CopyObject parse_copy_object(const Value& body) {
  body.flag("shallow");  // copies are by reference either way; validates its type
  return {.src_path = body.at("src_path").text(),
          .src_ref = body.text_or_empty("src_ref"),
          .force = body.flag("force")};
}

MoveObjects parse_move_objects(const Value& body) {
  for (const char* name : {"src_path", "dest_path", "src_prefix", "dest_prefix"}) {
    if (const auto given = body.find(name)) given->text();  // validates the type before the value
  }
  const bool overwrite = !body.find("overwrite") || body.flag("overwrite");
  const bool force = body.flag("force");
  const bool prefixes = body.find("src_prefix").has_value();
  for (const char* name : {"src_path", "dest_path"}) {
    if (const auto given = body.find(name); prefixes && given) {
      given->fail("cannot be given together with src_prefix");
    }
  }
  if (const auto given = body.find("dest_prefix"); given && !prefixes) {
    given->fail("needs src_prefix");
  }
  return {.source = body.at(prefixes ? "src_prefix" : "src_path").text(),
          .destination = body.at(prefixes ? "dest_prefix" : "dest_path").text(),
          .prefixes = prefixes,
          .overwrite = overwrite,
          .force = force};
}

std::string moved_body(uint64_t objects) {
  Writer out;
  out.begin_object();
  out.number("moved", static_cast<int64_t>(objects));
  out.end_object();
  return std::move(out).take();
}

CheckoutPath parse_checkout_path(const Value& body) {
  return {.ref = body.at("ref").text(),
          .paths = parse_path_scope(body.at("paths")),
          .force = body.flag("force"),
          .dry_run = body.flag("dry_run")};
}

std::string checkout_body(const versioning::CheckoutCounts& counts) {
  Writer out;
  out.begin_object();
  out.number("added", static_cast<int64_t>(counts.added));
  out.number("changed", static_cast<int64_t>(counts.changed));
  out.number("deleted", static_cast<int64_t>(counts.deleted));
  out.number("unchanged", static_cast<int64_t>(counts.unchanged));
  out.number("written", static_cast<int64_t>(counts.written()));
  out.end_object();
  return std::move(out).take();
}

std::string storage_uri_body(std::string_view location) {
  Writer out;
  out.begin_object();
  out.text("location", location);
  out.end_object();
  return std::move(out).take();
}

StagedBytes parse_stage_object(const Value& body) {
  StagedBytes out = staged_bytes(body, "metadata");
  out.physical_address = body.at("physical_address").text();
  return out;
}

StagedBytes parse_link_address(const Value& body) {
  StagedBytes out = staged_bytes(body, "user_metadata");
  const Value staging = body.at("staging");
  out.physical_address = staging.at("physical_address").text();
  // Fields that clients send back from the response with the address: validated, not used.
  staging.find_text("presigned_url");
  if (const std::optional<Value> expiry = staging.find_number("presigned_url_expiry"))
    expiry->integer();
  return out;
}

Metadata parse_user_metadata(const Value& body) { return body.at("set").text_map(); }

std::string object_failures_body(const std::vector<ObjectFailure>& failures) {
  Writer out;
  out.begin_object();
  out.key("errors");
  out.begin_array();
  for (const ObjectFailure& failure : failures) {
    out.begin_object();
    out.text("message", failure.message);
    out.text("path", failure.path);
    out.number("status_code", failure.status);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string underlying_properties_body(std::string_view storage_class) {
  Writer out;
  out.begin_object();
  out.key("storage_class");
  if (storage_class.empty()) {
    out.null();
  } else {
    out.text(storage_class);
  }
  out.end_object();
  return std::move(out).take();
}

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
