// Reports of checks, approvals and rejections of promotions (declared in promotion_store.h).
#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/digest.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/stages.h"

namespace tarn::promotion {
namespace {

constexpr db::Query kNote{"promotions_note_said", R"sql(
  UPDATE promotions SET reports = reports + 1, due_at = clock_timestamp()
  WHERE repo_id = $1 AND promotion_id = $2 AND due_at IS NOT NULL)sql"};

// In a fixed order: two reports may wake the same promotions at once.
constexpr db::Query kWakeAll{"promotions_wake_all", R"sql(
  WITH open AS (
    SELECT repo_id, promotion_id FROM promotions WHERE repo_id = $1 AND destination = $2 AND due_at IS NOT NULL
    ORDER BY promotion_id FOR UPDATE)
  UPDATE promotions p SET reports = reports + 1, due_at = clock_timestamp()
  FROM open WHERE p.repo_id = open.repo_id AND p.promotion_id = open.promotion_id)sql"};

constexpr db::Query kInsertCheck{"promotions_insert_check", R"sql(
  INSERT INTO promotion_checks (repo_id, promotion_id, name, commit_id, number, status, url, metrics, reporter, at_ms,
                                supersedes, objects)
  SELECT $1, $2, $3, $4, coalesce(max(number), 0) + 1, $5, $6, $7, $8, $9, $10, $11 FROM promotion_checks
  WHERE repo_id = $1 AND promotion_id = $2 AND name = $3 AND commit_id = $4)sql"};

constexpr db::Query kSelectChecks{"promotions_select_checks", R"sql(
  SELECT name, commit_id, status, url, metrics, reporter, at_ms, supersedes, objects, promotion_id FROM promotion_checks
  WHERE repo_id = $1 AND promotion_id = $2 ORDER BY name, commit_id, number)sql"};

// Indexes promotion_checks_by_commit and promotion_checks_by_objects. Failures come before the
// limit.
constexpr db::Query kSelectReports{"promotions_select_reports", R"sql(
  SELECT name, commit_id, status, url, metrics, reporter, at_ms, supersedes, objects, promotion_id FROM (
    SELECT c.* FROM promotion_checks c JOIN promotions p USING (repo_id, promotion_id)
    WHERE c.repo_id = $1 AND p.destination = $2
      AND (c.promotion_id = $3 OR c.commit_id = ANY ($4) OR (c.objects <> '' AND c.objects = ANY ($5)))
    ORDER BY c.status = 'failure' DESC, c.supersedes <> '' DESC, c.at_ms DESC LIMIT $6) latest
  ORDER BY name, at_ms, commit_id, number)sql"};

// Index promotions_rejected. The last step is the terminal state.
constexpr db::Query kSelectRejections{"promotions_select_rejections", R"sql(
  SELECT DISTINCT ON (p.winner) p.winner, p.promotion_id, l.actor, l.message, l.at_ms
  FROM promotions p JOIN promotion_log l ON l.repo_id = p.repo_id AND l.promotion_id = p.promotion_id AND l.step = p.steps
  WHERE p.repo_id = $1 AND p.winner = ANY ($2) AND p.state = 'rejected' AND p.code = 'rejected'
  ORDER BY p.winner, l.at_ms DESC)sql"};

constexpr db::Query kUpsertApproval{"promotions_upsert_approval", R"sql(
  INSERT INTO promotion_approvals (repo_id, promotion_id, user_id, user_name, commit_id, reason, at_ms, candidate,
                                   review, address)
  SELECT $1, $2, user_id, name, $4, $5, $6, $7, $8, $9 FROM users WHERE name = $3
  ON CONFLICT (repo_id, promotion_id, user_id) DO UPDATE SET
    commit_id = excluded.commit_id, reason = excluded.reason, at_ms = excluded.at_ms, candidate = excluded.candidate,
    review = excluded.review, address = excluded.address)sql"};

constexpr db::Query kSelectApprovals{"promotions_select_approvals", R"sql(
  SELECT a.user_name, a.commit_id, a.reason, a.at_ms, a.candidate, r.document, a.address, u.user_id IS NULL,
    ARRAY(SELECT m.group_id::bigint FROM group_members m WHERE m.user_id = a.user_id)
  FROM promotion_approvals a LEFT JOIN users u ON u.user_id = a.user_id
    JOIN promotion_reviews r ON r.repo_id = a.repo_id AND r.promotion_id = a.promotion_id AND r.digest = a.review
  WHERE a.repo_id = $1 AND a.promotion_id = $2 ORDER BY a.user_name, a.user_id)sql"};

// Index promotions_ended: by time, since ids fall with it. Winners, then the candidates of
// promotions that the gate ended without one; an item of `candidates` is its ref, its commit, ...
constexpr db::Query kSelectTries{"promotions_select_tries", R"sql(
  SELECT promotion_id, ref, commit_id, chosen, objects, state, code, updated_ms FROM (
    (SELECT promotion_id, winner_ref AS ref, winner AS commit_id, true AS chosen,
       coalesce(nullif(review, '')::jsonb #>> '{objects,digest}', '') AS objects, state, code, updated_ms
     FROM promotions
     WHERE repo_id = $1 AND destination = $2 AND winner IS NOT NULL AND undoes IS NULL
       AND state IN ('rejected', 'failed', 'cancelled')
     ORDER BY promotion_id LIMIT $3)
    UNION ALL
    (SELECT promotion_id, c ->> 0, decode(c ->> 1, 'hex'), false, '', state, code, updated_ms
     FROM (
       SELECT * FROM promotions
       WHERE repo_id = $1 AND destination = $2 AND winner IS NULL AND undoes IS NULL
         AND state IN ('rejected', 'failed', 'cancelled') AND code = 'gate_failed'
       ORDER BY promotion_id LIMIT $3) AS rejected, jsonb_array_elements(candidates::jsonb) AS c
     ORDER BY promotion_id LIMIT $3)) AS tries
  ORDER BY promotion_id)sql"};

constexpr db::Query kSelectReview{"promotions_select_review", R"sql(
  SELECT document FROM promotion_reviews WHERE repo_id = $1 AND promotion_id = $2 AND digest = $3)sql"};

CheckStatus status_from(std::string_view name) {
  const auto status = parse_check_status(name);
  if (!status) throw Error(ErrorCode::kDataLoss, "report of a check: has an unknown status");
  return *status;
}

std::vector<std::string> metrics_to_array(const std::map<std::string, double>& metrics) {
  std::vector<std::string> out;
  for (const auto& [name, value] : metrics) {
    out.push_back(name);
    char digits[32];
    out.emplace_back(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  return out;
}

std::map<std::string, double> metrics_from(const std::vector<std::string>& array) {
  std::map<std::string, double> out;
  for (size_t i = 0; i + 1 < array.size(); i += 2) {
    double value = 0;
    const std::string& text = array[i + 1];
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
      throw Error(ErrorCode::kDataLoss, str_cat("metric of a check: \"", text, "\" is no number"));
    }
    out[array[i]] = value;
  }
  return out;
}

std::vector<PromotionCheck> checks_from(const db::Rows& rows) {
  struct Column {
    enum : int {
      kName,
      kCommitId,
      kStatus,
      kUrl,
      kMetrics,
      kReporter,
      kAtMs,
      kSupersedes,
      kObjects,
      kPromotionId
    };
  };
  std::vector<PromotionCheck> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.name = std::string(rows.text(row, Column::kName)),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   .status = status_from(rows.text(row, Column::kStatus)),
                   .url = std::string(rows.text(row, Column::kUrl)),
                   .metrics = metrics_from(rows.strings(row, Column::kMetrics)),
                   .reporter = std::string(rows.text(row, Column::kReporter)),
                   .at = from_millis(rows.integer(row, Column::kAtMs)),
                   .supersedes = std::string(rows.text(row, Column::kSupersedes)),
                   .objects = std::string(rows.text(row, Column::kObjects)),
                   .promotion = std::string(rows.text(row, Column::kPromotionId))});
  }
  return out;
}

/// Whether earlier reports rule out this one. A reporter may only take back their own failure;
/// otherwise a second reporter of a failure could take back the first one's.
bool failure_stands(const std::map<std::string, CheckStatus>& reported,
                    const PromotionCheck& check) {
  if (check.status == CheckStatus::kFailure) return false;
  const auto own = reported.find(check.reporter);
  if (own != reported.end() && own->second == CheckStatus::kFailure)
    return check.supersedes.empty();
  return std::any_of(reported.begin(), reported.end(), [](const auto& reporter_and_status) {
    return reporter_and_status.second == CheckStatus::kFailure;
  });
}

bool says_the_same(const PromotionCheck& a, const PromotionCheck& b) {
  return a.status == b.status && a.url == b.url && a.metrics == b.metrics &&
         a.reporter == b.reporter && a.supersedes == b.supersedes;
}

}  // namespace

