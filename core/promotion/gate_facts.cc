#include "core/promotion/gate_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/authors.h"
#include "core/branch/changes.h"
#include "core/branch/engine.h"
#include "core/branch/history.h"
#include "core/branch/refs.h"
#include "core/events/webhook_store.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/meta/node_writer.h"
#include "core/meta/writer.h"
#include "core/model/repository.h"
#include "core/promotion/carried_values.h"
#include "core/promotion/champion.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/contenders.h"
#include "core/promotion/distinction.h"
#include "core/promotion/evaluation_results.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/model_card.h"
#include "core/promotion/path_twins.h"
#include "core/promotion/promotion_merge.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/ranking.h"
#include "core/promotion/replicates.h"
#include "core/promotion/required_objects.h"
#include "core/promotion/unmeasured_values.h"
#include "core/tree/cursor.h"
#include "core/tree/merge.h"
#include "core/versioning/diff.h"

namespace tarn::promotion {
namespace {

/// Authors of all that the candidate brings, what was rolled back before included: its commits are
/// in the destination's history, but its changes are not in the destination.
std::set<std::string> authors_since_standing(branch::Engine& engine, const Repository& repository,
                                             const GatePolicy& policy, const Commit& candidate,
                                             const Commit& destination) {
  std::set<std::string> out = branch::authors_of(engine, repository.id, candidate, destination);
  for (const PromotionStore::Undone& undone :
       undone_in(engine, repository, policy.destination, candidate)) {
    const Commit result = engine.commits.get(repository.id, undone.result);
    out.merge(branch::authors_of(engine, repository.id,
                                 engine.commits.get(repository.id, undone.winner),
                                 engine.commits.get(repository.id, result.parents.at(0))));
  }
  return out;
}

bool matches_any(const std::vector<Glob>& patterns, const std::string& path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Glob& pattern) { return pattern.matches(path); });
}

void note(std::vector<std::string>& paths, uint64_t& count, const std::string& path) {
  if (paths.size() < kGatePathsShownMax) paths.push_back(path);
  ++count;
}

/// Whether an object exists at the path after the change.
bool brings(const Change& change) {
  return change.type != ChangeType::kRemoved && change.right.has_value();
}

/// Finds the paths that a candidate brings and that a disk has under another path.
class PathAliases {
 public:
  /// `base`: as of the merge that brings the candidate; nullptr = the result has the candidate's
  /// objects, or those below `replaced`.
  PathAliases(tree::NodeSource& nodes, const TreeRoot& candidate, const TreeRoot& destination,
              const TreeRoot* base, const PathScope* replaced)
      : nodes_(nodes),
        candidate_(candidate),
        destination_(destination),
        base_(base),
        replaced_(replaced),
        of_candidate_(nodes, candidate),
        of_destination_(nodes, destination) {}

  /// The path of a change that brings `entry`; nullopt: it is no alias. Fast in the order of paths.
  std::optional<std::string> find(const std::string& path, const Entry& entry) {
    const bool marks_directory = path.ends_with('/') && entry.size_bytes == 0;
    if (!is_plain_path(path) || (path.ends_with('/') && !marks_directory)) return path;
    for (PathTwins* const twins : {&of_candidate_, &of_destination_}) {
      if (twins == &of_destination_ && is_candidate_result()) continue;
      for (const std::string& twin : twins->find(path)) {
        if (result_has(twin)) return str_cat(path, " (beside ", twin, ")");
      }
    }
    return std::nullopt;
  }
  bool exhausted() const { return of_candidate_.exhausted() || of_destination_.exhausted(); }

 private:
  /// The destination has no changes of its own.
  bool is_candidate_result() const { return base_ != nullptr && *base_ == destination_; }

  bool result_has(const std::string& path) {
    const auto theirs = tree::find_entry(nodes_, candidate_, path);
    const bool untouched =
        replaced_ != nullptr ? !replaced_->contains(path)
                             : base_ != nullptr && theirs == tree::find_entry(nodes_, *base_, path);
    return untouched ? tree::find_entry(nodes_, destination_, path).has_value()
                     : theirs.has_value();
  }

