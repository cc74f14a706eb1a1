#include "core/versioning/gate.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/aliases.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/meta/promotions.h"
#include "core/meta/webhooks.h"
#include "core/meta/writer.h"
#include "core/tree/cursor.h"
#include "core/versioning/authors.h"
#include "core/versioning/extraction.h"
#include "core/versioning/gate_policies.h"
#include "core/versioning/history.h"
#include "core/versioning/promotion_base.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

FactsWanted facts_wanted(const GatePolicy& policy) {
  FactsWanted wanted;
  for (const MetricRule& rule : policy.metrics) {
    wanted.names.push_back(rule.name);
    wanted.bare_names.push_back(rule.name);
    for (const MetricSource& source : rule.trusted) {
      if (source.file) wanted.extra_globs.push_back(source.file->pattern());
    }
  }
  return wanted;
}

/// The facts of each, in that order.
std::vector<CommitFacts> facts_of(Engine& engine, RepositoryId repository, const GatePolicy& policy,
                                  std::span<const CommitId> commits) {
  // Without metrics there is nothing to read; no name would mean all of them.
  if (policy.metrics.empty()) {
    std::vector<CommitFacts> out;
    for (const CommitId& commit : commits) out.push_back({commit, {}, {}, {}});
    return out;
  }
  return commit_facts(engine, repository, commits, facts_wanted(policy));
}

/// Looks for what `required` names.
class RequiredObjects {
 public:
  RequiredObjects(tree::NodeSource& nodes, const TreeRoot& root, ObjectFacts& facts)
      : nodes_(nodes), root_(root), facts_(facts) {}

  void find(const Glob& pattern) {
    const size_t before = sizes_.size();
    const bool literal = pattern.prefix() == pattern.pattern();
    if (literal) {
      if (const auto entry = tree::find_entry(nodes_, root_, pattern.pattern())) {
        sizes_.emplace(pattern.pattern(), entry->size_bytes);
        return;
      }
    } else if (find_matches(pattern) || sizes_.size() > before) {
      return;
    }
    facts_.missing.push_back(pattern.pattern());
  }

  uint64_t total_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [path, size] : sizes_) bytes += size;
    return bytes;
  }

 private:
  bool find_matches(const Glob& pattern) {
    bool found = false;
    tree::Cursor cursor(nodes_, root_);
    for (cursor.seek(pattern.prefix());
         cursor.valid() && cursor.key().starts_with(pattern.prefix()); cursor.next()) {
      if (++seen_ > kGatePathsSeenMax) {
        facts_.complete = false;
        break;
      }
      if (!pattern.matches(cursor.key())) continue;
      found = true;
      sizes_.emplace(cursor.key(), cursor.entry().size_bytes);
    }
    return found;
  }

  tree::NodeSource& nodes_;
  const TreeRoot& root_;
  ObjectFacts& facts_;
  uint64_t seen_ = 0;
  std::map<std::string, uint64_t> sizes_;  ///< of what was found, each path once
};

bool matches_any(const std::vector<Glob>& patterns, const std::string& path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Glob& pattern) { return pattern.matches(path); });
}

void note(std::vector<std::string>& paths, uint64_t& count, const std::string& path) {
  if (paths.size() < kGatePathsShownMax) paths.push_back(path);
  ++count;
}

/// What every path that a rule on changes could mean begins with: sorted, none the beginning of
/// another.
std::vector<std::string> prefixes_of(const ObjectRules& rules) {
  std::vector<std::string> all;
  for (const Glob& pattern : rules.unchanged) all.push_back(pattern.prefix());
  for (const Glob& pattern : rules.forbid) all.push_back(pattern.prefix());
  std::sort(all.begin(), all.end());
  std::vector<std::string> out;
  for (std::string& prefix : all) {
    if (out.empty() || !prefix.starts_with(out.back())) out.push_back(std::move(prefix));
  }
  return out;
}

/// Whether an object stands at the path after the change.
bool brings(const Change& change) {
  return change.type != ChangeType::kRemoved && change.right.has_value();
}

