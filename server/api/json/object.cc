#include "server/api/json/object.h"

#include <algorithm>

#include "core/base/text.h"
#include "server/api/json/moment.h"
#include "server/api/json/path_scope.h"

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

}  // namespace tarn::api::json
