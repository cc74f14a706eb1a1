// The share of workers that a request belongs to, and the refusal when its queue is full.
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
/// nullopt unless the credentials match what is remembered.
struct KnownCallers {
  /// The owner of a key with which a request from that address was signed lately.
  std::function<std::optional<std::string>(std::string_view access_key_id,
                                           std::string_view address)>
      owner_of_signing_key;
  std::function<std::optional<std::string>(std::string_view access_key_id, std::string_view secret)>
      owner_of_pair;
  std::function<std::optional<std::string>(std::string_view token)> user_in_token;
};

/// "user NAME" over S3 and REST alike, or "address IP" of those who have not proven to be a user:
/// a stranger who knows the id of a key does not share its owner's workers. "" for the probes of
/// load balancers and monitors.
std::string share_of(const http::Request& request, const KnownCallers& known,
                     std::span<const std::string> trusted_proxies);

/// Where objects lie behind HTTP, requests wait more than they compute, so that the usual few would
/// leave the processors idle; unless the configuration says how many.
http::ServerLimits with_contended_workers(http::ServerLimits limits, bool has_remote_store);

/// Says what to do about it.
std::string_view text_of(http::Overload why);

/// REST's answer; S3's is s3::refuse.
http::Response rest_refusal(const http::Request& request, http::Overload why);

}  // namespace tarn::server
