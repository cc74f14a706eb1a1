#include "core/promotion/promotion_merge.h"

#include "core/base/str_cat.h"
#include "core/branch/history.h"
#include "core/meta/commits.h"

namespace tarn::versioning {
namespace {

/// Whether the alias is already at the head and that includes the winner.
bool is_champion(Engine& engine, meta::PromotionStore& rows, const Repository& repository,
                 const Judgement& judgement, const CommitId& winner) {
  const CommitId& head = judgement.destination.head;
  if (judgement.champion != head) return false;
  const auto made = rows.find_by_result(repository.id, head);
  if (made && made->winner == winner) return true;
  return is_ancestor(engine, repository.id, engine.commits.get(repository.id, winner),
                     engine.commits.get(repository.id, head));
}

}  // namespace

MergeRequest merge_request_of(Engine& engine, meta::PromotionStore& rows,
                              const Repository& repository, const Promotion& promotion,
                              const Judgement& judgement, const CommitId& winner) {
  const PromotionRequest& asked = promotion.request;
  MergeRequest request;
  request.committer = promotion.actor;
  request.message =
      str_cat("Promote '", promotion.winner_ref, "' to '", asked.destination.str(), "'");
  request.metadata[".tarn.promotion"] = promotion.id;
  request.metadata[".tarn.policy"] =
      asked.metrics.empty() ? str_cat(judgement.policy.name, "@", judgement.version.version)
                            : std::string(kOneOffPolicy);
  // A commit that the destination has already, or an equal result, may still become the champion.
  request.allow_empty =
      !promotion.alias.empty() && !is_champion(engine, rows, repository, judgement, winner);
  request.squash = asked.method == PromotionMethod::kSquash;
  if (!asked.paths.empty()) request.paths.emplace(asked.paths);
  return request;
}

}  // namespace tarn::versioning
