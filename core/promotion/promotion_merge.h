// The merge request of a promotion.
#pragma once

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion.h"
#include "core/promotion/promotion_store.h"
#include "core/versioning/merge.h"

namespace tarn::versioning {

/// The request that merges `winner` as the promotion's method and paths say. Its commit names the
/// promotion and the policy; it is made without a change too if the promotion moves an alias that
/// is not at the winner yet.
MergeRequest merge_request_of(Engine& engine, meta::PromotionStore& rows,
                              const Repository& repository, const Promotion& promotion,
                              const Judgement& judgement, const CommitId& winner);

}  // namespace tarn::versioning
