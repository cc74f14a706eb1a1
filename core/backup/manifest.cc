#include "core/backup/manifest.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::backup {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json part_json(const Part& part) {
  return {{"size_bytes", part.size_bytes}, {"sha256", part.sha256}};
}

Part part_from(const Json& json) {
  return {json.at("size_bytes").get<uint64_t>(), json.at("sha256").get<std::string>()};
}

Instant instant_from(const Json& json) {
  const auto instant = parse_rfc3339(json.get<std::string>());
  if (!instant) {
    throw Error(ErrorCode::kDataLoss, "reading the manifest of a backup: a time is malformed");
  }
  return *instant;
}

Manifest manifest_from(const Json& json) {
  Manifest out;
  out.id = json.at("id").get<std::string>();
  out.tarn_version = json.at("tarn_version").get<std::string>();
  out.postgres_version = json.at("postgres_version").get<std::string>();
  out.schema_version = json.at("schema_version").get<int64_t>();
  out.database = json.at("database").get<std::string>();
  out.installation_id = json.at("installation_id").get<std::string>();
  out.local_store_id = json.at("local_store_id").get<std::string>();
  out.key_fingerprint = json.at("master_key").at("fingerprint").get<std::string>();
  out.key_origin = json.at("master_key").at("origin").get<std::string>();
  out.has_key = json.at("master_key").at("included").get<bool>();
  out.started = instant_from(json.at("started"));
  out.completed = instant_from(json.at("completed"));
  if (!json.at("held_until").is_null()) out.held_until = instant_from(json.at("held_until"));
  out.has_objects = json.at("objects").at("included").get<bool>();
  out.objects = json.at("objects").at("count").get<uint64_t>();
  out.object_bytes = json.at("objects").at("bytes").get<uint64_t>();
  out.dump = part_from(json.at("database.dump"));
  out.listing = part_from(json.at("objects.txt"));
  for (const Json& item : json.at("repositories")) {
    out.repositories.push_back({item.at("id").get<int64_t>(), item.at("name").get<std::string>(),
                                item.at("namespace").get<std::string>(),
                                item.at("deleted").get<bool>()});
  }
  return out;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json repositories = Json::array();
  for (const BackedUpRepository& repository : manifest.repositories) {
    repositories.push_back({{"id", repository.id},
                            {"name", repository.name},
                            {"namespace", repository.storage_namespace},
                            {"deleted", repository.is_deleted}});
  }
  const Json held = manifest.held_until ? Json(to_rfc3339(*manifest.held_until)) : Json();
  return Json{{"format", kFormat},
              {"id", manifest.id},
              {"started", to_rfc3339(manifest.started)},
              {"completed", to_rfc3339(manifest.completed)},
              {"held_until", held},
              {"tarn_version", manifest.tarn_version},
              {"postgres_version", manifest.postgres_version},
              {"schema_version", manifest.schema_version},
              {"database", manifest.database},
              {"installation_id", manifest.installation_id},
              {"local_store_id", manifest.local_store_id},
              {"master_key",
               {{"fingerprint", manifest.key_fingerprint},
                {"origin", manifest.key_origin},
                {"included", manifest.has_key}}},
              {"objects",
               {{"included", manifest.has_objects},
                {"count", manifest.objects},
                {"bytes", manifest.object_bytes}}},
              {"database.dump", part_json(manifest.dump)},
              {"objects.txt", part_json(manifest.listing)},
              {"repositories", repositories}}
             .dump(kIndent) +
         "\n";
}

Manifest parse_manifest(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const auto format = json.at("format").get<int64_t>();
    if (format > kFormat) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("reading the manifest of a backup: a newer Tarn wrote it (format ",
                          format, "): restore with that version"));
    }
    return manifest_from(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss, str_cat("reading the manifest of a backup: ", error.what()));
  }
}

}  // namespace tarn::backup
