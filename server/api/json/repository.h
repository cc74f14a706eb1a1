// JSON bodies of repositories.
#pragma once

#include <string>
#include <vector>

#include "core/model/repository.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_repository(Writer& out, const Repository& repository);
std::string repository_body(const Repository& repository);

struct CreateRepository {
  RepositoryName name;
  std::string storage_namespace;
  std::string default_branch;  ///< "" = main
  std::string storage_id;
  bool sample_data = false;
  bool read_only = false;
};
/// Throws invalid_argument, also for an illegal name or namespace scheme.
CreateRepository parse_create_repository(const Value& body);

/// RepositoryMetadataSet.
Metadata parse_set_metadata(const Value& body);
/// RepositoryMetadataKeys.
std::vector<std::string> parse_metadata_keys(const Value& body);

}  // namespace tarn::api::json
