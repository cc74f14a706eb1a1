#include "core/gc/candidate_store.h"

#include <algorithm>

namespace tarn::gc {
namespace {

constexpr int64_t kCandidatesPerRead = 50'000;

// Pages of the primary key: a statement may not take longer than the connection's limit.
constexpr db::Query kSelectKnown{"candidates_select_known", R"sql(
  SELECT address, size_bytes, reason, branch, run <= least($2, (SELECT held_collection($1)))
    AND found_at + $3 * interval '1 second' <= clock_timestamp()
  FROM gc_candidates WHERE repo_id = $1 AND doomed_in IS NULL AND address > $4 ORDER BY address LIMIT $5)sql"};

constexpr db::Query kInsert{"candidates_insert_rows", R"sql(
  INSERT INTO gc_candidates (repo_id, address, size_bytes, run, reason, branch)
  SELECT $1, u.address, u.size_bytes, $4, u.reason, u.branch
  FROM unnest($2::bytea[], $3::bigint[], $5::smallint[], $6::text[]) AS u(address, size_bytes, reason, branch)
  ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kDeleteReferenced{"candidates_delete_referenced", R"sql(
  DELETE FROM gc_candidates WHERE repo_id = $1 AND address = ANY ($2) AND doomed_in IS NULL)sql"};

// In the order in which rescue_objects locks. A row that a concurrent transaction rescues is gone
// when the wait for it ends. A backup that begins waits for this transaction, or is seen by it:
// both lock the row of gc_control in an earlier statement.
constexpr db::Query kDoom{"candidates_doom_rows", R"sql(
  WITH locked AS (
    SELECT address FROM gc_candidates
    WHERE repo_id = $1 AND address = ANY ($2) AND doomed_in IS NULL AND run <= (SELECT held_collection($1))
    ORDER BY address FOR UPDATE)
  UPDATE gc_candidates c SET doomed_in = $3 FROM locked
  WHERE c.repo_id = $1 AND c.address = locked.address
  RETURNING c.address, c.size_bytes, c.reason, c.branch)sql"};

constexpr db::Query kSelectDoomed{"candidates_select_doomed", R"sql(
  SELECT address, size_bytes, reason, branch FROM gc_candidates
  WHERE repo_id = $1 AND address > $2 AND doomed_in IS NOT NULL AND NOT removed AND octet_length(address) > 8
  ORDER BY address LIMIT $3)sql"};

// Quotas count the bytes of an object until here, whatever refers to it: what is only deleted still
// takes space.
constexpr db::Query kSetRemoved{"candidates_set_removed", R"sql(
  WITH number AS (UPDATE gc_control SET removals = removals + 1 RETURNING removals),
  gone AS (
    UPDATE gc_candidates SET removed = true, removed_in = number.removals FROM number
    WHERE repo_id = $1 AND address = ANY ($2) AND NOT removed RETURNING address, size_bytes),
  freed AS (
    DELETE FROM quota_objects o USING quotas q, gone g
    WHERE o.quota_id = q.quota_id AND q.repo_id IN (0, $1) AND o.repo_id = $1 AND o.address = g.address
    RETURNING o.quota_id, o.size_bytes),
  amounts AS (
    SELECT quota_id, sum(size_bytes)::bigint AS bytes, count(*) AS objects FROM freed GROUP BY quota_id
    UNION ALL
    SELECT q.quota_id, g.bytes, g.objects FROM quotas q, (
      SELECT sum(size_bytes)::bigint AS bytes, count(*) AS objects FROM gone) g
    WHERE q.repo_id = $1 AND q.user_name = '' AND q.branches = '' AND g.objects > 0),
  -- In the order in which charge_quotas locks.
  locked AS MATERIALIZED (
    SELECT quota_id FROM quotas WHERE quota_id IN (SELECT quota_id FROM amounts) ORDER BY quota_id FOR UPDATE)
  UPDATE quotas q SET bytes = greatest(0, q.bytes - a.bytes), objects = greatest(0, q.objects - a.objects), refused = false
  FROM amounts a JOIN locked USING (quota_id) WHERE q.quota_id = a.quota_id)sql"};

constexpr db::Query kSelectRemovals{"candidates_select_removals",
                                    "SELECT removals, removals_purged FROM gc_control"};

constexpr db::Query kSelectRemovedBetween{"candidates_select_removed", R"sql(
  SELECT repo_id, address FROM gc_candidates WHERE removed_in > $1 AND removed_in <= $2)sql"};

constexpr db::Query kDeletePartLists{"candidates_delete_part_lists", R"sql(
  DELETE FROM part_lists WHERE repo_id = $1 AND part_list_id IN (
    SELECT ('x' || encode(address, 'hex'))::bit(64)::bigint FROM gc_candidates
    WHERE repo_id = $1 AND doomed_in IS NOT NULL AND NOT removed AND octet_length(address) = 8))sql"};

constexpr db::Query kSetListsRemoved{"candidates_set_lists_removed", R"sql(
  UPDATE gc_candidates SET removed = true
  WHERE repo_id = $1 AND doomed_in IS NOT NULL AND NOT removed AND octet_length(address) = 8)sql"};

constexpr db::Query kCountRemoval{"candidates_count_removal",
                                  "UPDATE gc_control SET removals = removals + 1"};

constexpr db::Query kPurge{"candidates_purge_rows", R"sql(
  DELETE FROM gc_candidates WHERE repo_id = $1 AND address IN (
    SELECT address FROM gc_candidates WHERE repo_id = $1 AND removed AND doomed_in <= $2 LIMIT $3)
  RETURNING coalesce(removed_in, 0))sql"};

constexpr db::Query kNotePurge{"candidates_note_purge", R"sql(
  UPDATE gc_control SET removals_purged = greatest(removals_purged, $1))sql"};

constexpr db::Query kAny{"candidates_select_any", R"sql(
  SELECT EXISTS (SELECT 1 FROM gc_candidates WHERE repo_id = $1))sql"};

int32_t candidate_key(RepositoryId repository) { return static_cast<int32_t>(repository); }
int32_t candidate_key(const CollectionClaim& claim) { return candidate_key(claim.repository); }

std::vector<db::Bytes> address_bytes(std::span<const std::string> addresses) {
  std::vector<db::Bytes> out;
  out.reserve(addresses.size());
  for (const std::string& address : addresses) out.push_back({address});
  return out;
}

struct CandidateColumn {
  enum : int { kAddress, kSizeBytes, kReason, kBranch, kEnd };
};

Candidate candidate_from(const db::Rows& rows, size_t row) {
  using Column = CandidateColumn;
  return {std::string(rows.bytes(row, Column::kAddress)),
          rows.integer(row, Column::kSizeBytes),
          {static_cast<GarbageReason>(rows.integer(row, Column::kReason)),
           std::string(rows.text(row, Column::kBranch))}};
}

std::vector<Candidate> candidates_from(const db::Rows& rows) {
  std::vector<Candidate> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(candidate_from(rows, row));
  return out;
}

std::vector<KnownCandidate> read_known(db::Pool& pool, RepositoryId repository, int64_t fenced_run,
                                       std::chrono::seconds grace) {
  struct Column {
    enum : int { kDue = CandidateColumn::kEnd };
  };
  std::vector<KnownCandidate> out;
  for (std::string after;;) {
    const db::Rows rows = pool.run(kSelectKnown,
                                   {candidate_key(repository), fenced_run, int64_t{grace.count()},
                                    db::Bytes{after}, kCandidatesPerRead},
                                   db::Pool::Retry::kRead);
    for (size_t row = 0; row < rows.size(); ++row) {
      out.push_back({candidate_from(rows, row), rows.boolean(row, Column::kDue)});
    }
    if (static_cast<int64_t>(rows.size()) < kCandidatesPerRead) return out;
    after = out.back().address;
  }
}

/// Runs `change` in a transaction that holds the lease.
template <typename Change>
auto under_lease(db::Pool& pool, const CollectionClaim& claim, Change change) {
  return pool.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    return change(connection);
  });
}

}  // namespace

