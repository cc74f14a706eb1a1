#include "core/accounting/usage_day_store.h"

#include "core/model/listing.h"

namespace tarn::accounting {
namespace {

// Shared locks keep the rows of a repository that is being deleted from being inserted after it.
constexpr db::Query kClaim{"usage_days_claim", R"sql(
  WITH due AS (
    SELECT repo_id, name, (clock_timestamp() AT TIME ZONE 'UTC')::date AS day FROM repositories r
    WHERE deleted_ms IS NULL AND NOT EXISTS (
      SELECT 1 FROM usage_days d
      WHERE d.repo_id = r.repo_id AND d.day = (clock_timestamp() AT TIME ZONE 'UTC')::date)
    ORDER BY repo_id LIMIT $1 FOR SHARE OF r SKIP LOCKED),
  claimed AS (
    INSERT INTO usage_days (repo_id, day) SELECT repo_id, day FROM due ON CONFLICT DO NOTHING RETURNING repo_id, day)
  SELECT repo_id, name, to_char(claimed.day, 'YYYY-MM-DD') FROM claimed JOIN due USING (repo_id))sql"};

constexpr db::Query kRecord{"usage_days_record", R"sql(
  UPDATE usage_days SET objects = $3, bytes = $4 WHERE repo_id = $1 AND day = $2::text::date)sql"};

constexpr db::Query kSelect{"usage_days_select", R"sql(
  SELECT to_char(day, 'YYYY-MM-DD'), objects, bytes FROM usage_days
  WHERE repo_id = $1 AND objects IS NOT NULL AND ($2 = '' OR to_char(day, 'YYYY-MM-DD') < $2)
  ORDER BY day DESC LIMIT $3)sql"};

}  // namespace

std::vector<ClaimedDay> UsageDayStore::claim(uint32_t limit) {
  struct Column {
    enum : int { kRepoId, kName, kDay };
  };
  const db::Rows rows = pool_.run(kClaim, {static_cast<int64_t>(limit)}, db::Pool::Retry::kWrite);
  std::vector<ClaimedDay> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<RepositoryId>(rows.integer(row, Column::kRepoId)),
                   RepositoryName(std::string(rows.text(row, Column::kName))),
                   std::string(rows.text(row, Column::kDay))});
  }
  return out;
}

void UsageDayStore::record(const ClaimedDay& claim, const Amount& amount) {
  pool_.run(kRecord,
            {static_cast<int32_t>(claim.repository), claim.day,
             static_cast<int64_t>(amount.objects), static_cast<int64_t>(amount.bytes)},
            db::Pool::Retry::kRepeatable);
}

Page<UsageDay> UsageDayStore::list(RepositoryId repository, std::string_view before,
                                   uint32_t limit) {
  struct Column {
    enum : int { kDay, kObjects, kBytes };
  };
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), before, row_limit(limit)},
                db::Pool::Retry::kRead);
  const auto day_from = [](const db::Rows& all, size_t row) {
    return UsageDay{std::string(all.text(row, Column::kDay)),
                    {static_cast<uint64_t>(all.integer(row, Column::kObjects)),
                     static_cast<uint64_t>(all.integer(row, Column::kBytes))}};
  };
  return page_of<UsageDay>(rows, limit, day_from, &UsageDay::day);
}

}  // namespace tarn::accounting
