#include "server/api/json/import.h"

#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

imports::ImportPath import_path_of(const Value& item) {
  imports::ImportPath out;
  const std::string type = item.at("type").text();
  if (type == "object") {
    out.kind = imports::ImportPath::Kind::kObject;
  } else if (type != "common_prefix") {
    item.at("type").fail("must be common_prefix or object");
  }
  out.url = item.at("path").text();
  out.destination = item.at("destination").text();
  return out;
}

void write_source(Writer& out, uint64_t size_bytes, std::string_view etag, Instant mtime) {
  out.begin_object();
  out.text("checksum", etag);
  out.text("mtime", to_rfc3339(mtime));
  out.number("size_bytes", static_cast<int64_t>(size_bytes));
  out.end_object();
}

}  // namespace

StartImport parse_start_import(const Value& body) {
  StartImport out;
  for (const Value& item : body.at("paths").items()) out.paths.push_back(import_path_of(item));
  out.commit = parse_create_commit(body.at("commit"));
  out.force = body.flag("force");
  out.if_changed = body.flag("if_changed");
  return out;
}

std::string id_body(std::string_view id) {
  Writer out;
  out.begin_object();
  out.text("id", id);
  out.end_object();
  return std::move(out).take();
}

std::string import_preview_body(const imports::ImportPreview& preview) {
  Writer out;
  out.begin_object();
  if (preview.added) out.number("added", static_cast<int64_t>(*preview.added));
  out.number("at_destination", static_cast<int64_t>(preview.at_destination));
  if (preview.changed) out.number("changed", static_cast<int64_t>(*preview.changed));
  out.boolean("has_more", preview.has_more);
  if (preview.removed) out.number("removed", static_cast<int64_t>(*preview.removed));
  const auto paths = [&out](std::string_view name, const std::vector<std::string>& some) {
    if (!some.empty()) out.texts(name, some);
  };
  paths("added_paths", preview.added_paths);
  paths("changed_paths", preview.changed_paths);
  paths("removed_paths", preview.removed_paths);
  if (preview.names_object) out.boolean("names_object", true);
  if (!preview.also_matches.empty()) out.text("also_matches", preview.also_matches);
  out.key("results");
  out.begin_array();
  for (const auto& object : preview.objects) {
    out.begin_object();
    out.text("mtime", to_rfc3339(object.modified));
    out.text("path", object.path);
    out.number("size_bytes", static_cast<int64_t>(object.size_bytes));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string import_status_body(const imports::ImportStatus& status) {
  Writer out;
  out.begin_object();
  out.boolean("completed", status.completed);
  out.text("update_time", to_rfc3339(status.updated));
  out.number("ingested_objects", status.ingested_objects);
  if (status.completed) {
    out.number("added", status.added);
    out.boolean("changed", status.changed);
    out.number("replaced", status.replaced);
    out.number("removed", status.removed);
  }
  if (status.commit) {
    out.text("metarange_id", metarange_id(status.commit->root));
    out.key("commit");
    write_commit(out, *status.commit);
  }
  if (!status.error.empty()) {
    out.key("error");
    out.begin_object();
    out.text("message", status.error);
    out.end_object();
  }
  out.end_object();
  return std::move(out).take();
}

std::string verification_body(const imports::Verification& verification) {
  Writer out;
  out.begin_object();
  write_pagination(out, verification.has_more, verification.has_more ? verification.next : "",
                   verification.changed.size());
  out.number("objects", static_cast<int64_t>(verification.objects));
  out.number("sources", static_cast<int64_t>(verification.sources));
  out.key("results");
  out.begin_array();
  for (const imports::ChangedSource& source : verification.changed) {
    out.begin_object();
    out.text("path", source.path);
    out.text("physical_address", source.url);
    out.text("problem", source.found ? "changed" : "missing");
    out.key("recorded");
    write_source(out, source.recorded.size_bytes, source.recorded.etag, source.recorded.mtime);
    if (source.found) {
      out.key("found");
      write_source(out, source.found->size_bytes, source.found->etag,
                   from_millis(source.found->mtime_ns / 1'000'000));
    }
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