void look_at_changes(const ObjectRules& rules, Changes& brought, ObjectFacts& facts) {
  uint64_t seen = 0;
  std::optional<Change> change;
  for (const std::string& prefix : prefixes_of(rules)) {
    // What was read behind the prefix before may belong to this one.
    if (!change || change->key.str() < prefix) {
      brought.seek(prefix);
      change = brought.next();
    }
    for (; change && change->key.str().starts_with(prefix); change = brought.next()) {
      const std::string& path = change->key.str();
      if (++seen > kGatePathsSeenMax) {
        facts.complete = false;
        return;
      }
      if (matches_any(rules.unchanged, path)) note(facts.changed, facts.changed_count, path);
      if (brings(*change) && matches_any(rules.forbid, path)) {
        note(facts.forbidden, facts.forbidden_count, path);
      }
    }
    if (!change) return;
  }
}

/// What merging the candidate would change in the destination. Without a common ancestor all that
/// differs.
std::unique_ptr<Changes> changes_of(Engine& engine, const Repository& repository,
                                    const BranchName& branch, const Commit& destination,
                                    const Commit& candidate) {
  meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
  const auto base = promotion_base_tree(engine, repository, nodes, candidate, branch, destination);
  if (!base) return tree_changes(engine.nodes, destination.root, candidate.root);
  return merge_changes(engine.nodes, base->root, destination.root, candidate.root);
}

std::optional<Commit> required_ancestor(Engine& engine, const Repository& repository,
                                        const GatePolicy& policy) {
  if (policy.require_ancestor.empty()) return std::nullopt;
  try {
    return resolve_commit(engine, repository.name, policy.require_ancestor);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(
        error.code(), error.reason(),
        str_cat("policy \"", policy.name, "\": require_ancestor: \"", policy.require_ancestor,
                "\" is no ref of the repository, make it or ", "change the policy"));
  }
}

/// Warnings: whoever is to be told of a promotion may be made later than the policy, and is missed
/// only then.
std::vector<std::string> webhooks_not_there(Engine& engine, RepositoryId repository,
                                            const GatePolicy& policy) {
  std::vector<std::string> out;
  for (const std::string& name : policy.after.webhooks) {
    const auto webhook = meta::Webhooks(engine.pool).find(repository, name);
    if (webhook && webhook->active) continue;
    out.push_back(str_cat("after.webhook: ", webhook ? "webhook \"" : "there is no webhook \"",
                          name, webhook ? "\" is inactive" : "\"", ", it will not be told"));
  }
  return out;
}

}  // namespace

std::vector<std::string> missing_objects(Engine& engine, const ObjectRules& rules,
                                         const TreeRoot& tree) {
  ObjectFacts facts;
  RequiredObjects required(engine.nodes, tree, facts);
  for (const Glob& pattern : rules.required) required.find(pattern);
  return facts.missing;
}

ObjectFacts object_facts(Engine& engine, const ObjectRules& rules, const TreeRoot& candidate,
                         Changes& brought) {
  ObjectFacts facts;
  RequiredObjects required(engine.nodes, candidate, facts);
  for (const Glob& pattern : rules.required) required.find(pattern);
  facts.model_bytes = required.total_bytes();
  facts.total_bytes = tree::count_range(engine.nodes, candidate, "", "").bytes;
  look_at_changes(rules, brought, facts);
  return facts;
}

std::vector<GateCandidate> gate_candidates(Engine& engine, const Repository& repository,
                                           const GatePolicy& policy, const Commit& destination,
                                           std::span<const NamedCommit> candidates,
                                           const PathScope* replaced) {
  std::vector<CommitId> commits;
  for (const NamedCommit& candidate : candidates) commits.push_back(candidate.commit.id);
  std::vector<CommitFacts> facts = facts_of(engine, repository.id, policy, commits);
  const std::optional<Commit> ancestor = required_ancestor(engine, repository, policy);
  const std::vector<std::string> unheard = webhooks_not_there(engine, repository.id, policy);
  // A virtual merge base belongs to nothing and must not be collected meanwhile.
  const meta::Writer::Operation operation(engine.writer);
  std::vector<GateCandidate> out;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Commit& commit = candidates[i].commit;
    GateCandidate& made = out.emplace_back();
    made.ref = candidates[i].ref;
    made.branch = candidates[i].branch;
    made.facts = std::move(facts[i]);
    made.facts.warnings.insert(made.facts.warnings.end(), unheard.begin(), unheard.end());
    made.author = commit.committer;
    if (policy.approvals.count > 0)
      made.authors = authors_of(engine, repository.id, commit, destination);
    made.created = commit.created;
    made.has_ancestor = ancestor && is_ancestor(engine, repository.id, *ancestor, commit);
    const auto brought =
        replaced == nullptr
            ? changes_of(engine, repository, policy.destination, destination, commit)
            : scoped_changes(tree_changes(engine.nodes, destination.root, commit.root), *replaced);
    made.objects = object_facts(engine, policy.objects, commit.root, *brought);
  }
  return out;
}