  tree::NodeSource& nodes_;
  const TreeRoot& candidate_;
  const TreeRoot& destination_;
  const TreeRoot* const base_;
  const PathScope* const replaced_;
  PathTwins of_candidate_;
  PathTwins of_destination_;
};

void look_at_changes(const ObjectRules& rules, bool replaces, branch::Changes& brought,
                     PathAliases& aliases, ObjectFacts& facts) {
  std::vector<Glob> forbid_lower;
  for (const Glob& pattern : rules.forbid) forbid_lower.emplace_back(lower(pattern.pattern()));
  uint64_t seen = 0;
  brought.seek("");
  while (const auto change = brought.next()) {
    const std::string& path = change->key.str();
    if (++seen > kGatePathsSeenMax) {
      facts.complete = false;
      return;
    }
    if (matches_any(rules.unchanged, path)) note(facts.changed, facts.changed_count, path);
    if (brings(*change)) {
      if (matches_any(rules.forbid, path) || matches_any(forbid_lower, lower(path)))
        note(facts.forbidden, facts.forbidden_count, path);
      if (const auto alias = aliases.find(path, *change->right))
        note(facts.aliases, facts.alias_count, *alias);
    }
    if (change->type != ChangeType::kRemoved) continue;
    if (replaces) note(facts.removed, facts.removed_count, path);
    if (matches_any(rules.keep, path) && facts.removed_kept_count++ == 0) facts.first_kept = path;
  }
  if (aliases.exhausted()) facts.complete = false;
}

/// The changes that merging the candidate would make in the destination; without a common ancestor
/// all differences.
std::unique_ptr<branch::Changes> changes_of(branch::Engine& engine,
                                            const std::optional<branch::MergeBaseTree>& base,
                                            const Commit& destination, const Commit& candidate) {
  if (!base) return branch::tree_changes(engine.nodes, destination.root, candidate.root);
  return branch::merge_changes(engine.nodes, base->root, destination.root, candidate.root);
}

/// Notes the paths of `unchanged_since` that differ from its commit.
void look_at_ancestor(branch::Engine& engine, const GatePolicy& policy,
                      const std::optional<Commit>& since, const Commit& candidate,
                      ObjectFacts& facts) {
  if (!since) return;
  uint64_t seen = 0;
  for (const Glob& pattern : policy.unchanged_since.paths) {
    const auto changes = branch::tree_changes(engine.nodes, since->root, candidate.root);
    changes->seek(pattern.prefix());
    for (auto change = changes->next(); change && change->key.str().starts_with(pattern.prefix());
         change = changes->next()) {
      if (++seen > kGatePathsSeenMax) {
        facts.complete = false;
        return;
      }
      if (pattern.matches(change->key.str()))
        note(facts.differing, facts.differing_count, change->key.str());
    }
  }
}

/// The commit of a ref in the policy: `pinned` if it was resolved when the policy was set, else the
/// current one.
std::optional<Commit> commit_of_policy(branch::Engine& engine, const Repository& repository,
                                       const GatePolicy& policy, std::string_view member,
                                       const std::string& ref,
                                       const std::optional<CommitId>& pinned) {
  if (ref.empty()) return std::nullopt;
  if (pinned) return engine.commits.get(repository.id, *pinned);
  try {
    return branch::resolve_commit(engine, repository, ref);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(error.code(), error.reason(),
                str_cat("policy \"", policy.name, "\": ", member, ": \"", ref,
                        "\" is no ref of the repository, make it or change the policy"));
  }
}

/// Earlier tries of a candidate that its evidence lists.
constexpr size_t kEarlierTriesShownMax = 100;

