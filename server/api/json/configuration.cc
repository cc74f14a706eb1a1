#include "server/api/json/configuration.h"

#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

/// The lakeFS release whose wire format is served. Clients choose features by it, and some parse
/// only three numbers.
constexpr std::string_view kWireVersion = "1.88.0";
constexpr size_t kBytesPerSetting = 256;
constexpr size_t kBytesPerServer = 256;

void write_version(Writer& out, const Installation& installation) {
  out.begin_object();
  out.text("version", kWireVersion);
  out.text("version_context", "lakeFS");  // lakectl warns on every command for any other value
  out.text("tarn_version", installation.version);
  out.end_object();
}

void write_storage(Writer& out, const Installation& installation) {
  out.begin_object();
  out.text("blockstore_description", "");
  out.text("blockstore_id", "");
  out.text("blockstore_namespace_ValidityRegex", installation.namespace_pattern);
  out.text("blockstore_namespace_example", installation.namespace_example);
  out.text("blockstore_type", installation.store_type);
  out.text("default_namespace_prefix", installation.namespace_prefix);
  out.boolean("import_support", true);
  out.text("import_validity_regex", installation.import_pattern);
  out.boolean("pre_sign_multipart_upload", installation.presign);
  out.boolean("pre_sign_support", installation.presign);
  out.boolean("pre_sign_support_ui", false);
  out.end_object();
}

}  // namespace

std::string settings_body(std::span<const Setting> settings) {
  Writer out(settings.size() * kBytesPerSetting);
  out.begin_object();
  out.key("results");
  out.begin_array();
  for (const Setting& setting : settings) {
    out.begin_object();
    out.text("name", setting.name);
    if (!setting.is_secret) out.text("value", setting.value);
    out.boolean("secret", setting.is_secret);
    out.boolean("default", setting.is_default);
    out.text("meaning", setting.meaning);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string servers_body(std::span<const ServerProcess> servers, std::string_view answering) {
  Writer out(servers.size() * kBytesPerServer);
  out.begin_object();
  out.key("results");
  out.begin_array();
  for (const ServerProcess& server : servers) {
    out.begin_object();
    out.text("id", server.id);
    out.text("version", server.version);
    out.text("host", server.host);
    out.text("listen", server.listen);
    out.number("start_date", to_seconds(server.started));
    out.number("seen_date", to_seconds(server.seen));
    out.boolean("alive", server.alive);
    out.boolean("answering", server.id == answering);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string config_body(const Installation& installation) {
  Writer out(1024);
  out.begin_object();
  out.key("capabilities_config");
  out.begin_object();
  out.end_object();
  out.key("storage_config");
  write_storage(out, installation);
  out.key("storage_config_list");
  out.begin_array();
  out.end_array();
  out.key("ui_config");
  out.begin_object();
  out.end_object();
  out.key("version_config");
  write_version(out, installation);
  out.end_object();
  return std::move(out).take();
}

std::string version_body(const Installation& installation) {
  Writer out;
  write_version(out, installation);
  return std::move(out).take();
}

std::string storage_body(const Installation& installation) {
  Writer out;
  write_storage(out, installation);
  return std::move(out).take();
}

std::string usage_body(const Installation& installation) {
  Writer out;
  out.begin_object();
  out.text("installation_id", installation.id);
  out.key("reports");
  out.begin_array();
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string collection_body(const Installation& installation) {
  Writer out;
  out.begin_object();
  out.number("grace_period", installation.grace_seconds);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
