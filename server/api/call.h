// One API call as a handler sees it, and what handlers work with.
#pragma once

#include <any>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/base/error.h"
#include "core/http/message.h"
#include "core/http/outbound.h"
#include "core/model/names.h"
#include "core/model/page.h"
#include "server/api/json/configuration.h"

namespace tarn::versioning {
struct Engine;
class OperationRunner;
}  // namespace tarn::versioning

namespace tarn::api {

struct Route;

/// The context of every handler; all members outlive the API.
struct Context {
  versioning::Engine& engine;
  auth::Authenticator& authenticator;
  auth::Directory& directory;
  const Clock& clock;
  versioning::OperationRunner& operations;
  const http::Outbound& outbound;  ///< sends to servers that users named
  json::Installation installation;
  uint64_t upload_bytes_max = UINT64_MAX;  ///< of one object
  std::string
      setup_token{};  ///< with which POST /setup_lakefs makes the first user; "" = with none
  std::string webhook_key{};   ///< seals the secrets of webhooks; 32 bytes
  std::string block_key{};     ///< authenticates URLs of our own (block_url.h); 32 bytes
  std::string external_url{};  ///< "https://lake.example.com" that such begin with; "" = as asked
};

/// The decoded values of a pattern's {names}, in order.
struct PathValues {
  static constexpr size_t kMax = 4;
  std::array<std::string_view, kMax> names{};
  std::array<std::string, kMax> values;
  size_t count = 0;
};

/// One request, routed. One thread at a time.
struct Call {
  http::Request& request;
  const Route& route;
  PathValues path_values;
  http::Query query;
  std::any body;           ///< of routes that take JSON: the parsed value; empty = none was sent
  auth::Principal caller;  ///< without a user for routes that need no account

  /// A value of the path; the name must be one of the route's.
  const std::string& path(std::string_view name) const;
  bool has_path(std::string_view name) const;
  /// Throw invalid_argument when the path holds no legal name.
  RepositoryName repository() const { return parse_repository_name(path("repository")); }
  BranchName branch() const { return parse_branch_name(path("branch")); }

  /// Whether the caller may do this too, in addition to the permissions of the route.
  bool allows(auth::Action action, std::string_view resource) const;
  /// Throws permission_denied unless allowed.
  void require_permission(auth::Action action, std::string_view resource) const;
  void require_permission_on_all_objects(auth::Action action, std::string_view repository) const;
  /// As auth::require_permission_on_source, of refs of the repository in the path.
  void require_permission_on_source(const auth::RefScope& source,
                                    std::string_view destination) const;

  /// A query parameter; absent = "".
  std::string_view parameter(std::string_view name) const;
  bool flag(std::string_view name) const;  ///< absent = false
  uint32_t amount() const;
  /// The parameters prefix, after and amount.
  PageStart page() const;
  /// The body, which the route's handler must parse into a T.
  template <typename T>
  const T& body_as() const {
    const T* parsed = std::any_cast<T>(&body);
    TARN_CHECK(parsed != nullptr);
    return *parsed;
  }
  /// The parameter `path` as a key.
  Key key() const { return parse_key(parameter("path")); }
};

}  // namespace tarn::api
