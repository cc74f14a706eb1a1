// Assembly of an engine from its stores.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/branch/engine.h"
#include "core/branch/store_owner.h"
#include "core/meta/branches.h"
#include "core/meta/read_lease_options.h"

namespace tarn::server {

/// How often a server calls Assembly::heartbeat.
constexpr std::chrono::seconds kHeartbeatInterval{20};

/// How often it calls Assembly::look_at_database.
constexpr std::chrono::milliseconds kLookInterval{500};

struct AssemblyOptions {
  size_t node_cache_bytes = 256 * 1024 * 1024;
  std::string link_key;  ///< 32 bytes, the same in every server of one database
  /// How long an open multipart upload keeps its parts.
  std::chrono::seconds multipart_lifetime = std::chrono::hours{24 * 7};
  /// How many of them one user may have open.
  uint32_t multipart_open_max = 10'000;
  /// How many branches of one repository one user may have made.
  uint32_t branches_per_user_max = meta::kBranchesPerUserMax;
  meta::ReadLeaseOptions read_leases{};
  branch::StoreOwnerOptions owners{};
};

/// Owns the SQL stores and registers this process as a writer; takes the row away when destroyed.
/// Its arguments must outlive it.
class Assembly {
 public:
  Assembly(db::Pool& pool, blob::Stores& stores, const Clock& clock, AssemblyOptions options);
  ~Assembly();
  branch::Engine& engine();

  /// Maintenance that a server runs in the background; each call does a bounded piece.
  void heartbeat();         ///< every kHeartbeatInterval
  void look_at_database();  ///< every kLookInterval; throws nothing
  bool sweep();  ///< retired staging rows, expired uploads, old jobs; false = nothing left to do

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tarn::server