std::vector<KnownCandidate> Candidates::known(const CollectionClaim& claim,
                                              std::chrono::seconds grace) {
  return read_known(pool_, claim.repository, claim.fenced_run, grace);
}

std::vector<KnownCandidate> Candidates::known(RepositoryId repository, std::chrono::seconds grace) {
  return read_known(pool_, repository, INT64_MAX, grace);
}

void Candidates::add(const CollectionClaim& claim, std::span<const Candidate> found) {
  std::vector<db::Bytes> addresses;
  std::vector<int64_t> sizes;
  std::vector<int16_t> reasons;
  std::vector<std::string> branches;
  for (const Candidate& candidate : found) {
    addresses.push_back({candidate.address});
    sizes.push_back(candidate.size_bytes);
    reasons.push_back(static_cast<int16_t>(candidate.origin.reason));
    branches.push_back(candidate.origin.branch);
  }
  under_lease(pool_, claim, [&](db::Connection& connection) {
    connection.run(kInsert, {candidate_key(claim), addresses, sizes, claim.run, reasons, branches});
  });
}

void Candidates::forget(const CollectionClaim& claim, std::span<const std::string> addresses) {
  under_lease(pool_, claim, [&](db::Connection& connection) {
    connection.run(kDeleteReferenced, {candidate_key(claim), address_bytes(addresses)});
  });
}

