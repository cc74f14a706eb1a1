// The manifest of a backup: its parts, their checksums, and the installation it was taken of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn::backup {

/// Grows when an older Tarn could not restore a backup any more.
constexpr int64_t kFormat = 1;

struct Part {
  uint64_t size_bytes = 0;
  std::string sha256;  ///< hex
};

struct BackedUpRepository {
  int64_t id = 0;
  std::string name;
  std::string storage_namespace;
  bool is_deleted = false;
};

/// Immutable once it is written; a backup without one is incomplete.
struct Manifest {
  std::string id;
  std::string tarn_version;
  std::string postgres_version;
  int64_t schema_version = 0;
  std::string database;         ///< branch::database_identity
  std::string installation_id;  ///< objects of all its backups are in one folder
  std::string local_store_id;   ///< "" = it has no local root
  std::string key_fingerprint;  ///< of the master key
  std::string key_origin;       ///< where the server read it
  bool has_key = false;
  Instant started{};
  Instant completed{};
  std::optional<Instant> held_until{};
  bool has_objects = false;
  uint64_t objects = 0;
  uint64_t object_bytes = 0;
  Part dump;
  Part listing;
  std::vector<BackedUpRepository> repositories;
};

std::string to_json(const Manifest& manifest);
/// Throws data_loss (it is no manifest), precondition_failed (a newer format).
Manifest parse_manifest(std::string_view text);

}  // namespace tarn::backup
