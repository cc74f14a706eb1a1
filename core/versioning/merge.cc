#include "core/versioning/merge.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/authors.h"
#include "core/branch/changes.h"
#include "core/branch/history.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/staged_edits.h"
#include "core/meta/commits.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/tree/merge.h"

namespace tarn::versioning {
tree::Resolution resolution_of(MergeStrategy strategy) {
  switch (strategy) {
    case MergeStrategy::kNone:
      return tree::Resolution::kConflict;
    case MergeStrategy::kSourceWins:
      return tree::Resolution::kTakeSource;
    case MergeStrategy::kDestinationWins:
      return tree::Resolution::kTakeDestination;
  }
  return tree::Resolution::kConflict;
}

namespace {

constexpr std::string_view kStrategyKey = ".lakefs.merge.strategy";
constexpr std::string_view kScopeSourceKey = ".tarn.merge.source";
constexpr std::string_view kScopePathsKey = ".tarn.merge.paths";
constexpr size_t kOverlapsShownMax = 20;

std::string_view name_of_strategy(MergeStrategy strategy) {
  switch (strategy) {
    case MergeStrategy::kNone:
      return "default";
    case MergeStrategy::kSourceWins:
      return "source-wins";
    case MergeStrategy::kDestinationWins:
      return "dest-wins";
  }
  return "default";
}

tree::Resolution resolution_of(const MergeRequest& request, const Key& key) {
  for (const ConflictResolution& resolution : request.resolutions) {
    if (!resolution.glob.matches(key.str())) continue;
    return resolution.take_source ? tree::Resolution::kTakeSource
                                  : tree::Resolution::kTakeDestination;
  }
  return resolution_of(request.strategy);
}

/// Includes the current token: what was staged when the merge began counts, and sealing it for a
/// check would only slow down later reads.
std::vector<int64_t> all_tokens(const meta::BranchLease& lease) {
  std::vector<int64_t> tokens = {lease.token};
  tokens.insert(tokens.end(), lease.sealed.begin(), lease.sealed.end());
  return tokens;
}

/// Iterates over staged keys and the keys that a merge changes, both in order.
class StagedOverlap {
 public:
  StagedOverlap(branch::Engine& engine, branch::BranchHold& hold)
      : edits_(engine, all_tokens(hold.lease()), hold.lease().has_ranges,
               [&hold] { hold.keep_alive(); }),
        ranges_(edits_.range_deletes()),
        staged_(edits_.next()) {}

  void on_change(std::string_view key) {
    while (staged_ && staged_->key < key) staged_ = edits_.next();
    const bool in_range =
        std::any_of(ranges_.begin(), ranges_.end(), [key](const tree::RangeDelete& r) {
          return r.begin <= key && (r.end.empty() || key < r.end);
        });
    if (!in_range && !(staged_ && staged_->key == key)) return;
    if (overlaps_.size() < kOverlapsShownMax) overlaps_.emplace_back(key);
    ++count_;
  }

  void throw_if_any() const {
    if (count_ == 0) return;
    std::string message = str_cat("merging: ", count_, " staged paths are changed by the merge: ");
    for (const std::string& key : overlaps_) message += key + " ";
    throw Error(ErrorCode::kConflict, reason::kStagedOverlap, message);
  }

 private:
  branch::StagedEdits edits_;
  const std::vector<tree::RangeDelete> ranges_;
  std::optional<tree::Change> staged_;
  std::vector<std::string> overlaps_;
  size_t count_ = 0;
};

/// One attempt with the destination held.
class MergeAttempt {
 public:
  MergeAttempt(branch::Engine& engine, const Repository& repository, std::string_view source_ref,
               const Branch& destination, const MergeRequest& request, MergeTerms& terms)
      : engine_(engine),
        repository_(repository),
        source_ref_(source_ref),
        destination_(destination),
        request_(request),
        terms_(terms) {}