PromotionStore::ReportOutcome PromotionStore::report_check(RepositoryId repository,
                                                           const Promotion& promotion,
                                                           const PromotionCheck& check,
                                                           const Promotion& rollback) {
  return pool_.transaction([&](db::Connection& connection) {
    const int32_t repo = static_cast<int32_t>(repository);
    // The row locks serialise the reports of one promotion, so the state that is read stays valid.
    // A promotion that is being published with an older judgement is judged again.
    connection.run(kWakeAll, {repo, promotion.request.destination.str()});
    const bool open = connection.run(kNote, {repo, promotion.id}).affected() == 1;
    const std::vector<PromotionCheck> reports = checks_from(
        connection.run(kSelectReports, {repo, promotion.request.destination.str(), promotion.id,
                                        meta::bytes_of(std::span(&check.commit, 1)),
                                        std::vector<std::string>{check.objects}, kReportsMax}));
    const PromotionCheck* last = nullptr;
    std::map<std::string, CheckStatus> reported;  // by each reporter
    size_t here = 0;
    for (const PromotionCheck& report : reports) {
      here += report.promotion == promotion.id;
      if (report.name != check.name) continue;
      const bool of_commit = report.commit == check.commit;
      if (!of_commit && (check.objects.empty() || report.objects != check.objects)) continue;
      if (of_commit && report.promotion == promotion.id) last = &report;
      reported[report.reporter] = report.status;
    }
    if (last != nullptr && says_the_same(*last, check)) return ReportOutcome::kDone;
    // A failure outlives its promotion, so its reporter may take it back there.
    const auto own = reported.find(check.reporter);
    const bool takes_back =
        !check.supersedes.empty() && own != reported.end() && own->second == CheckStatus::kFailure;
    std::optional<StageStore::Watch> watch;
    if (!open)
      watch = StageStore::watch(connection, repository, promotion.id, check.name, check.at);
    if (!open && !takes_back && !watch) return ReportOutcome::kEnded;
    if (failure_stands(reported, check)) return ReportOutcome::kFailureStands;
    if (here >= kPromotionChecksMax) return ReportOutcome::kTooMany;
    connection.run(kInsertCheck,
                   {repo, promotion.id, check.name, db::Bytes{view_of(check.commit)},
                    name_of(check.status), check.url, metrics_to_array(check.metrics),
                    check.reporter, to_millis(check.at), check.supersedes, check.objects});
    if (watch && !watch->failed && check.status == CheckStatus::kFailure) {
      PromotionStore::insert(connection, repository, rollback);
      StageStore::note_rollback(connection, repository, promotion.id, rollback.id);
    }
    return ReportOutcome::kDone;
  });
}

