// JSON bodies of repositories, their rules and their webhooks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/branch_rule.h"
#include "core/model/collection_rules.h"
#include "core/model/repository.h"
#include "core/model/tag_rule.h"
#include "core/model/webhook.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_repository(Writer& out, const Repository& repository);
std::string repository_body(const Repository& repository);

struct CreateRepository {
  RepositoryName name;
  std::string storage_namespace;
  std::string default_branch;  ///< "" = main
  std::string storage_id;
  bool sample_data = false;
  bool read_only = false;
  bool strict_paths = true;
};
/// Throws invalid_argument, also for an illegal name or namespace scheme.
CreateRepository parse_create_repository(const Value& body);

/// PathSettings: {"paths": "strict"} or {"paths": "any"}.
std::string paths_body(bool strict);
bool parse_paths(const Value& body);

/// RepositoryMetadataSet.
Metadata parse_set_metadata(const Value& body);
/// RepositoryMetadataKeys.
std::vector<std::string> parse_metadata_keys(const Value& body);

// JSON bodies of a repository's rules: for branches, tags and garbage collection.

/// Writes only the members that a client has set.
std::string branch_rules_body(const std::vector<BranchRule>& rules);
/// An array of rules. Throws invalid_argument, also for an illegal pattern.
std::vector<BranchRule> parse_branch_rules(const Value& body);

/// The member `pattern` of a rule.
Glob parse_rule_pattern(const Value& rule);

std::string tag_rules_body(const std::vector<TagRule>& rules);
/// An array of rules; `create` and `delete` default to true. Throws invalid_argument, also for an
/// illegal pattern.
std::vector<TagRule> parse_tag_rules(const Value& body);

std::string collection_rules_body(const CollectionRules& rules);
/// Throws invalid_argument, also for more than kCollectionBranchesMax branches or one named twice.
CollectionRules parse_collection_rules(const Value& body);

// JSON bodies of webhooks and their deliveries.

void write_webhook(Writer& out, const Webhook& webhook);
/// Includes the secret if given.
std::string webhook_body(const Webhook& webhook, const std::optional<std::string>& secret = {});

void write_delivery(Writer& out, const Delivery& delivery);
std::string delivery_body(const Delivery& delivery);

/// The result of a ping; `status` is absent without a response.
struct PingResult {
  std::string id;
  std::optional<int> status{};
  std::string error{};  ///< "" = the endpoint accepted it
  std::chrono::milliseconds took{};
};
std::string ping_body(const PingResult& result);

struct PutWebhook {
  Webhook webhook;  ///< without its name
  std::optional<std::string> secret{};
};
PutWebhook parse_put_webhook(const Value& body);

}  // namespace tarn::api::json