/// Gives each candidate its earlier tries.
void find_tries(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
                const Commit& destination, std::vector<GateCandidate>& candidates) {
  const std::vector<EarlierTry> tries =
      PromotionStore(engine.pool, engine.clock).tries(repository.id, policy.destination);
  if (tries.empty()) return;
  const Instant since = engine.clock.now() - policy.attempts.per;
  for (GateCandidate& candidate : candidates) {
    const std::vector<CommitId> brought = branch::commits_without(
        engine, repository.id, engine.commits.get(repository.id, candidate.facts.commit),
        destination);
    const std::set<CommitId> history(brought.begin(), brought.end());
    const std::string& objects = candidate.objects.required_digest;
    // A commit that the gate rejects again was not tried again: its values are the same.
    std::set<CommitId> rejected{candidate.facts.commit};
    for (const EarlierTry& one : tries) {
      if (one.ref != candidate.ref && one.commit != candidate.facts.commit &&
          !history.contains(one.commit) && (objects.empty() || one.objects != objects))
        continue;
      if (!one.chosen && !rejected.insert(one.commit).second) continue;
      if (one.at >= since) ++candidate.recent_tries;
      if (candidate.tries.size() < kEarlierTriesShownMax) candidate.tries.push_back(one);
    }
  }
}

bool has_budget(const GatePolicy& policy) {
  return std::any_of(policy.evaluations.begin(), policy.evaluations.end(),
                     [](const EvaluationRules& rules) { return rules.budget_per_author > 0; });
}

/// Missing webhooks are only warnings: they may be created after the policy.
std::vector<std::string> webhooks_not_there(branch::Engine& engine, RepositoryId repository,
                                            const GatePolicy& policy) {
  std::vector<std::string> out;
  for (const std::string& name : policy.after.webhooks) {
    const auto webhook = events::WebhookStore(engine.pool).find(repository, name);
    if (webhook && webhook->active) continue;
    out.push_back(str_cat("after.webhook: ", webhook ? "webhook \"" : "there is no webhook \"",
                          name, webhook ? "\" is inactive" : "\"", ", it will not be told"));
  }
  return out;
}

}  // namespace

runs::FactsWanted facts_wanted(std::span<const MetricRule> rules) {
  runs::FactsWanted wanted;
  for (const MetricRule& rule : rules) {
    if (rule.is_score()) continue;
    if (rule.slices) {
      wanted.name_globs.push_back(rule.slices->match.pattern());
    } else {
      wanted.names.push_back(rule.name);
      wanted.bare_names.push_back(rule.name);
    }
    if (rule.runs) wanted.run_params.push_back(rule.runs->by);
    for (const MetricSource& source : rule.trusted) {
      if (source.file) wanted.extra_globs.push_back(source.file->pattern());
    }
  }
  return wanted;
}

std::vector<CommitFacts> facts_of(branch::Engine& engine, RepositoryId repository,
                                  const GatePolicy& policy, std::span<const CommitId> commits,
                                  const std::function<bool(const Metric&)>& counts) {
  // Without metrics there is nothing to read, and no names would mean all of them.
  if (policy.metrics.empty()) {
    std::vector<CommitFacts> out;
    for (const CommitId& commit : commits) out.push_back({commit, {}, {}, {}});
    return out;
  }
  std::vector<CommitFacts> out =
      runs::commit_facts(engine, repository, commits, facts_wanted(policy.metrics));
  for (CommitFacts& facts : out) {
    if (counts) std::erase_if(facts.metrics, [&](const Metric& metric) { return !counts(metric); });
    limit_slices(policy.metrics, facts.metrics);
    aggregate_replicates(policy.metrics, facts);
  }
  add_results(engine, repository, policy, out);
  return out;
}