std::vector<PromotionCheck> PromotionStore::reports(RepositoryId repository,
                                                    const BranchName& destination,
                                                    std::string_view id,
                                                    std::span<const CommitId> commits,
                                                    const std::vector<std::string>& objects) {
  return checks_from(pool_.run(kSelectReports,
                               {static_cast<int32_t>(repository), destination.str(), id,
                                meta::bytes_of(commits), objects, kReportsMax},
                               db::Pool::Retry::kRead));
}

std::vector<PromotionCheck> PromotionStore::checks(RepositoryId repository, std::string_view id) {
  return checks_from(
      pool_.run(kSelectChecks, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead));
}

std::vector<EarlierTry> PromotionStore::tries(RepositoryId repository,
                                              const BranchName& destination) {
  struct Column {
    enum : int { kPromotionId, kRef, kCommitId, kChosen, kObjects, kState, kCode, kUpdatedMs };
  };
  const db::Rows rows =
      pool_.run(kSelectTries, {static_cast<int32_t>(repository), destination.str(), kTriesMax},
                db::Pool::Retry::kRead);
  std::vector<EarlierTry> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.promotion = std::string(rows.text(row, Column::kPromotionId)),
                   .ref = std::string(rows.text(row, Column::kRef)),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   .chosen = rows.boolean(row, Column::kChosen),
                   .objects = std::string(rows.text(row, Column::kObjects)),
                   .state = std::string(rows.text(row, Column::kState)),
                   .code = std::string(rows.text(row, Column::kCode)),
                   .at = from_millis(rows.integer(row, Column::kUpdatedMs))});
  }
  return out;
}

