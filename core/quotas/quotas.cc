#include "core/quotas/quotas.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/quotas/quota_rows.h"

namespace tarn::quotas {
namespace {

/// Refusals read the rows again if the copy is older.
constexpr std::chrono::milliseconds kRefusalAgeMax{1'000};
/// A refused write makes a recount due if the last one ended longer ago.
constexpr std::chrono::minutes kRecountedLatelyMax{10};

constexpr std::string_view kBytes = "bytes";
constexpr std::string_view kObjects = "objects";
constexpr std::string_view kBranches = "branches";
constexpr std::string_view kUploads = "uploads";

constexpr db::Query kSelectAll{"quotas_select_all", "SELECT " TARN_QUOTA_COLUMNS R"sql(, r.name
  FROM quotas q LEFT JOIN repositories r USING (repo_id) ORDER BY q.quota_id)sql"};

constexpr db::Query kSelectOfRepository{"quotas_select_of_repository",
                                        "SELECT " TARN_QUOTA_COLUMNS R"sql(
  FROM quotas q WHERE q.repo_id = $1 AND q.quota_id > $2 ORDER BY q.quota_id LIMIT $3)sql"};

constexpr db::Query kSelectByScope{"quotas_select_by_scope", "SELECT " TARN_QUOTA_COLUMNS R"sql(
  FROM quotas q WHERE q.repo_id = $1 AND q.user_name = $2 AND q.branches = $3)sql"};

// Two that are set at once may exceed the number by one each. An earlier refusal is forgotten: the
// next one emits an event again.
constexpr db::Query kUpsert{"quotas_upsert_row", R"sql(
  INSERT INTO quotas AS q (repo_id, user_name, branches, soft_bytes, hard_bytes, soft_objects, hard_objects,
                           soft_branches, hard_branches, soft_uploads, hard_uploads, soft_metadata, hard_metadata)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $13, $14
  WHERE $12 > (SELECT count(*) FROM quotas)
     OR EXISTS (SELECT 1 FROM quotas WHERE repo_id = $1 AND user_name = $2 AND branches = $3)
  ON CONFLICT (repo_id, user_name, branches) DO UPDATE SET
    soft_bytes = excluded.soft_bytes, hard_bytes = excluded.hard_bytes,
    soft_objects = excluded.soft_objects, hard_objects = excluded.hard_objects,
    soft_branches = excluded.soft_branches, hard_branches = excluded.hard_branches,
    soft_uploads = excluded.soft_uploads, hard_uploads = excluded.hard_uploads,
    soft_metadata = excluded.soft_metadata, hard_metadata = excluded.hard_metadata, refused = false,
    due_at = CASE WHEN excluded.soft_metadata IS NULL AND excluded.hard_metadata IS NULL THEN q.due_at
                  ELSE clock_timestamp() END
  RETURNING )sql" TARN_QUOTA_COLUMNS};

constexpr db::Query kDelete{"quotas_delete_row", R"sql(
  DELETE FROM quotas WHERE repo_id = $1 AND user_name = $2 AND branches = $3 RETURNING quota_id)sql"};

constexpr db::Query kDeleteObjects{"quotas_delete_objects",
                                   "DELETE FROM quota_objects WHERE quota_id = $1"};

// Tells the first refusal since the limits were set or a recount made room, and makes a recount
// due.
constexpr db::Query kNoteRefusal{"quotas_note_refusal", R"sql(
  WITH before AS (
    SELECT quota_id, refused FROM quotas
    WHERE quota_id = $1
      AND (NOT refused OR (due_at > clock_timestamp() AND coalesce(counted_ms, 0) <
                           extract(epoch FROM clock_timestamp()) * 1000 - $4))
    FOR UPDATE),
  marked AS (
    UPDATE quotas q SET refused = true, due_at = least(due_at, clock_timestamp())
    FROM before WHERE q.quota_id = before.quota_id RETURNING q.quota_id, before.refused AS known)
  SELECT tell_quota($2, 'quota.exceeded', quota_id, $3) FROM marked WHERE NOT known)sql"};

constexpr db::Query kLock{"quotas_lock_row", "SELECT " TARN_QUOTA_COLUMNS
                                             " FROM quotas q WHERE q.quota_id = $1 FOR UPDATE"};

constexpr db::Query kTellWarning{"quotas_tell_warning",
                                 "SELECT tell_quota($1, 'quota.warning', $2, $3)"};

constexpr db::Query kCountBranches{"quotas_count_branches", R"sql(
  SELECT count(*) FROM branches b JOIN repositories r USING (repo_id)
  WHERE ($1 = 0 OR b.repo_id = $1) AND ($2 = '' OR b.created_by = $2) AND r.deleted_ms IS NULL)sql"};

constexpr db::Query kSelectBranchNames{"quotas_select_branch_names", R"sql(
  SELECT b.name, 1::bigint FROM branches b JOIN repositories r USING (repo_id)
  WHERE ($1 = 0 OR b.repo_id = $1) AND ($2 = '' OR b.created_by = $2) AND r.deleted_ms IS NULL)sql"};

constexpr db::Query kCountUploads{"quotas_count_uploads", R"sql(
  SELECT count(*) FROM uploads u JOIN branches b USING (branch_id)
  WHERE ($1 = 0 OR u.repo_id = $1) AND ($2 = '' OR u.owner = $2) AND (u.kind = 'multipart' OR u.owner <> '')
    AND u.expires_at > clock_timestamp())sql"};

constexpr db::Query kSelectUploadBranches{"quotas_select_upload_branches", R"sql(
  SELECT b.name, count(*) FROM uploads u JOIN branches b USING (branch_id)
  WHERE ($1 = 0 OR u.repo_id = $1) AND ($2 = '' OR u.owner = $2) AND (u.kind = 'multipart' OR u.owner <> '')
    AND u.expires_at > clock_timestamp() GROUP BY b.name)sql"};

metrics::Counter& refusals(std::string_view what) {
  return metrics::counter("tarn_quota_refusals_total",
                          "Writes refused by a quota, by what it limits", {"limited", what});
}

std::string scope_text(const QuotaScope& scope, std::string_view repository) {
  std::string out = "quota";
  if (scope.repository != RepositoryId{}) out += str_cat(" of repository \"", repository, "\"");
  if (!scope.user.empty()) out += str_cat(" of user \"", scope.user, "\"");
  if (!scope.branches.empty()) out += str_cat(" of branches \"", scope.branches, "\"");
  return out;
}

/// The options that name the scope to `tarn quota`.
std::string scope_words(const QuotaScope& scope, std::string_view repository) {
  std::string out = scope.repository != RepositoryId{} ? str_cat(" tarn://", repository)
                                                       : std::string(" --all-repositories");
  if (!scope.user.empty()) out += str_cat(" --user '", scope.user, "'");
  if (!scope.branches.empty()) out += str_cat(" --on '", scope.branches, "'");
  return out;
}

std::string how_to_free(const QuotaScope& scope, std::string_view repository,
                        std::string_view what) {
  const std::string words = scope_words(scope, repository);
  const std::string raise = str_cat(", or have it raised: tarn quota set", words);
  if (what == kBranches) return str_cat("delete branches that are not needed", raise);
  if (what == kUploads) return str_cat("complete or abort uploads", raise);
  return str_cat(
      "delete objects, branches or uploads that are not needed (they count until garbage "
      "collection has removed them)",
      raise);
}

[[noreturn]] void throw_over_quota(const QuotaScope& scope, std::string_view repository,
                                   std::string_view what, uint64_t used, int64_t limit,
                                   uint64_t wanted) {
  refusals(what).add();
  throw Error(
      ErrorCode::kResourceExhausted, reason::kQuotaExceeded,
      str_cat(scope_text(scope, repository), " is exceeded: ", used, " of ", limit, " ", what,
              " are used, ", wanted, " more do not fit; ", how_to_free(scope, repository, what)));
}

/// The kind of limit that `bytes` more of one object would exceed; "" = none.
std::string_view exceeded_by(const QuotaLimits& limits, uint64_t used_bytes, uint64_t used_objects,
                             uint64_t bytes) {
  const auto over = [](const std::optional<int64_t>& hard, uint64_t used, uint64_t more) {
    return hard && more > 0 && used + more > static_cast<uint64_t>(*hard);
  };
  if (over(limits.bytes.hard, used_bytes, bytes)) return kBytes;
  if (over(limits.objects.hard, used_objects, 1)) return kObjects;
  return {};
}

uint64_t count_in_scope(const auto& run, const QuotaScope& scope, const db::Query& all,
                        const db::Query& by_branch) {
  struct Column {
    enum : int { kName, kCount };
  };
  const auto repo = static_cast<int32_t>(scope.repository);
  if (scope.branches.empty()) {
    return static_cast<uint64_t>(run(all, {repo, scope.user}).integer(0, 0));
  }
  const Glob glob(scope.branches);
  const db::Rows rows = run(by_branch, {repo, scope.user});
  uint64_t out = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (glob.matches(rows.text(row, Column::kName)))
      out += static_cast<uint64_t>(rows.integer(row, Column::kCount));
  }
  return out;
}

}  // namespace

void ChargeArrays::add(const Charge& charge) {
  for (const QuotaId quota : charge.quotas) {
    quotas_.push_back(static_cast<int32_t>(quota));
    addresses_.push_back(charge.address);
    sizes_.push_back(static_cast<int64_t>(charge.bytes));
  }
}

std::vector<db::Bytes> ChargeArrays::addresses() const {
  std::vector<db::Bytes> out;
  out.reserve(addresses_.size());
  for (const OwnAddress& address : addresses_) out.push_back(bytes_of(address));
  return out;
}

void Quotas::refresh(std::chrono::milliseconds age) {
  struct Column {
    enum : int { kName = QuotaColumn::kEnd };
  };
  const auto asked = std::chrono::steady_clock::now();
  MutexLock reading(reading_);
  {
    MutexLock lock(mutex_);
    if (copy_ && copy_->read + age > asked) return;
  }
  auto fresh = std::make_shared<Copy>();
  fresh->read = std::chrono::steady_clock::now();
  const db::Rows rows = pool_.run(kSelectAll, {}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    Held held{quota_from(rows, row), std::nullopt, {}};
    if (!held.quota.scope.branches.empty()) held.branches.emplace(held.quota.scope.branches);
    if (!rows.null(row, Column::kName)) held.repository_name = rows.text(row, Column::kName);
    fresh->quotas.push_back(std::move(held));
  }
  MutexLock lock(mutex_);
  copy_ = std::move(fresh);
  added_.clear();
}

std::shared_ptr<const Quotas::Copy> Quotas::copy() {
  {
    MutexLock lock(mutex_);
    if (copy_) return copy_;
  }
  refresh(kQuotaAgeMax);
  MutexLock lock(mutex_);
  return copy_;
}

bool Quotas::Held::counts(RepositoryId repository, std::string_view branch,
                          std::string_view user) const {
  return (quota.scope.repository == RepositoryId{} || quota.scope.repository == repository) &&
         (quota.scope.user.empty() || quota.scope.user == user) &&
         (!branches || branches->matches(branch));
}

std::vector<Quota> Quotas::matching(RepositoryId repository, std::string_view branch,
                                    std::string_view user) {
  const auto held = copy();
  std::vector<Quota> out;
  for (const Held& one : held->quotas) {
    if (!one.counts(repository, branch, user)) continue;
    out.push_back(one.quota);
    MutexLock lock(mutex_);
    const auto added = added_.find(one.quota.id);
    if (added == added_.end()) continue;
    out.back().bytes += added->second.bytes;
    out.back().objects += added->second.objects;
  }
  return out;
}

Charge Quotas::charge(RepositoryId repository, std::string_view branch, std::string_view user,
                      const OwnAddress& address, uint64_t bytes) {
  Charge out{.quotas = {}, .address = address, .bytes = bytes};
  const auto held = copy();
  for (const Held& one : held->quotas) {
    if (one.counts(repository, branch, user)) out.quotas.push_back(one.quota.id);
  }
  return out;
}

/// Adds the bytes on their way, but for those of `own`.
Quota Quotas::with_transfers(Quota quota, const Transfer* own) {
  MutexLock lock(mutex_);
  const auto at = on_the_way_.find(quota.id);
  if (at == on_the_way_.end()) return quota;
  quota.bytes += at->second - (own ? own->expected_of(quota.id) : 0);
  return quota;
}

void Quotas::check(RepositoryId repository, std::string_view branch, std::string_view user,
                   uint64_t bytes, const Transfer* own) {
  const auto exceeded = [&](const Quota& known) {
    const Quota quota = with_transfers(known, own);
    return !exceeded_by(quota.limits, quota.bytes, quota.objects, bytes).empty();
  };
  const std::vector<Quota> quotas = matching(repository, branch, user);
  if (std::none_of(quotas.begin(), quotas.end(), exceeded)) return;
  // The copy may be old, or count a charge twice that was noted while it was read.
  bool noted = false;
  {
    MutexLock lock(mutex_);
    noted = !added_.empty();
  }
  refresh(noted ? std::chrono::milliseconds{0} : kRefusalAgeMax);
  const auto held = copy();
  for (const Held& one : held->quotas) {
    if (!one.counts(repository, branch, user)) continue;
    Held full = one;
    full.quota = with_transfers(one.quota, own);  // once: transfers begin and end meanwhile
    const Quota& quota = full.quota;
    if (!exceeded_by(quota.limits, quota.bytes, quota.objects, bytes).empty()) {
      refuse(full, repository, bytes);
    }
  }
}

Quotas::Transfer::Transfer(Quotas& quotas, RepositoryId repository, std::string_view branch,
                           std::string_view user)
    : quotas_(quotas),
      repository_(repository),
      branch_(branch),
      user_(user),
      ids_(quotas.charge(repository, branch, user, {}, 0).quotas) {}

Quotas::Transfer::~Transfer() {
  if (expected_ == 0) return;
  MutexLock lock(quotas_.mutex_);
  for (const QuotaId id : ids_) {
    const auto at = quotas_.on_the_way_.find(id);
    if ((at->second -= expected_) == 0) quotas_.on_the_way_.erase(at);
  }
}

uint64_t Quotas::Transfer::expected_of(QuotaId id) const {
  return std::find(ids_.begin(), ids_.end(), id) == ids_.end() ? 0 : expected_;
}

void Quotas::Transfer::expect(uint64_t bytes) {
  if (ids_.empty() || bytes < kTransferBytesMin || bytes <= expected_) return;
  quotas_.check(repository_, branch_, user_, bytes, this);
  MutexLock lock(quotas_.mutex_);
  for (const QuotaId id : ids_) quotas_.on_the_way_[id] += bytes - expected_;
  expected_ = bytes;
}

void Quotas::note(const Charge& charge) {
  if (charge.empty()) return;
  MutexLock lock(mutex_);
  for (const QuotaId quota : charge.quotas) {
    Added& added = added_[quota];
    added.bytes += charge.bytes;
    ++added.objects;
  }
}

void Quotas::refuse(RepositoryId repository, const Charge& charge) {
  refresh(std::chrono::milliseconds{0});
  const auto held = copy();
  for (const Held& one : held->quotas) {
    const bool charged =
        std::find(charge.quotas.begin(), charge.quotas.end(), one.quota.id) != charge.quotas.end();
    if (charged &&
        !exceeded_by(one.quota.limits, one.quota.bytes, one.quota.objects, charge.bytes).empty()) {
      refuse(one, repository, charge.bytes);
    }
  }
  throw Error(ErrorCode::kResourceExhausted, reason::kQuotaExceeded,
              "a quota was exceeded and has room again: try again");
}

void Quotas::refuse(const Held& held, RepositoryId repository, uint64_t bytes) {
  const Quota& quota = held.quota;
  const std::string_view what = exceeded_by(quota.limits, quota.bytes, quota.objects, bytes);
  pool_.run(kNoteRefusal,
            {static_cast<int32_t>(quota.id), static_cast<int32_t>(repository), what,
             static_cast<int64_t>(std::chrono::milliseconds(kRecountedLatelyMax).count())},
            db::Pool::Retry::kWrite);
  const bool by_bytes = what == kBytes;
  throw_over_quota(quota.scope, held.repository_name, what, by_bytes ? quota.bytes : quota.objects,
                   *(by_bytes ? quota.limits.bytes.hard : quota.limits.objects.hard),
                   by_bytes ? bytes : 1);
}

bool Quotas::limits(RepositoryId repository, std::string_view branch, std::string_view user,
                    QuotaLimit QuotaLimits::*limit) {
  const auto held = copy();
  return std::any_of(held->quotas.begin(), held->quotas.end(), [&](const Held& one) {
    const QuotaLimit& limits = one.quota.limits.*limit;
    return (limits.soft || limits.hard) && one.counts(repository, branch, user);
  });
}

template <typename Count>
void Quotas::admit(db::Connection& connection, RepositoryId repository, std::string_view branch,
                   std::string_view user, std::string_view what, QuotaLimit QuotaLimits::*limit,
                   const Count& count) {
  const auto known = copy();
  for (const Held& held : known->quotas) {
    const QuotaLimit& copied = held.quota.limits.*limit;
    if ((!copied.soft && !copied.hard) || !held.counts(repository, branch, user)) continue;
    const auto id = static_cast<int32_t>(held.quota.id);
    // The count is a statement of its own, and sees what those did that had the lock before.
    const db::Rows rows = connection.run(kLock, {id});
    if (rows.empty()) continue;
    const Quota quota = quota_from(rows, 0);
    const QuotaLimit& limits = quota.limits.*limit;
    const auto counted = static_cast<int64_t>(count(quota.scope));
    if (limits.hard && counted > *limits.hard) {
      throw_over_quota(quota.scope, held.repository_name, what, static_cast<uint64_t>(counted - 1),
                       *limits.hard, 1);
    }
    if (limits.soft && counted == *limits.soft + 1) {
      connection.run(kTellWarning, {static_cast<int32_t>(repository), id, what});
    }
  }
}

void Quotas::admit_branch(db::Connection& connection, RepositoryId repository,
                          std::string_view branch, std::string_view user) {
  const auto run = [&](const db::Query& query, std::initializer_list<db::Param> params) {
    return connection.run(query, params);
  };
  admit(connection, repository, branch, user, kBranches, &QuotaLimits::branches,
        [&](const QuotaScope& scope) {
          return count_in_scope(run, scope, kCountBranches, kSelectBranchNames);
        });
}

void Quotas::admit_upload(db::Connection& connection, RepositoryId repository,
                          std::string_view branch, std::string_view user) {
  const auto run = [&](const db::Query& query, std::initializer_list<db::Param> params) {
    return connection.run(query, params);
  };
  admit(connection, repository, branch, user, kUploads, &QuotaLimits::uploads,
        [&](const QuotaScope& scope) {
          return count_in_scope(run, scope, kCountUploads, kSelectUploadBranches);
        });
}

std::vector<Quota> Quotas::list(RepositoryId repository, QuotaId after, uint32_t limit) {
  const db::Rows rows = pool_.run(
      kSelectOfRepository,
      {static_cast<int32_t>(repository), static_cast<int32_t>(after), static_cast<int64_t>(limit)},
      db::Pool::Retry::kRead);
  std::vector<Quota> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(quota_from(rows, row));
  return out;
}

std::optional<Quota> Quotas::find(const QuotaScope& scope) {
  const db::Rows rows = pool_.run(
      kSelectByScope, {static_cast<int32_t>(scope.repository), scope.user, scope.branches},
      db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return quota_from(rows, 0);
}

std::optional<Quota> Quotas::set(const QuotaScope& scope, const QuotaLimits& limits) {
  const db::Rows rows = pool_.run(
      kUpsert,
      {static_cast<int32_t>(scope.repository), scope.user, scope.branches, limits.bytes.soft,
       limits.bytes.hard, limits.objects.soft, limits.objects.hard, limits.branches.soft,
       limits.branches.hard, limits.uploads.soft, limits.uploads.hard,
       static_cast<int64_t>(kQuotasMax), limits.metadata.soft, limits.metadata.hard},
      db::Pool::Retry::kRepeatable);
  refresh(std::chrono::milliseconds{0});
  if (rows.empty()) return std::nullopt;
  return quota_from(rows, 0);
}

bool Quotas::remove(const QuotaScope& scope) {
  const bool removed = pool_.transaction([&](db::Connection& connection) {
    const db::Rows rows = connection.run(
        kDelete, {static_cast<int32_t>(scope.repository), scope.user, scope.branches});
    if (rows.empty()) return false;
    // After the wait for the row's lock: no charge adds any more.
    connection.run(kDeleteObjects, {static_cast<int32_t>(rows.integer(0, 0))});
    return true;
  });
  refresh(std::chrono::milliseconds{0});
  return removed;
}

uint64_t Quotas::count_branches(const QuotaScope& scope) {
  return count_in_scope(
      [&](const db::Query& query, std::initializer_list<db::Param> params) {
        return pool_.run(query, params, db::Pool::Retry::kRead);
      },
      scope, kCountBranches, kSelectBranchNames);
}

uint64_t Quotas::count_uploads(const QuotaScope& scope) {
  return count_in_scope(
      [&](const db::Query& query, std::initializer_list<db::Param> params) {
        return pool_.run(query, params, db::Pool::Retry::kRead);
      },
      scope, kCountUploads, kSelectUploadBranches);
}

}  // namespace tarn::quotas