std::vector<GateCandidate> gate_candidates(branch::Engine& engine, const Repository& repository,
                                           const GatePolicy& policy, const Commit& destination,
                                           std::span<const branch::NamedCommit> candidates,
                                           const PathScope* replaced) {
  std::vector<CommitId> commits;
  for (const branch::NamedCommit& candidate : candidates) commits.push_back(candidate.commit.id);
  std::vector<CommitFacts> facts = facts_of(engine, repository.id, policy, commits);
  const std::optional<Commit> ancestor = commit_of_policy(
      engine, repository, policy, "require_ancestor", policy.require_ancestor, policy.ancestor);
  const std::optional<Commit> since =
      commit_of_policy(engine, repository, policy, "unchanged_since.ref",
                       policy.unchanged_since.ref, policy.unchanged_since.commit);
  const std::map<CommitId, Instant> stored = engine.commits.stored(repository.id, commits);
  const std::map<CommitId, std::string> rejections =
      PromotionStore(engine.pool, engine.clock).rejections(repository.id, commits);
  const std::vector<std::string> unheard = webhooks_not_there(engine, repository.id, policy);
  const std::vector<TimeHold> holds =
      time_holds(policy.freeze, policy.cooldown, engine.clock.now(),
                 policy.cooldown.count() > 0
                     ? PromotionStore(engine.pool, engine.clock)
                           .last_promoted(repository.id, policy.destination, policy.name)
                     : std::nullopt);
  // A virtual merge base has no references and must not be collected in the meantime.
  const meta::Writer::Operation operation(engine.writer);
  std::vector<GateCandidate> out;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Commit& commit = candidates[i].commit;
    GateCandidate& made = out.emplace_back();
    made.ref = candidates[i].ref;
    made.branch = candidates[i].branch;
    made.facts = std::move(facts[i]);
    made.holds = holds;
    made.facts.warnings.insert(made.facts.warnings.end(), unheard.begin(), unheard.end());
    if (candidates[i].hidden) {
      made.facts.warnings.push_back(
          str_cat(made.ref, " is a hidden branch, which lists of branches leave out"));
    }
    if (const auto at = rejections.find(commit.id); at != rejections.end())
      made.rejection = at->second;
    made.author = commit.committer;
    if (policy.wants_approvals() || has_budget(policy))
      made.authors = authors_since_standing(engine, repository, policy, commit, destination);
    if (const auto at = stored.find(commit.id); at != stored.end()) made.recorded = at->second;
    made.has_ancestor = ancestor && branch::is_ancestor(engine, repository.id, *ancestor, commit);
    made.up_to_date = !policy.require_up_to_date ||
                      branch::is_ancestor(engine, repository.id, destination, commit);
    meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
    const auto base =
        promotion_base_tree(engine, repository, nodes, commit, policy.destination, destination);
    const bool brings_nothing = base && base->root == commit.root;
    made.unmeasured = take_unmeasured(engine, repository, policy, commit,
                                      base && !brings_nothing ? &base->root : nullptr, made.facts);
    carry_values(engine, repository, policy, commit, made);
    const auto brought =
        replaced == nullptr
            ? changes_of(engine, base, destination, commit)
            : branch::scoped_changes(
                  branch::tree_changes(engine.nodes, destination.root, commit.root), *replaced);
    find_required(engine.nodes, policy.objects, commit.root, made.objects);
    if (!policy.card.path.empty())
      made.card = find_card(engine, repository, policy.card, commit.root);
    made.objects.total_bytes = tree::count_range(engine.nodes, commit.root, "", "").bytes;
    PathAliases aliases(engine.nodes, commit.root, destination.root,
                        base && replaced == nullptr ? &base->root : nullptr, replaced);
    look_at_changes(policy.objects, replaced != nullptr, *brought, aliases, made.objects);
    look_at_ancestor(engine, policy, since, commit, made.objects);
  }
  find_tries(engine, repository, policy, destination, out);
  return out;
}

