// JSON bodies of imports.
#pragma once

#include <string>
#include <vector>

#include "core/imports/import.h"
#include "core/imports/import_verify.h"
#include "server/api/json/commit.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct StartImport {
  std::vector<imports::ImportPath> paths;
  CreateCommit commit;
  bool force = false;
  bool if_changed = false;
};
StartImport parse_start_import(const Value& body);

/// {"id": ...}: for imports and other tasks.
std::string id_body(std::string_view id);
std::string import_preview_body(const imports::ImportPreview& preview);
std::string import_status_body(const imports::ImportStatus& status);
std::string verification_body(const imports::Verification& verification);

}  // namespace tarn::api::json