  std::optional<branch::BuiltCommit> build(branch::BranchHold& hold, meta::NodeWriter& nodes) {
    terms_.check_start();
    branch::BuiltCommit built;
    // Checks the destination's state before the source's existence, as clients expect.
    if (!request_.allow_dirty) built.drained = branch::require_clean(engine_, hold);
    source_ = branch::resolve_commit(engine_, repository_, source_ref_);
    terms_.check_source(hold.lease(), source_);
    const Commit head = engine_.commits.get(repository_.id, hold.lease().head);
    const auto base = terms_.base(nodes, source_, head);
    if (!base) {
      throw Error(ErrorCode::kInvalidArgument, reason::kNoMergeBase,
                  str_cat("merging '", source_ref_, "' into '", destination_.name.str(),
                          "': no common ancestor"));
    }
    tree::MergeInput input;
    input.base = base->root;
    input.source = source_.root;
    input.destination = hold.lease().root;
    input.resolve = [this](const MergeConflict& conflict) {
      return resolution_of(request_, conflict.key);
    };
    input.scope = request_.paths ? &*request_.paths : nullptr;
    input.conflicts_kept_max = kConflictsKeptMax;
    std::optional<StagedOverlap> overlap;
    if (request_.allow_dirty) {
      overlap.emplace(engine_, hold);
      input.on_change = [&overlap](std::string_view key) { overlap->on_change(key); };
    }
    tree::MergeResult merged = tree::merge_trees(engine_.nodes, nodes, {repository_.salt}, input);
    if (merged.conflict_count > 0) {
      conflicts = {std::move(merged.conflicts), merged.conflict_count};
      return std::nullopt;
    }
    if (overlap) overlap->throw_if_any();
    // Two sides that independently made the same change may be merged; a source without changes of
    // its own may not. A merge of paths joins no histories, so it must change something.
    const bool source_changed =
        request_.paths ? merged.result.changed_anything()
                       : !(source_.root == base->root) || is_emptied_since_first(*base);
    if (!source_changed && !request_.allow_empty && !request_.force) {
      throw Error(ErrorCode::kInvalidArgument, reason::kNoChanges,
                  str_cat("update branch ", destination_.name.str(), ": no changes"));
    }
    terms_.check_result(merged.result.root);
    return describe(std::move(built), merged, *base, head);
  }

  MergeConflicts conflicts;

 private:
  /// A tree that was filled and emptied again differs from that of a new repository's commit, for
  /// which no tree was ever made. Clients rely on being able to merge it.
  bool is_emptied_since_first(const branch::MergeBaseTree& base) const {
    return !terms_.is_promotion() && base.root.empty() && base.read.size() == 1 &&
           source_.id != base.read[0] &&
           engine_.commits.get(repository_.id, base.read[0]).parents.empty();
  }

  branch::BuiltCommit describe(branch::BuiltCommit built, const tree::MergeResult& merged,
                               const branch::MergeBaseTree& base, const Commit& head) const {
    built.root = merged.result.root;
    built.clean = true;
    built.parents = {head.id};
    if (!request_.squash && !request_.paths && source_.id != head.id) {
      built.parents.push_back(source_.id);
    }
    // The commits of the source are not in the history of such a merge.
    if (built.parents.size() == 1 && source_.id != head.id) {
      const std::set<std::string> makers = authors_of(engine_, repository_.id, source_, head);
      built.makers.assign(makers.begin(), makers.end());
    }
    built.read = base.read;
    built.read.push_back(source_.id);
    built.committer = request_.committer;
    built.promotion = terms_.is_promotion();
    built.check_again = [this] { terms_.check_again(); };
    built.within = terms_.publishing();
    built.message = request_.message.empty()
                        ? str_cat("Merge '", source_ref_, "' into '", destination_.name.str(), "'")
                        : request_.message;
    built.hooks = hooks_of(head);
    built.metadata = request_.metadata;
    built.metadata[std::string(kStrategyKey)] = name_of_strategy(request_.strategy);
    if (request_.paths) {
      built.metadata[std::string(kScopeSourceKey)] = to_text(source_.id);
      std::string& paths = built.metadata[std::string(kScopePathsKey)];
      for (const Glob& glob : request_.paths->patterns()) {
        paths += str_cat(paths.empty() ? "" : "\n", glob.pattern());
      }
    }
    return built;
  }

