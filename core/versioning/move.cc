#include "core/versioning/move.h"

#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hook_files.h"
#include "core/branch/overlay.h"
#include "core/branch/protection.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/staged_edits.h"
#include "core/meta/staged_batch.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

constexpr uint64_t kKeysPerKeepAlive = 10'000;
constexpr int kMoveAttemptsMax = 5;
/// After so many interrupted attempts, a move includes concurrent writes.
constexpr int kMoveAttemptsUncontended = 2;

/// One attempt with the branch held. It reads what was sealed then; publishing fails if more was
/// staged since.
class MoveAttempt {
 public:
  MoveAttempt(branch::Engine& engine, const Repository& repository, const Branch& branch,
              const branch::BranchPermit& permit, const MoveRequest& request, bool contended)
      : engine_(engine),
        repository_(repository),
        branch_(branch),
        request_(request),
        contended_(contended),
        source_(range_of(request.source)),
        hold_(engine, branch, /*rotate=*/true, permit),
        batch_(engine.pool, engine.writer, repository.id) {}

  /// The number of moved objects; nullopt = interrupted by a concurrent write.
  std::optional<uint64_t> run() {
    branch::OverlayCursor cursor = branch::frozen_view(engine_, hold_.lease());
    for (cursor.seek(source_.begin); cursor.valid() && in_source(cursor.key()); cursor.next()) {
      move(cursor.key(), cursor.entry());
    }
    if (moved_ == 0) {
      throw Error(ErrorCode::kNotFound, reason::kObjectNotFound,
                  str_cat("moving \"", request_.source, "\": no object is there: not found"));
    }
    batch_.delete_range(source_);
    // Without this a move starves under steady writes. It cannot tell whether a destination was
    // written in the meantime, nor whether an object is new and counts.
    meta::StagedBatch::CatchUp catch_up;
    if (contended_ && request_.overwrite) {
      catch_up = [this](const std::vector<meta::StagedRow>& later) { return moved_too(later); };
    }
    switch (batch_.publish(branch_.id, hold_.lease(), {source_, range_of(request_.destination)},
                           catch_up)) {
      case meta::StagedBatch::Outcome::kDone:
        branch::fold_if_long(engine_, branch_.id, hold_);
        return moved_;
      case meta::StagedBatch::Outcome::kOvertaken:
      case meta::StagedBatch::Outcome::kLeaseLost:
        break;
    }
    return std::nullopt;
  }

 private:
  meta::KeyRange range_of(const std::string& name) const {
    // The end of a single key: no string lies between it and the key followed by NUL.
    return {name, request_.prefixes ? prefix_end(name) : name + '\0'};
  }
  bool in_source(std::string_view key) const {
    return key >= source_.begin && (source_.end.empty() || key < source_.end);
  }

  Key destination_of(const std::string& from) const {
    return parse_key(request_.destination + from.substr(request_.source.size()));
  }

  void move(const std::string& from, Entry entry) {
    if (++moved_ > kMoveObjectsMax) {
      throw_invalid(str_cat("moving \"", request_.source, "\": there are more than ",
                            kMoveObjectsMax, " objects, move the parts of the prefix"));
    }
    const Key to = destination_of(from);
    check(Key(from), to);
    if (!request_.overwrite) check_absent(to.str());
    batch_.add({to.str(), std::move(entry)});
    if (moved_ % kKeysPerKeepAlive == 0) hold_.keep_alive();
  }

  void check(const Key& from, const Key& to) const {
    branch::check_hook_file(engine_, repository_.name, from.str());
    branch::check_hook_file(engine_, repository_.name, to.str());
    if (request_.check) request_.check(from, to);
  }

  /// Entries written below the source since the branch was held, at their new paths. Entries
  /// written at the destination stay unless a moved entry replaces them. nullopt if an entry of the
  /// source was deleted: it is unknown whether it had been moved.
  std::optional<std::vector<meta::StagedRow>> moved_too(
      const std::vector<meta::StagedRow>& later) const {
    std::vector<meta::StagedRow> out;
    for (const meta::StagedRow& row : later) {
      if (!in_source(row.key)) continue;
      if (!row.entry) return std::nullopt;
      const Key to = destination_of(row.key);
      check(Key(row.key), to);
      out.push_back({to.str(), row.entry});
    }
    return out;
  }

  /// Objects of the source are no obstacle, because they move away. Must be called in the order of
  /// the keys.
  void check_absent(const std::string& key) {
    if (in_source(key)) return;
    if (!destination_) destination_.emplace(branch::frozen_view(engine_, hold_.lease())).seek(key);
    if (destination_->valid() && destination_->key() < key) destination_->seek(key);
    if (!destination_->valid() || destination_->key() != key) return;
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("moving to \"", key, "\": path already exists"));
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const Branch& branch_;
  const MoveRequest& request_;
  const bool contended_;
  const meta::KeyRange source_;
  branch::BranchHold hold_;
  meta::StagedBatch batch_;
  std::optional<branch::OverlayCursor> destination_;
  uint64_t moved_ = 0;
};

}  // namespace

uint64_t move_objects(branch::Engine& engine, const Repository& repository,
                      const BranchName& branch, const MoveRequest& request) {
  branch::check_writable(engine, repository, request.force);
  if (!request.prefixes) {
    parse_key(request.source);
    parse_key(request.destination);
  }
  if (request.source == request.destination) {
    throw_invalid(str_cat("moving \"", request.source, "\": the destination is the source"));
  }
  const meta::Writer::Operation operation(engine.writer);
  const branch::BranchPermit permit =
      branch::permit_of(engine, repository.id, BranchAction::kStage);
  for (int attempt = 0; attempt < kMoveAttemptsMax; ++attempt) {
    const Branch target = branch::get_branch(engine, repository, branch);
    permit(target);
    const bool contended = attempt >= kMoveAttemptsUncontended;
    if (const auto moved =
            MoveAttempt(engine, repository, target, permit, request, contended).run())
      return *moved;
  }
  throw Error(ErrorCode::kConflict, reason::kTooManyAttempts, "Too many attempts, try again later");
}

}  // namespace tarn::versioning
