#include "server/api/json/import.h"

#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

versioning::ImportPath import_path_of(const Value& item) {
  versioning::ImportPath out;
  const std::string type = item.at("type").text();
  if (type == "object") {
    out.kind = versioning::ImportPath::Kind::kObject;
  } else if (type != "common_prefix") {
    item.at("type").fail("must be common_prefix or object");
  }
  out.url = item.at("path").text();
  out.destination = item.at("destination").text();
  return out;
}

}  // namespace

StartImport parse_start_import(const Value& body) {
  StartImport out;
  for (const Value& item : body.at("paths").items()) out.paths.push_back(import_path_of(item));
  out.commit = parse_create_commit(body.at("commit"));
  out.force = body.flag("force");
  return out;
}

std::string id_body(std::string_view id) {
  Writer out;
  out.begin_object();
  out.text("id", id);
  out.end_object();
  return std::move(out).take();
}

std::string import_status_body(const versioning::ImportStatus& status) {
  Writer out;
  out.begin_object();
  out.boolean("completed", status.completed);
  out.text("update_time", to_rfc3339(status.updated));
  out.number("ingested_objects", status.ingested_objects);
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

}  // namespace tarn::api::json
