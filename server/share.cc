#include "server/share.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/sigv4/authorization.h"
#include "server/api/credentials.h"
#include "server/api/errors.h"
#include "server/front.h"

namespace tarn::server {
namespace {

std::optional<std::string> proven_user(const http::Request& request, const KnownCallers& known,
                                       std::string_view address) {
  const std::string key = sigv4::claimed_key_id(request);
  if (!key.empty()) return known.owner_of_signing_key(key, address);
  const api::ClaimedCredentials claimed = api::claimed_credentials(request);
  if (!claimed.pair.id.empty()) return known.owner_of_pair(claimed.pair.id, claimed.pair.secret);
  return claimed.token.empty() ? std::nullopt : known.user_in_token(claimed.token);
}

}  // namespace

std::string share_of(const http::Request& request, const KnownCallers& known,
                     std::span<const std::string> trusted_proxies) {
  const std::string address = client_of(request, trusted_proxies).address;
  if (const auto user = proven_user(request, known, address)) return str_cat("user ", *user);
  const std::string_view path = request.raw_path();
  if (path == "/_health" || path == "/_ready" || path == "/metrics") return "";
  return str_cat("address ", address);
}

http::ServerLimits with_contended_workers(http::ServerLimits limits, bool has_remote_store) {
  constexpr uint32_t kFraction = 4;
  if (limits.contended_workers == 0 && has_remote_store) {
    limits.contended_workers = std::max(1u, limits.workers / kFraction);
  }
  return limits;
}

std::string_view text_of(http::Overload why) {
  switch (why) {
    case http::Overload::kShareFull:
      return "too many requests of this user wait: send fewer at once, or try again later";
    case http::Overload::kServerFull:
      return "too many requests wait: try again later";
    case http::Overload::kWaitedTooLong:
      return "the request waited too long for a worker: send fewer at once, or try again later";
  }
  check_failed("Overload", __FILE__, __LINE__);
}

http::Response rest_refusal(const http::Request& request, http::Overload why) {
  return api::failure_response(
      Error(ErrorCode::kUnavailable, reason::kOverloaded, std::string(text_of(why))), request.id);
}

}  // namespace tarn::server
