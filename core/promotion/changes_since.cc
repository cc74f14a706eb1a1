#include "core/promotion/changes_since.h"

#include <set>
#include <utility>

#include "core/branch/alias_store.h"
#include "core/promotion/promotion_store.h"
#include "core/versioning/log.h"

namespace tarn::promotion {
namespace {

template <typename Item>
void add(std::vector<Item>& items, uint64_t& more, Item item) {
  if (items.size() < kChangesListedMax) {
    items.push_back(std::move(item));
  } else {
    ++more;
  }
}

}  // namespace

ChangesSince find_changes_since(branch::Engine& engine, const Repository& repository,
                                const BranchName& destination, const std::string& policy,
                                const std::string& alias, const CommitId& head) {
  ChangesSince out;
  out.alias = alias;
  const std::optional<Promotion> before =
      PromotionStore(engine.pool, engine.clock).latest_into(repository.id, destination);
  if (before) out.promotion = before->id;
  std::set<std::string> policies{policy};
  if (before) policies.insert(before->policy);
  for (const std::string& name : policies) {
    auto page = GatePolicyStore(engine.pool).versions(repository.id, name, 0, kChangesSeenMax);
    for (GatePolicyVersion& version : page.items) {
      if (before && (name == before->policy ? version.version <= before->policy_version
                                            : version.at < before->created))
        break;
      add(out.policies, out.more, std::move(version));
    }
  }
  if (!alias.empty()) {
    auto page = engine.aliases.history(repository.id, AliasName(alias), 0, kChangesSeenMax);
    for (AliasChange& change : page.items) {
      if (before && (change.promotion == before->id || change.at < before->created)) break;
      if (!change.promotion) add(out.aliases, out.more, std::move(change));
    }
  }
  if (!before) return out;
  versioning::LogOptions options;
  options.limit = kChangesSeenMax;
  options.first_parent = true;
  options.stop_at = to_text(*before->result);
  auto page = versioning::log_commits(engine, repository, to_text(head), options);
  for (Commit& commit : page.items) {
    if (commit.id != *before->result) add(out.commits, out.more, std::move(commit));
  }
  return out;
}

}  // namespace tarn::promotion
