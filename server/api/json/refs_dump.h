// Bodies about dumps of refs.
#pragma once

#include <string>
#include <string_view>

#include "core/import/refs_dump.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct RestoreRefs {
  std::string dump;
  bool force = false;
};
/// RefsRestore. The three ids must be those of one dump.
RestoreRefs parse_refs_restore(const Value& body);
/// RefsDump: clients see a dump as three ids.
std::string refs_dump_body(std::string_view dump);
/// RepositoryDumpStatus, RepositoryRestoreStatus.
std::string refs_task_body(const versioning::RefsTaskStatus& status);

}  // namespace tarn::api::json