  branch::CommitHooks hooks_of(const Commit& head) const {
    branch::CommitHooks hooks{.before = HookEvent::kPreMerge,
                              .after = HookEvent::kPostMerge,
                              .branch = destination_.name.str(),
                              .source_ref = to_text(source_.id),
                              .merge_source = std::string(source_ref_)};
    if (branch::has_hooks(engine_, repository_)) {
      hooks.files = {.files = branch::action_files_of(engine_, source_.root),
                     .destination = branch::action_files_of(engine_, head.root),
                     .ref = to_text(source_.id),
                     .destination_ref = to_text(head.id)};
    }
    return hooks;
  }

  branch::Engine& engine_;
  const Repository& repository_;
  Commit source_;
  const std::string_view source_ref_;
  const Branch& destination_;
  const MergeRequest& request_;
  MergeTerms& terms_;
};

}  // namespace

MergeStrategy parse_merge_strategy(std::string_view text) {
  if (text.empty()) return MergeStrategy::kNone;
  if (text == "source-wins") return MergeStrategy::kSourceWins;
  if (text == "dest-wins") return MergeStrategy::kDestinationWins;
  throw_invalid("argument strategy: must be source-wins or dest-wins");
}

std::variant<Commit, MergeConflicts> merge_into(branch::Engine& engine,
                                                const Repository& repository,
                                                std::string_view source_ref,
                                                const BranchName& destination,
                                                const MergeRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, destination);
  MergeRules rules(engine, repository, target);
  return merge_on_terms(engine, repository, source_ref, target, request, rules);
}

std::variant<Commit, MergeConflicts> merge_on_terms(
    branch::Engine& engine, const Repository& repository, std::string_view source_ref,
    const Branch& destination, const MergeRequest& request, MergeTerms& terms) {
  branch::BranchPermit permit;
  if (!terms.is_promotion()) {
    permit = [&](const Branch& now) {
      branch::check_merge(engine, repository.id, now,
                          request.squash ? MergeMethod::kSquash : MergeMethod::kMerge);
    };
    permit(destination);
  }
  MergeAttempt attempt(engine, repository, source_ref, destination, request, terms);
  const auto commit =
      branch::build_and_publish(engine, repository, destination, /*rotate=*/!request.allow_dirty,
                                permit, [&](branch::BranchHold& hold, meta::NodeWriter& nodes) {
                                  return attempt.build(hold, nodes);
                                });
  if (!commit) return std::move(attempt.conflicts);
  return *commit;
}

Page<MergeConflict> list_conflicts(branch::Engine& engine, const Repository& repository,
                                   std::string_view source_ref, const BranchName& destination,
                                   const ConflictOptions& options) {
  const Branch target = branch::get_branch(engine, repository, destination);
  const Commit source = branch::resolve_commit(engine, repository, source_ref);
  const Commit head = engine.commits.get(repository.id, target.head);
  const meta::Writer::Operation operation(engine.writer);
  const TreeRoot base = branch::merge_base_to_read(engine, repository, source, head).root;
  branch::ConflictSource conflicts(engine.nodes, base, source.root, head.root);
  conflicts.seek(std::max(options.prefix, options.after.empty() ? "" : options.after + '\0'));
  Page<MergeConflict> page{.next_of = [](const MergeConflict& one) { return one.key.str(); }};
  size_t bytes = 0;
  while (auto conflict = conflicts.next()) {
    if (!conflict->key.str().starts_with(options.prefix)) break;
    if (page.items.size() == options.limit || bytes >= kPageBytesMax) {
      page.end_here();
      break;
    }
    bytes += conflict->key.str().size() + bytes_of(conflict->base) + bytes_of(conflict->source) +
             bytes_of(conflict->destination);
    page.items.push_back(*std::move(conflict));
  }
  return page;
}

MergeBase find_merge_base(branch::Engine& engine, const Repository& repository,
                          std::string_view source_ref, std::string_view destination_ref) {
  const Commit source = branch::resolve_commit(engine, repository, source_ref);
  const Commit destination = branch::resolve_commit(engine, repository, destination_ref);
  const std::vector<Commit> bases =
      branch::best_common_ancestors(engine, repository.id, source, destination);
  if (bases.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kNoMergeBase,
                "finding the merge base: no common ancestor");
  }
  return {source.id, destination.id, bases[0].id};
}

}  // namespace tarn::versioning
