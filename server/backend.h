// The services below the APIs: database, stores, engine and accounts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/branch/engine.h"
#include "core/gc/collection_options.h"
#include "core/http/outbound.h"
#include "server/api/json/configuration.h"
#include "server/config.h"
#include "server/front.h"

namespace tarn::server {
class Assembly;
}

namespace tarn::actions {
class Runner;
}
namespace tarn::blob {
class DiskCache;
}
namespace tarn::meta {
class Servers;
}

namespace tarn::server {

/// Safe from any thread after construction.
class Backend {
 public:
  /// Starts the embedded database if none is configured, migrates the schema and opens the stores.
  /// Must be called on a thread that outlives the result. Throws what its parts throw.
  explicit Backend(const Config& config);
  /// Stops the embedded database.
  ~Backend();

  branch::Engine& engine();
  Assembly& assembly();
  /// The copies of small objects; nullptr = none are kept.
  blob::DiskCache* copies();
  auth::Authenticator& authenticator();
  auth::Directory& directory();
  /// Sends to servers that users named.
  const http::Outbound& outbound() const;
  actions::Runner& hooks();
  /// The key that seals the secrets of webhooks.
  std::string webhook_key() const;
  /// The key that authenticates presigned URLs.
  std::string block_key() const;
  /// Generated with the database; the same for all servers that use it.
  std::string installation_id() const;
  /// The servers over the database, and the id of this one among them.
  meta::Servers& servers();
  const std::string& server_id() const;
  /// The database's time as measured last, by which requests are judged.
  const Clock& clock() const;
  /// Whether the database answers and every store that repositories use does; a store is checked
  /// at most once per kStoreCheckAgeMax.
  Readiness readiness();
  /// Measures the database's clock again, which the server uses as its own.
  void measure_clock();
  /// For Lineage::mark; empty where the database cannot fail over.
  std::function<void()> database_mark();
  /// Depths of queues and times of backups, for /metrics.
  void measure_shared_figures();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The settings gc.*.
gc::CollectionOptions collection_options(const Config& config);

/// Facts that clients may see.
api::json::Installation installation_of(const Config& config, std::string id);

}  // namespace tarn::server
