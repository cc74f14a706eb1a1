#include "core/versioning/checkout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/authors.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hook_files.h"
#include "core/branch/overlay.h"
#include "core/branch/protection.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/staged_edits.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/meta/staged_batch.h"
#include "core/meta/writer.h"
#include "core/tree/entry_fields.h"

namespace tarn::versioning {
namespace {

constexpr uint64_t kKeysPerKeepAlive = 10'000;
constexpr int kCheckoutAttemptsMax = 5;
/// After so many interrupted attempts, a checkout also replaces concurrent writes.
constexpr int kCheckoutAttemptsUncontended = 2;

/// One attempt with the branch held. If the ref is a branch's current state, that branch is held
/// too: both states are then frozen and can be read without a transaction.
class CheckoutAttempt {
 public:
  CheckoutAttempt(branch::Engine& engine, const Repository& repository, const Branch& branch,
                  const branch::BranchPermit& permit, const branch::ResolvedRef& source,
                  const CheckoutRequest& request, bool contended)
      : engine_(engine),
        repository_(repository),
        branch_(branch),
        source_(source),
        request_(request),
        contended_(contended) {
    const bool other = source.staged && source.branch->id != branch.id;
    // In the order of ids, so that two checkouts do not deadlock.
    if (other && source.branch->id < branch.id) {
      source_hold_.emplace(engine, *source.branch, /*rotate=*/true, nullptr);
    }
    hold_.emplace(engine, branch, /*rotate=*/true, permit);
    if (other && !source_hold_) {
      source_hold_.emplace(engine, *source.branch, /*rotate=*/true, nullptr);
    }
  }

  /// nullopt = interrupted by a concurrent write.
  std::optional<CheckoutCounts> run() {
    const CopiedWork copied(makers());
    meta::StagedBatch batch(engine_.pool, engine_.writer, repository_.id);
    compare(batch);
    release_source();
    if (request_.dry_run || counts_.written() + counts_.deleted == 0) return counts_;
    // Without this a checkout starves under steady writes.
    meta::StagedBatch::CatchUp catch_up;
    if (contended_ && keys_ <= kCheckoutKeysRememberedMax) {
      catch_up = [this](const std::vector<meta::StagedRow>& later) { return replaced_too(later); };
    }
    switch (batch.publish(branch_.id, hold_->lease(), concerned_ranges(), catch_up)) {
      case meta::StagedBatch::Outcome::kDone:
        branch::fold_if_long(engine_, branch_.id, *hold_);
        return counts_;
      case meta::StagedBatch::Outcome::kOvertaken:
      case meta::StagedBatch::Outcome::kLeaseLost:
        break;
    }
    return std::nullopt;
  }

 private:
  /// The users whose work the checkout brings to the branch.
  std::set<std::string> makers() {
    if (request_.dry_run || (source_.staged && !source_hold_)) return {};
    const CommitId from = source_hold_ ? source_hold_->lease().head : source_.commit.id;
    std::set<std::string> out =
        branch::authors_of(engine_, repository_.id, engine_.commits.get(repository_.id, from),
                           engine_.commits.get(repository_.id, hold_->lease().head));
    if (source_hold_) out.merge(engine_.staging.makers(source_hold_->lease().sealed));
    return out;
  }

  branch::OverlayCursor source_cursor() {
    if (source_hold_) return branch::frozen_view(engine_, source_hold_->lease());
    if (source_.staged) return branch::frozen_view(engine_, hold_->lease());
    return {engine_.nodes, source_.commit.root, {}};
  }

  void compare(meta::StagedBatch& batch) {
    branch::OverlayCursor theirs = source_cursor();
    branch::OverlayCursor ours = branch::frozen_view(engine_, hold_->lease());
    auto at = request_.paths.skip_to("");
    theirs.seek(*at);
    ours.seek(*at);
    while (theirs.valid() || ours.valid()) {
      const std::string key = !ours.valid()     ? theirs.key()
                              : !theirs.valid() ? ours.key()
                                                : std::min(theirs.key(), ours.key());
      keep_alive();
      at = request_.paths.skip_to(key);
      if (!at) break;
      if (*at != key) {
        theirs.seek(*at);
        ours.seek(*at);
        continue;
      }
      const bool is_theirs = theirs.valid() && theirs.key() == key;
      const bool is_ours = ours.valid() && ours.key() == key;
      if (request_.paths.contains(key)) {
        settle(batch, key, is_theirs ? std::optional(theirs.entry()) : std::nullopt,
               is_ours ? std::optional(ours.entry()) : std::nullopt);
      }
      if (is_theirs) theirs.next();
      if (is_ours) ours.next();
    }
  }

