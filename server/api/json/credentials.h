// JSON bodies of access keys and external principals.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/auth/credentials.h"
#include "core/auth/external_principals.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// The settings of a principal: objects whose values are strings.
std::vector<std::map<std::string, std::string>> parse_principal_settings(const Value& body);

void write_key(Writer& out, const auth::KeyRow& key);
std::string key_body(const auth::KeyRow& key);
/// The only response that contains the secret.
std::string new_key_body(const auth::NewKey& key);
void write_principal(Writer& out, const auth::ExternalPrincipal& principal);
std::string principal_body(const auth::ExternalPrincipal& principal);

}  // namespace tarn::api::json
