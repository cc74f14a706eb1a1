#include <algorithm>

#include "core/base/error.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotions.h"
#include "core/promotion/rollback.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

constexpr const char* kChampion = "champion";
constexpr const char* kEarlier = "earlier";  ///< the branch of the promotion that is rolled back
constexpr const char* kPolicyName = "digits";

std::string policy_with(const char* least) {
  return std::string(
             "name: digits\ndestination: main\nalias: champion\nmetrics:\n"
             "  - {name: accuracy, goal: max, min: ") +
         least + ", primary: true}\nchecks: {required: [bench], timeout: 2h}\n";
}

std::string ask_for(Scenario& s, const std::string& candidate, const CommitId& commit) {
  promotion::PromotionRequest request;
  request.candidates = {candidate};
  request.destination = BranchName("main");
  const std::string id =
      promotion::create_promotion(*s.observer, s.repository(s.observer),
                                  {.request = request, .actor = "ci", .idempotency_key = ""})
          .promotion.id;
  promotion::report_check(
      *s.observer, s.repository(s.observer), id,
      {.name = "bench", .commit = commit, .status = promotion::CheckStatus::kSuccess});
  return id;
}

void set_policy(Scenario& s, TestEngine& engine, const char* least) {
  promotion::set_gate_policy(*engine, s.repository(engine), kPolicyName,
                             {.document = policy_with(least), .author = "owner"});
}

/// Creates one promotion that was promoted, then an open one.
void ask_for_promotions(Scenario& s, Role) {
  if (!s.promotion.empty()) return;
  TestEngine& engine = s.observer;
  engine.branch(s.repo, kEarlier, "main");
  engine.put(s.repo, kEarlier, "earlier/e", "e");
  versioning::CommitRequest request;
  request.committer = "tester";
  request.message = "earlier";
  request.metadata["metric.accuracy"] = "0.8";
  const CommitId commit =
      versioning::commit_branch(*engine, s.repository(engine), BranchName(kEarlier), request).id;
  set_policy(s, engine, "0.6");
  s.promoted = ask_for(s, kEarlier, commit);
  while (run_promotion(engine)) {
  }
  s.promotion = ask_for(s, kSide, s.aside);
}

constexpr db::Query kMakeDue{"test_pairs_make_due", R"sql(
  UPDATE promotions SET due_at = clock_timestamp() WHERE repo_id = $1 AND due_at IS NOT NULL)sql"};

/// A lost worker has not released its promotion.
void end_promotion(Scenario& s, TestEngine& engine) {
  const auto repo = static_cast<int32_t>(s.id);
  constexpr int kRunsMax = 5;
  for (int run = 0; run < kRunsMax; ++run) {
    expire_leases(engine, s.id);
    engine.pool.run(kMakeDue, {repo}, db::Pool::Retry::kWrite);
    if (!run_promotion(engine)) break;
  }
}

Verb verb_promote() {
  return {.name = "promote",
          .set_up = ask_for_promotions,
          .act =
              [](Scenario&, TestEngine& e, Role) {
                run_promotion(e);
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario& s, Role) -> Steps {
            World from = seen, after = w;
            ModelPromotion* promotion = w.exists ? &after.promotions.at(s.promotion) : nullptr;
            if (promotion == nullptr || promotion->state != "open") return answer(w, kDone);
            const ModelBranch* source = from.branch(kSide);
            if (source == nullptr) {
              // A worker that takes over from a lost one finds the source judged, and deleted.
              World judged = after;
              judged.promotions.at(s.promotion).state = "rejected gate_failed";
              promotion->state = "failed ref_not_found";
              return {{kDone, after}, {kDone, judged}};
            }
            if (promotion->checks.at("bench") != "success" || w.policy_version > 1) {
              promotion->state = "rejected gate_failed";
            } else {
              ModelBranch& main = after.branches.at("main");
              const ModelCommitPtr base = merge_base(source->head, main.head);
              const auto merged = merge_trees(base->tree, source->head->tree, main.head->tree);
              main.head = commit_of("ci", "Promote 'side' to 'main'", merged.value(),
                                    {main.head, source->head});
              after.aliases[kChampion] = main.head;
              promotion->state = "promoted";
              promotion->result = main.head;
            }
            return answer(after, kDone);
          },
          .reads_refs = true,
          .settle = end_promotion,
          .answer = [](Scenario&, Role) { return kDone; }};
}

Verb verb_roll_back() {
  return {.name = "roll back",
          .set_up = ask_for_promotions,
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                promotion::roll_back_promotion(*e, s.repository(e), s.promoted,
                                               {std::string(name_of(role))}, "worse");
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role role) -> Steps {
            if (!w.exists) return answer(w, kNotFound);
            World after = w;
            ModelPromotion& promotion = after.promotions.at(s.promoted);
            if (promotion.state != "promoted") return answer(w, "not_promoted");
            ModelBranch& main = after.branches.at("main");
            const auto tree = merge_trees(promotion.result->tree,
                                          promotion.result->parents.at(0)->tree, main.head->tree);
            if (!tree) return answer(w, "merge_conflict");
            if (w.aliases.at(kChampion) != promotion.result) return answer(w, "destination_moved");
            main.head = commit_of(name_of(role), "Roll back promotion " + s.promoted + ": worse",
                                  *tree, {main.head});
            after.aliases.erase(kChampion);
            promotion.state = "rolled_back rolled_back";
            return answer(after, kDone);
          }};
}

Steps on_open_promotion(const World& world, const Scenario& s,
                        const std::function<void(ModelPromotion&)>& change) {
  if (!world.exists) return answer(world, kNotFound);
  World after = world;
  ModelPromotion& promotion = after.promotions.at(s.promotion);
  if (promotion.state != "open") return answer(world, "promotion_ended");
  change(promotion);
  return answer(after, kDone);
}

Verb verb_report_failure() {
  return {
      .name = "check report",
      .set_up = ask_for_promotions,
      .act =
          [](Scenario& s, TestEngine& e, Role) {
            promotion::report_check(
                *e, s.repository(e), s.promotion,
                {.name = "bench", .commit = s.aside, .status = promotion::CheckStatus::kFailure});
            return kDone;
          },
      .model =
          [](const World& w, const World&, Scenario& s, Role) {
            return on_open_promotion(
                w, s, [](ModelPromotion& promotion) { promotion.checks["bench"] = "failure"; });
          }};
}

Verb verb_cancel_promotion() {
  return {.name = "promotion cancel",
          .set_up = ask_for_promotions,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                promotion::end_promotion(*e, s.repository(e), s.promotion,
                                         promotion::PromotionState::kCancelled, "owner", "no");
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario& s, Role) {
                return on_open_promotion(w, s, [](ModelPromotion& promotion) {
                  promotion.state = "cancelled cancelled";
                });
              }};
}

Verb verb_set_policy() {
  return {.name = "gate policy change",
          .set_up = ask_for_promotions,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                set_policy(s, e, "0.95");
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            if (!w.exists) return answer(w, kNotFound);
            World after = w;
            after.policy_version = 2;
            return answer(after, kDone);
          }};
}

}  // namespace

std::vector<Verb> promotion_verbs() {
  return {verb_promote(), verb_roll_back(), verb_report_failure(), verb_cancel_promotion(),
          verb_set_policy()};
}

}  // namespace tarn::pairs