namespace {

/// Ranks the candidates that did not fail and puts them first.
void rank_candidates(const GatePolicy& policy, std::span<const GateCandidate> facts,
                     std::vector<JudgedCandidate>& judged, std::vector<std::string>& warnings) {
  std::vector<GateCandidate> standing;
  std::vector<size_t> at;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (judged[i].verdict.outcome == GateOutcome::kFailed) continue;
    standing.push_back(facts[i]);
    at.push_back(i);
  }
  size_t place = 0;
  const Ranking ranking = rank_candidates(policy, standing);
  if (ranking.tied > 1) {
    warnings.push_back(str_cat("the best ", ranking.tied, " candidates cannot be told apart by ",
                               policy.leading_rule()->name, ": ", ranking.decided_by, " decides"));
  }
  for (const Standing& one : ranking.standings) {
    ++place;
    if (ranking.undecided()) {
      if (place > ranking.tied) continue;
      judged[at[one.candidate]].verdict.outcome = GateOutcome::kFailed;
      judged[at[one.candidate]].verdict.rules.push_back(undecided_rule(policy, ranking));
      continue;
    }
    judged[at[one.candidate]].rank = place;
    judged[at[one.candidate]].dominated = one.dominated;
  }
  std::stable_sort(judged.begin(), judged.end(),
                   [](const JudgedCandidate& a, const JudgedCandidate& b) {
                     return a.rank.value_or(SIZE_MAX) < b.rank.value_or(SIZE_MAX);
                   });
}

/// The minimum of replace-paths, as options for a shell.
std::string path_options(const GatePolicy& policy) {
  std::string out;
  for (const Glob& pattern : policy.objects.required) {
    // A pattern that needs more than simple quotes is left to the reader.
    if (pattern.pattern().find_first_of("'\\\n") != std::string::npos) return " --path 'PATTERN'";
    out += str_cat(" --path '", pattern.pattern(), "'");
  }
  return out.empty() ? " --path 'PATTERN'" : out;
}

}  // namespace

GateRefusal conflict_refusal(const GatePolicy& policy, std::string_view candidate,
                             std::span<const std::string> paths, uint64_t count) {
  std::string reason = str_cat(count, " paths were changed on both sides:");
  for (const std::string& path : paths) reason += str_cat(" \"", path, "\"");
  reason += str_cat(
      "; merge, let what both changed be as it is in the candidate, and measure again: tarn merge ",
      policy.destination.str(), " ", candidate, " --strategy dest-wins");
  if (policy.permits(PromotionMethod::kReplacePaths)) {
    reason += str_cat("; or take named paths as they are in the candidate: tarn promote ",
                      candidate, " --to ", policy.destination.str(), " --method replace-paths",
                      path_options(policy));
  }
  return {.rule = "merge", .code = "merge_conflict", .reason = std::move(reason)};
}

namespace {

/// The first paths that both sides have changed.
std::optional<GateRefusal> find_conflicts(branch::Engine& engine, const GatePolicy& policy,
                                          const branch::MergeBaseTree& base,
                                          const Commit& destination,
                                          const branch::NamedCommit& candidate) {
  branch::ConflictSource conflicts(engine.nodes, base.root, candidate.commit.root,
                                   destination.root);
  conflicts.seek("");
  std::vector<std::string> paths;
  uint64_t count = 0;
  while (const auto conflict = conflicts.next()) {
    if (++count > kGatePathsSeenMax) break;
    if (paths.size() < kGatePathsShownMax) paths.push_back(conflict->key.str());
  }
  if (count == 0) return std::nullopt;
  return conflict_refusal(policy, candidate.ref, paths, count);
}

}  // namespace

std::optional<GateRefusal> merge_refusal(branch::Engine& engine, const Repository& repository,
                                         const GatePolicy& policy, const Commit& destination,
                                         const branch::NamedCommit& candidate) {
  const meta::Writer::Operation operation(engine.writer);
  meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
  const auto base = promotion_base_tree(engine, repository, nodes, candidate.commit,
                                        policy.destination, destination);
  if (!base) return std::nullopt;
  const auto conflict = find_conflicts(engine, policy, *base, destination, candidate);
  if (conflict) return conflict;
  tree::MergeInput input;
  input.base = base->root;
  input.source = candidate.commit.root;
  input.destination = destination.root;
  input.resolve = [](const MergeConflict&) { return tree::Resolution::kTakeDestination; };
  const TreeRoot merged =
      tree::merge_trees(engine.nodes, nodes, {repository.salt}, input).result.root;
  try {
    check_promotion_result(engine, policy,
                           {.tree = merged, .winner = candidate.commit.root, .base = base->root});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPreconditionFailed) throw;
    return GateRefusal{
        .rule = "merge", .code = std::string(error.reason()), .reason = error.message()};
  }
  return std::nullopt;
}