std::map<CommitId, std::string> PromotionStore::rejections(RepositoryId repository,
                                                           std::span<const CommitId> commits) {
  struct Column {
    enum : int { kWinner, kPromotionId, kActor, kMessage, kAtMs };
  };
  const db::Rows rows =
      pool_.run(kSelectRejections, {static_cast<int32_t>(repository), meta::bytes_of(commits)},
                db::Pool::Retry::kRead);
  std::map<CommitId, std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace(commit_id_from_bytes(rows.bytes(row, Column::kWinner)),
                str_cat("was rejected by ", rows.text(row, Column::kActor), " at ",
                        to_rfc3339(from_millis(rows.integer(row, Column::kAtMs))), " in promotion ",
                        rows.text(row, Column::kPromotionId),
                        rows.text(row, Column::kMessage).empty() ? "" : ": ",
                        rows.text(row, Column::kMessage)));
  }
  return out;
}

void PromotionStore::wake_all(RepositoryId repository, const BranchName& destination) {
  pool_.run(kWakeAll, {static_cast<int32_t>(repository), destination.str()},
            db::Pool::Retry::kWrite);
}

bool PromotionStore::wake(RepositoryId repository, std::string_view id) {
  return pool_.run(kNote, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PromotionStore::approve(RepositoryId repository, std::string_view id,
                             const PromotionApproval& approval) {
  return pool_.transaction([&](db::Connection& connection) {
    const int32_t repo = static_cast<int32_t>(repository);
    if (connection.run(kNote, {repo, id}).affected() != 1) return false;
    const std::string digest = sha256(approval.review);
    return connection
               .run(kUpsertApproval, {repo, id, approval.user, db::Bytes{view_of(approval.commit)},
                                      approval.reason, to_millis(approval.at), approval.candidate,
                                      db::Bytes{digest}, approval.address})
               .affected() == 1;
  });
}

std::vector<PromotionApproval> PromotionStore::approvals(RepositoryId repository,
                                                         std::string_view id) {
  struct Column {
    enum : int {
      kUserName,
      kCommitId,
      kReason,
      kAtMs,
      kCandidate,
      kDocument,
      kAddress,
      kUserGone,
      kGroups
    };
  };
  const db::Rows rows =
      pool_.run(kSelectApprovals, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  std::vector<PromotionApproval> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.user = std::string(rows.text(row, Column::kUserName)),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   .reason = std::string(rows.text(row, Column::kReason)),
                   .at = from_millis(rows.integer(row, Column::kAtMs)),
                   .candidate = std::string(rows.text(row, Column::kCandidate)),
                   .review = std::string(rows.text(row, Column::kDocument)),
                   .address = std::string(rows.text(row, Column::kAddress)),
                   .user_gone = rows.boolean(row, Column::kUserGone),
                   .groups = rows.integers(row, Column::kGroups)});
  }
  return out;
}

std::optional<std::string> PromotionStore::find_review(RepositoryId repository, std::string_view id,
                                                       std::string_view digest) {
  const db::Rows rows =
      pool_.run(kSelectReview, {static_cast<int32_t>(repository), id, db::Bytes{digest}},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.text(0, 0));
}

}  // namespace tarn::promotion
