// Bodies about imports.
#pragma once

#include <string>
#include <vector>

#include "core/versioning/import.h"
#include "server/api/json/commit.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct StartImport {
  std::vector<versioning::ImportPath> paths;
  CreateCommit commit;
  bool force = false;
};
StartImport parse_start_import(const Value& body);

/// {"id": ...}: imports and other tasks.
std::string id_body(std::string_view id);
std::string import_status_body(const versioning::ImportStatus& status);

}  // namespace tarn::api::json
