// An API call as a handler sees it, and the services that handlers use.
#pragma once

#include <any>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/base/error.h"
#include "core/gc/collection_options.h"
#include "core/http/message.h"
#include "core/http/outbound.h"
#include "core/model/names.h"
#include "core/model/page.h"
#include "core/model/repository.h"
#include "core/model/server_process.h"
#include "core/objects/checked_read.h"
#include "server/api/json/configuration.h"

namespace tarn::branch {
struct Engine;
}  // namespace tarn::branch
namespace tarn::jobs {
class OperationRunner;
}  // namespace tarn::jobs

namespace tarn::api {

struct Route;

/// The services of every handler; all members outlive the API.
struct Context {
  branch::Engine& engine;
  auth::Authenticator& authenticator;
  auth::Directory& directory;
  const Clock& clock;  ///< requests are judged by it; the engine's dates what is stored
  jobs::OperationRunner& operations;
  const http::Outbound& outbound;  ///< sends to servers that users named
  json::Installation installation;
  uint64_t upload_bytes_max = UINT64_MAX;  ///< maximum of one object
  objects::ReadCheck read_check{};         ///< of reads of whole objects
  std::string
      setup_token{};  ///< required by POST /setup_lakefs to create the first user; "" = no token
  std::string webhook_key{};           ///< seals the secrets of webhooks; 32 bytes
  std::string block_key{};             ///< authenticates presigned URLs (block_url.h); 32 bytes
  gc::CollectionOptions collection{};  ///< for plans
  std::string external_url{};  ///< their prefix: "https://lake.example.com"; "" = the request's
  std::vector<json::Setting> settings{};  ///< as the server started
  /// Servers over the database; empty = of a server that keeps no list.
  std::function<std::vector<ServerProcess>()> list_servers{};
  std::string server_id{};  ///< of this one
};

/// The decoded values of the {names} in a route's pattern, in order.
struct PathValues {
  static constexpr size_t kMax = 4;
  std::array<std::string_view, kMax> names{};
  std::array<std::string, kMax> values;
  size_t count = 0;
};

/// A routed request. One thread at a time.
struct Call {
  http::Request& request;
  const Route& route;
  PathValues path_values;
  http::Query query;
  std::any body;           ///< the parsed JSON of routes that take it; empty = none was sent
  auth::Principal caller;  ///< without a user for routes that need no account

  /// A value of the path; the route's pattern must contain the name.
  const std::string& path(std::string_view name) const;
  bool has_path(std::string_view name) const;
  /// Throw invalid_argument if the path value is no legal name.
  RepositoryName repository() const { return parse_repository_name(path("repository")); }
  BranchName branch() const { return parse_branch_name(path("branch")); }

  /// Whether the caller has this permission too, in addition to those of the route.
  bool allows(auth::Action action, std::string_view resource) const;
  /// Throws permission_denied unless allowed.
  void require_permission(auth::Action action, std::string_view resource) const;
  void require_permission_on_all_objects(auth::Action action, std::string_view repository) const;
  /// The same as auth::require_permission_on_source, for refs of the repository in the path.
  void require_permission_on_source(const auth::RefScope& source,
                                    std::string_view destination) const;

  /// A query parameter; absent = "".
  std::string_view parameter(std::string_view name) const;
  bool flag(std::string_view name) const;  ///< absent = false
  uint32_t amount() const;
  /// The parameters prefix, after and amount.
  PageStart page() const;
  /// The parsed body. T must be the type that the route parses.
  template <typename T>
  const T& body_as() const {
    const T* parsed = std::any_cast<T>(&body);
    TARN_CHECK(parsed != nullptr);
    return *parsed;
  }
  /// The parameter `path` as a key.
  Key key() const { return parse_key(parameter("path")); }
};

/// The repository in the path, looked up: once for each request, by the handler. Throws not_found.
Repository repository_of(const Context& context, const Call& call);

}  // namespace tarn::api
