// JSON bodies of imports.
#pragma once

#include <string>
#include <vector>

#include "core/import/import.h"
#include "core/import/import_verify.h"
#include "server/api/json/commit.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct StartImport {
  std::vector<versioning::ImportPath> paths;
  CreateCommit commit;
  bool force = false;
  bool if_changed = false;
};
StartImport parse_start_import(const Value& body);

/// {"id": ...}: for imports and other tasks.
std::string id_body(std::string_view id);
std::string import_preview_body(const versioning::ImportPreview& preview);
std::string import_status_body(const versioning::ImportStatus& status);
std::string verification_body(const versioning::Verification& verification);

}  // namespace tarn::api::json
