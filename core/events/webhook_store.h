// Rows of webhooks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/names.h"
#include "core/model/page.h"
#include "core/model/webhook.h"

namespace tarn::events {

/// Safe from any thread.
class WebhookStore {
 public:
  explicit WebhookStore(db::Pool& pool) : pool_(pool) {}

  enum class PutOutcome { kMade, kChanged, kTooMany };
  /// One that is there keeps who made it and, with `keep_secret`, its secret.
  PutOutcome put(RepositoryId repository, const Webhook& webhook, std::string_view sealed_secret,
                 bool keep_secret);
  std::optional<Webhook> find(RepositoryId repository, std::string_view name);
  std::optional<std::string> sealed_secret(RepositoryId repository, std::string_view name);
  /// By name.
  Page<Webhook> list(RepositoryId repository, std::string_view prefix, std::string_view after,
                     uint32_t limit);
  /// Deletes the webhook with its deliveries. false if it does not exist.
  bool remove(RepositoryId repository, std::string_view name);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::events