  void settle(meta::StagedBatch& batch, const std::string& key, std::optional<Entry> theirs,
              const std::optional<Entry>& ours) {
    if (++keys_ > kCheckoutKeysMax) {
      throw_invalid(str_cat("checking out \"", request_.ref, "\": more than ", kCheckoutKeysMax,
                            " keys match, check out parts of them"));
    }
    uint64_t* const count = count_of(theirs, ours);
    ++*count;
    if (contended_ && keys_ <= kCheckoutKeysRememberedMax) {
      remembered_.emplace(key, Remembered{theirs, count});
    }
    if (count == &counts_.unchanged) return;
    check(key, theirs);
    if (!request_.dry_run) batch.add({key, std::move(theirs)});
  }

  /// The counter of a key that changes from `ours` to `theirs`; nullptr if both are absent.
  uint64_t* count_of(const std::optional<Entry>& theirs, const std::optional<Entry>& ours) {
    if (!theirs) return ours ? &counts_.deleted : nullptr;
    if (!ours) return &counts_.added;
    return tree::same_content(*theirs, *ours) ? &counts_.unchanged : &counts_.changed;
  }

  void check(const std::string& key, const std::optional<Entry>& theirs) const {
    branch::check_hook_file(engine_, repository_.name, key);
    if (request_.check) request_.check(Key(key), !theirs);
  }

  /// The rows that replace entries of the paths that were written since the branch was held. All
  /// entries of the ref at the paths are remembered, so the ref lacks every other key.
  std::vector<meta::StagedRow> replaced_too(const std::vector<meta::StagedRow>& later) {
    std::vector<meta::StagedRow> out;
    for (const meta::StagedRow& row : later) {
      if (!request_.paths.contains(row.key)) continue;
      Remembered& seen = remembered_[row.key];
      uint64_t* const count = count_of(seen.theirs, row.entry);
      if (seen.count != nullptr) --*seen.count;
      if (count != nullptr) ++*count;
      const bool staged = seen.count != nullptr && seen.count != &counts_.unchanged;
      const bool changes = count != nullptr && count != &counts_.unchanged;
      if (changes) check(row.key, seen.theirs);
      if (changes || staged) out.push_back({row.key, seen.theirs});
    }
    return out;
  }

  void keep_alive() {
    if (++looked_ % kKeysPerKeepAlive != 0) return;
    hold_->keep_alive();
    if (source_hold_) source_hold_->keep_alive();
  }

  void release_source() {
    if (!source_hold_) return;
    source_hold_->keep_alive();  // otherwise the rows that were read may be folded
    branch::fold_if_long(engine_, source_.branch->id, *source_hold_);
    source_hold_.reset();
  }

  std::vector<meta::KeyRange> concerned_ranges() const {
    std::vector<meta::KeyRange> out;
    for (const Glob& glob : request_.paths.patterns()) {
      out.push_back({glob.prefix(), prefix_end(glob.prefix())});
    }
    return out;
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const Branch& branch_;
  const branch::ResolvedRef& source_;
  const CheckoutRequest& request_;
  const bool contended_;
  std::optional<branch::BranchHold> source_hold_;
  std::optional<branch::BranchHold> hold_;
  /// The ref's entry at a key, and the counter of the key.
  struct Remembered {
    std::optional<Entry> theirs;
    uint64_t* count = nullptr;
  };
  std::map<std::string, Remembered> remembered_;
  CheckoutCounts counts_;
  uint64_t keys_ = 0;
  uint64_t looked_ = 0;
};

}  // namespace

CheckoutCounts checkout_paths(branch::Engine& engine, const Repository& repository,
                              const BranchName& branch, const CheckoutRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const meta::Writer::Operation operation(engine.writer);
  const branch::BranchPermit permit =
      branch::permit_of(engine, repository.id, BranchAction::kStage);
  for (int attempt = 0; attempt < kCheckoutAttemptsMax; ++attempt) {
    const Branch target = branch::get_branch(engine, repository, branch);
    permit(target);
    const branch::ResolvedRef source = branch::resolve(engine, repository, request.ref);
    const bool contended = attempt >= kCheckoutAttemptsUncontended;
    CheckoutAttempt trying(engine, repository, target, permit, source, request, contended);
    if (const auto counts = trying.run()) return *counts;
  }
  throw Error(ErrorCode::kConflict, reason::kTooManyAttempts, "Too many attempts, try again later");
}

}  // namespace tarn::versioning