GateRefusal dirty_refusal(const BranchName& destination) {
  return {.rule = "merge",
          .code = "destination_dirty",
          .reason = str_cat("branch '", destination.str(),
                            "' has staged changes, which a promotion would mix with its own: "
                            "remove the policy, then commit or reset them, then apply it again")};
}

std::optional<GateRefusal> destination_refusal(branch::Engine& engine, const Repository& repository,
                                               const Branch& destination) {
  versioning::DiffOptions first;
  first.limit = 1;
  if (versioning::diff_branch(engine, repository.name, destination.name, first).items.empty())
    return std::nullopt;
  return dirty_refusal(destination.name);
}

GateAnswer evaluate_gate(branch::Engine& engine, const Repository& repository,
                         const GateQuestion& question) {
  GateAnswer answer;
  answer.version =
      question.document
          ? draft_gate_policy(engine, repository, question.policy,
                              {.document = *question.document, .author = "", .expected = {}})
          : get_gate_policy(engine, repository, question.policy, question.version);
  const GatePolicy policy = policy_of(answer.version);
  const Branch destination = branch::get_branch(engine, repository, policy.destination);
  answer.destination = destination.head;
  answer.champion =
      question.champion
          ? std::optional(branch::find_candidate(engine, repository, *question.champion))
          : find_champion(engine, repository, policy);
  const Commit head = engine.commits.get(repository.id, destination.head);
  const Contenders contenders = choose_contenders(
      engine, repository, policy,
      branch::find_candidates(engine, repository, question.candidates, kPromotionBranchesSeenMax,
                              policy.destination.str()),
      head, kGateCandidatesMax);
  const std::vector<branch::NamedCommit>& candidates = contenders.judged;
  if (!contenders.left_out.empty()) answer.warnings.push_back(describe(contenders.left_out));
  std::optional<BaselineFacts> baseline;
  if (question.champion) {
    baseline = {.facts = champion_facts(engine, repository, policy, answer.champion->commit.id,
                                        policy.alias)};
  } else {
    baseline = baseline_facts(
        engine, repository, policy,
        answer.champion ? std::optional(answer.champion->commit.id) : std::nullopt, policy.alias);
  }
  const std::vector<CommitFacts> recent = recent_champions(engine, repository, policy);
  for (std::string& warning : warnings_of(policy)) answer.warnings.push_back(std::move(warning));
  std::vector<GateCandidate> facts = gate_candidates(engine, repository, policy, head, candidates);
  compare_with_champion(policy, facts, [&](const CommitId& commit) {
    return baseline ? baseline->against(commit) : nullptr;
  });
  for (size_t i = 0; i < candidates.size(); ++i) {
    const CommitFacts* const to_beat =
        baseline ? baseline->against(candidates[i].commit.id) : nullptr;
    Verdict verdict = evaluate(policy, facts[i], to_beat, recent);
    if (!question.measures_for.empty() && verdict.outcome != GateOutcome::kFailed &&
        !policy.evaluations.empty()) {
      ask_for_results(engine, repository.id, policy, question.measures_for, facts[i],
                      baseline ? &baseline->facts : nullptr);
      verdict = evaluate(policy, facts[i], to_beat, recent);
    }
    if (verdict.outcome != GateOutcome::kFailed && policy.permits(PromotionMethod::kMerge)) {
      facts[i].refusal = merge_refusal(engine, repository, policy, head, candidates[i]);
      if (facts[i].refusal) verdict = evaluate(policy, facts[i], to_beat, recent);
    }
    answer.candidates.push_back({candidates[i], std::move(verdict)});
  }
  rank_candidates(policy, facts, answer.candidates, answer.warnings);
  if (!answer.candidates.empty() && answer.candidates.front().rank)
    answer.refusal = destination_refusal(engine, repository, destination);
  return answer;
}

}  // namespace tarn::promotion