namespace {

/// When the alias came to the commit where it stands; nullopt: it stands elsewhere.
std::optional<Instant> stands_since(Engine& engine, const Repository& repository,
                                    const std::string& alias, const CommitId& commit) {
  if (alias.empty()) return std::nullopt;
  const auto changes = engine.aliases.history(repository.id, AliasName(alias), 0, 1);
  if (changes.items.empty() || changes.items.front().to != commit) return std::nullopt;
  return changes.items.front().at;
}

}  // namespace

CommitFacts champion_facts(Engine& engine, const Repository& repository, const GatePolicy& policy,
                           const CommitId& champion, const std::string& alias) {
  meta::Promotions promotions(engine.pool, engine.clock);
  const auto promotion = promotions.find_by_result(repository.id, champion);
  const CommitId measured = promotion ? promotion->winner.value() : champion;
  CommitFacts facts = facts_of(engine, repository.id, policy, std::span(&measured, 1)).front();
  facts.commit = champion;
  const auto since = promotion ? std::optional(engine.commits.get(repository.id, champion).created)
                               : stands_since(engine, repository, alias, champion);
  if (since) {
    std::erase_if(facts.metrics, [&](const Metric& metric) {
      return metric.origin == MetricOrigin::kApi && metric.measured > *since;
    });
  }
  if (!promotion) return facts;
  for (const PromotionCheck& check : promotions.checks(repository.id, promotion->id)) {
    if (check.commit != measured || check.status != CheckStatus::kSuccess) continue;
    for (Metric& metric : metrics_of(check)) facts.metrics.push_back(std::move(metric));
  }
  return facts;
}

std::optional<NamedCommit> find_champion(Engine& engine, const Repository& repository,
                                         const GatePolicy& policy) {
  if (policy.alias.empty()) return std::nullopt;
  try {
    return find_candidate(engine, repository, str_cat("@", policy.alias));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;  // nothing was promoted yet
  }
}

namespace {

/// Ranks those that did not fail and puts them first.
void rank(const GatePolicy& policy, std::span<const GateCandidate> facts,
          std::vector<JudgedCandidate>& judged) {
  std::vector<GateCandidate> standing;
  std::vector<size_t> at;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (judged[i].verdict.outcome == GateOutcome::kFailed) continue;
    standing.push_back(facts[i]);
    at.push_back(i);
  }
  size_t place = 0;
  for (const Standing& one : rank_candidates(policy, standing)) {
    judged[at[one.candidate]].rank = ++place;
    judged[at[one.candidate]].dominated = one.dominated;
  }
  std::stable_sort(judged.begin(), judged.end(),
                   [](const JudgedCandidate& a, const JudgedCandidate& b) {
                     return a.rank.value_or(SIZE_MAX) < b.rank.value_or(SIZE_MAX);
                   });
}

}  // namespace

GateAnswer evaluate_gate(Engine& engine, const RepositoryName& repository,
                         const GateQuestion& question) {
  const Repository repo = get_repository(engine, repository);
  GateAnswer answer;
  answer.version = get_gate_policy(engine, repository, question.policy, question.version);
  const GatePolicy policy = policy_of(answer.version);
  const Branch destination = get_branch(engine, repository, policy.destination);
  answer.destination = destination.head;
  answer.champion = question.champion
                        ? std::optional(find_candidate(engine, repo, *question.champion))
                        : find_champion(engine, repo, policy);
  const std::vector<NamedCommit> candidates = find_candidates(
      engine, repo, question.candidates, kGateCandidatesMax, policy.destination.str());
  std::optional<CommitFacts> champion;
  if (answer.champion) {
    champion = champion_facts(engine, repo, policy, answer.champion->commit.id, policy.alias);
  }
  const std::vector<GateCandidate> facts =
      gate_candidates(engine, repo, policy,
                      resolve_commit(engine, repository, to_text(destination.head)), candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    answer.candidates.push_back(
        {candidates[i], evaluate(policy, facts[i], champion ? &*champion : nullptr)});
  }
  rank(policy, facts, answer.candidates);
  return answer;
}

}  // namespace tarn::versioning
