// The share of workers that a request belongs to, and the refusal if its queue is full.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/http/server.h"

namespace tarn::server {

/// Cached facts about callers, for decisions that must not wait for the database. Each returns
/// nullopt unless the credentials match a cached entry.
struct KnownCallers {
  /// The owner of a key that recently signed a request from that address.
  std::function<std::optional<std::string>(std::string_view access_key_id,
                                           std::string_view address)>
      owner_of_signing_key;
  std::function<std::optional<std::string>(std::string_view access_key_id, std::string_view secret)>
      owner_of_pair;
  std::function<std::optional<std::string>(std::string_view token)> user_in_token;
};

/// "user NAME" over both S3 and REST, or "address IP" for unproven callers: knowing the id of a key
/// does not give access to its owner's share. "" for the probes of load balancers and monitors.
std::string share_of(const http::Request& request, const KnownCallers& known,
                     std::span<const std::string> trusted_proxies);

/// Sets `contended_workers`, unless configured, to a quarter of the workers: with remote stores,
/// requests wait more than they compute, and the usual number would leave processors idle.
http::ServerLimits with_contended_workers(http::ServerLimits limits, bool has_remote_store);

/// A message that tells the client what to do about the overload.
std::string_view text_of(http::Overload why);

/// The refusal over REST; S3 uses s3::refuse.
http::Response rest_refusal(const http::Request& request, http::Overload why);

}  // namespace tarn::server