std::vector<Candidate> Candidates::doom(const CollectionClaim& claim,
                                        std::span<const std::string> addresses) {
  return under_lease(pool_, claim, [&](db::Connection& connection) {
    return candidates_from(
        connection.run(kDoom, {candidate_key(claim), address_bytes(addresses), claim.run}));
  });
}

std::vector<Candidate> Candidates::doomed(const CollectionClaim& claim, std::string_view after,
                                          uint32_t limit) {
  return candidates_from(pool_.run(kSelectDoomed,
                                   {candidate_key(claim), db::Bytes{after}, int64_t{limit}},
                                   db::Pool::Retry::kRead));
}

Removals Candidates::removals() {
  struct Column {
    enum : int { kRemovals, kRemovalsPurged };
  };
  const db::Rows rows = pool_.run(kSelectRemovals, {}, db::Pool::Retry::kRead);
  return {rows.integer(0, Column::kRemovals), rows.integer(0, Column::kRemovalsPurged)};
}

std::vector<RemovedObject> Candidates::removed_between(int64_t after, int64_t last) {
  struct Column {
    enum : int { kRepoId, kAddress };
  };
  const db::Rows rows = pool_.run(kSelectRemovedBetween, {after, last}, db::Pool::Retry::kRead);
  std::vector<RemovedObject> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    RemovedObject object{static_cast<RepositoryId>(rows.integer(row, Column::kRepoId)), {}};
    const std::string_view bytes = rows.bytes(row, Column::kAddress);
    if (bytes.size() != object.address.id.size()) continue;  // a part list
    std::copy(bytes.begin(), bytes.end(), object.address.id.begin());
    out.push_back(object);
  }
  return out;
}

void Candidates::set_removed(const CollectionClaim& claim, std::span<const std::string> addresses) {
  under_lease(pool_, claim, [&](db::Connection& connection) {
    connection.run(kSetRemoved, {candidate_key(claim), address_bytes(addresses)});
  });
}

int64_t Candidates::remove_part_lists(const CollectionClaim& claim,
                                      std::span<const std::string> addresses) {
  return under_lease(pool_, claim, [&](db::Connection& connection) {
    connection.run(kDoom, {candidate_key(claim), address_bytes(addresses), claim.run});
    const auto removed =
        static_cast<int64_t>(connection.run(kDeletePartLists, {candidate_key(claim)}).affected());
    connection.run(kSetListsRemoved, {candidate_key(claim)});
    if (removed > 0) connection.run(kCountRemoval);
    return removed;
  });
}

int64_t Candidates::purge(const CollectionClaim& claim, uint32_t limit) {
  return under_lease(pool_, claim, [&](db::Connection& connection) {
    const db::Rows gone =
        connection.run(kPurge, {candidate_key(claim), claim.fenced_run, int64_t{limit}});
    int64_t last = 0;
    for (size_t row = 0; row < gone.size(); ++row) last = std::max(last, gone.integer(row, 0));
    if (last > 0) connection.run(kNotePurge, {last});
    return static_cast<int64_t>(gone.size());
  });
}

bool Candidates::any(RepositoryId repository) {
  return pool_.run(kAny, {candidate_key(repository)}, db::Pool::Retry::kRead).boolean(0, 0);
}

}  // namespace tarn::gc
