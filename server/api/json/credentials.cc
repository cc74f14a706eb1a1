#include "server/api/json/credentials.h"

namespace tarn::api::json {

std::vector<std::map<std::string, std::string>> parse_principal_settings(const Value& body) {
  std::vector<std::map<std::string, std::string>> out;
  if (const std::optional<Value> settings = body.find("settings")) {
    for (const Value& item : settings->items()) out.push_back(item.text_map());
  }
  return out;
}

void write_key(Writer& out, const auth::KeyRow& key) {
  out.begin_object();
  out.text("access_key_id", key.id);
  out.number("creation_date", to_seconds(key.created));
  out.end_object();
}

std::string key_body(const auth::KeyRow& key) {
  Writer out;
  write_key(out, key);
  return std::move(out).take();
}

std::string new_key_body(const auth::NewKey& key) {
  Writer out;
  out.begin_object();
  out.text("access_key_id", key.id);
  out.number("creation_date", to_seconds(key.created));
  out.text("secret_access_key", key.secret);
  out.end_object();
  return std::move(out).take();
}

void write_principal(Writer& out, const auth::ExternalPrincipal& principal) {
  out.begin_object();
  out.text("id", principal.id);
  out.key("settings");
  out.begin_array();
  for (const auto& item : principal.settings) out.text_map(item);
  out.end_array();
  out.text("user_id", principal.user);
  out.end_object();
}

std::string principal_body(const auth::ExternalPrincipal& principal) {
  Writer out;
  write_principal(out, principal);
  return std::move(out).take();
}

}  // namespace tarn::api::json
