#include "core/versioning/move.h"

#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/staged_batch.h"
#include "core/meta/writer.h"
#include "core/versioning/branch_hold.h"
#include "core/versioning/fold.h"
#include "core/versioning/overlay.h"
#include "core/versioning/protection.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

constexpr uint32_t kRowsPerPage = 10'000;
constexpr int kMoveAttemptsMax = 5;
constexpr uint32_t kBranchNamePrefixDigits = 1;

std::unique_ptr<RefSnapshot> open_branch(Engine& engine, const RepositoryName& repository,
                                         const BranchName& branch, std::string_view begin) {
  return RefSnapshot::open(engine, repository, branch.str(), begin,
                           {StagedReading::kAll, kRowsPerPage}, kBranchNamePrefixDigits);
}

/// One attempt with the branch held. What the source shows stays as it is until publishing or
/// publishing fails, so pages of different moments fit together.
class MoveAttempt {
 public:
  MoveAttempt(Engine& engine, const RepositoryName& repository, const Branch& branch,
              const MoveRequest& request)
      : engine_(engine),
        repository_(repository),
        branch_(branch),
        request_(request),
        source_(range_of(request.source)),
        hold_(engine, branch.id, /*rotate=*/true),
        batch_(engine.pool, engine.writer) {}

  /// How many objects are where they should be; nullopt = overtaken.
  std::optional<uint64_t> run() {
    std::string begin = source_.begin;
    do {
      hold_.keep_alive();
      const std::vector<meta::StagedRow> rows = next_page(&begin);
      if (!request_.overwrite) check_absent(rows);
      batch_.add(rows);
    } while (!begin.empty());
    if (moved_ == 0) {
      throw Error(ErrorCode::kNotFound, "object_not_found",
                  str_cat("moving \"", request_.source, "\": no object is there: not found"));
    }
    batch_.delete_range(source_);
    switch (batch_.publish(branch_.id, branch_.settings_version, hold_.lease(),
                           {source_, range_of(request_.destination)})) {
      case meta::StagedBatch::Outcome::kDone:
        fold_if_long(engine_, branch_.id, hold_);
        return moved_;
      case meta::StagedBatch::Outcome::kOvertaken:
      case meta::StagedBatch::Outcome::kLeaseLost:
        break;
    }
    return std::nullopt;
  }

 private:
  meta::KeyRange range_of(const std::string& name) const {
    // No string lies between a key and the key with a NUL behind it.
    return {name, request_.prefixes ? prefix_end(name) : name + '\0'};
  }
  bool in_source(std::string_view key) const {
    return key >= source_.begin && (source_.end.empty() || key < source_.end);
  }

  /// Rows of the destination for the next objects of the source; moves `*begin` on, "" = the end.
  std::vector<meta::StagedRow> next_page(std::string* begin) {
    std::vector<meta::StagedRow> rows;
    const auto snapshot = open_branch(engine_, repository_, branch_.name, *begin);
    OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows());
    for (cursor.seek(*begin); cursor.valid() && in_source(cursor.key()); cursor.next()) {
      if (rows.size() == kRowsPerPage) {
        *begin = cursor.key();
        return rows;
      }
      if (++moved_ > kMoveObjectsMax) {
        throw_invalid(str_cat("moving \"", request_.source, "\": there are more than ",
                              kMoveObjectsMax, " objects, move the parts of the prefix"));
      }
      const Key to = parse_key(request_.destination + cursor.key().substr(request_.source.size()));
      if (request_.check) request_.check(Key(cursor.key()), to);
      rows.push_back({to.str(), cursor.entry()});
    }
    begin->clear();
    return rows;
  }

  /// Objects of the source are no obstacle: they move away.
  void check_absent(const std::vector<meta::StagedRow>& rows) const {
    if (rows.empty()) return;
    const auto snapshot = open_branch(engine_, repository_, branch_.name, rows.front().key);
    OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows());
    cursor.seek(rows.front().key);
    for (const meta::StagedRow& row : rows) {
      if (cursor.valid() && cursor.key() < row.key) cursor.seek(row.key);
      if (!cursor.valid()) return;
      if (cursor.key() != row.key || in_source(row.key)) continue;
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("moving to \"", row.key, "\": path already exists"));
    }
  }

  Engine& engine_;
  const RepositoryName& repository_;
  const Branch& branch_;
  const MoveRequest& request_;
  const meta::KeyRange source_;
  BranchHold hold_;
  meta::StagedBatch batch_;
  uint64_t moved_ = 0;
};

}  // namespace

uint64_t move_objects(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                      const MoveRequest& request) {
  const Repository repo = get_repository(engine, repository);
  check_writable(repo, request.force);
  if (!request.prefixes) {
    parse_key(request.source);
    parse_key(request.destination);
  }
  if (request.source == request.destination) {
    throw_invalid(str_cat("moving \"", request.source, "\": the destination is the source"));
  }
  const meta::Writer::Operation operation(engine.writer);
  for (int attempt = 0; attempt < kMoveAttemptsMax; ++attempt) {
    const Branch target = get_branch(engine, repository, branch);
    check_branch_action(engine, repo.id, target, BranchAction::kStage);
    if (const auto moved = MoveAttempt(engine, repository, target, request).run()) return *moved;
  }
  throw Error(ErrorCode::kConflict, "too_many_attempts", "Too many attempts, try again later");
}

}  // namespace tarn::versioning
