// Everything behind the APIs: the database, the stores, the engine and the accounts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/branch/engine.h"
#include "core/http/outbound.h"
#include "server/api/json/configuration.h"
#include "server/config.h"
#include "server/front.h"

namespace tarn::versioning {
class Assembly;
}

namespace tarn::actions {
class Runner;
}

namespace tarn::server {

/// Safe from any thread once made.
class Backend {
 public:
  /// Starts the embedded database when none is configured, brings the schema up to date, opens the
  /// stores. Must be called on a thread that outlives the result. Throws what its parts throw.
  explicit Backend(const Config& config);
  /// Stops the embedded database.
  ~Backend();

  versioning::Engine& engine();
  versioning::Assembly& assembly();
  auth::Authenticator& authenticator();
  auth::Directory& directory();
  /// Sends to servers that users named.
  const http::Outbound& outbound() const;
  actions::Runner& hooks();
  /// Seals the secrets of webhooks.
  std::string webhook_key() const;
  /// Authenticates URLs of our own.
  std::string block_key() const;
  /// Made when the database was; the same for all servers on it.
  std::string installation_id() const;
  const Clock& clock() const;
  /// Whether the database answers and the store can be written to.
  Readiness readiness();
  /// Looks at the database's clock again, which is this program's.
  void measure_clock();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Facts that clients may know.
api::json::Installation installation_of(const Config& config, std::string id);

}  // namespace tarn::server
