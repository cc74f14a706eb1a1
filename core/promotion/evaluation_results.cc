#include "core/promotion/evaluation_results.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/evaluation/evaluation_store.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"

namespace tarn::promotion {
namespace {

using evaluation::Evaluation;
using evaluation::EvaluationStore;
using evaluation::State;

/// Adds the results of one evaluation.
class Results {
 public:
  Results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
          const EvaluationRules& rules)
      : engine_(engine),
        repository_(repository),
        policy_(policy),
        rules_(rules),
        rows_(engine.pool) {}

  void add(std::span<CommitFacts> facts) {
    const std::optional<std::string> definition = find_definition();
    std::vector<std::string> keys;
    for (CommitFacts& one : facts) {
      keys.push_back(definition ? find_key(*definition, one) : "");
      if (!definition) {
        miss(one, {.code = "evaluation_data_gone",
                   .reason = str_cat("the data of repository ", rules_.repository,
                                     " is gone: let the policy name other data")});
      }
    }
    std::vector<std::string> wanted;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(wanted),
                 [](const std::string& key) { return !key.empty(); });
    const std::map<std::string, Evaluation> known = rows_.find(wanted);
    for (size_t i = 0; i < facts.size(); ++i) {
      if (keys[i].empty()) continue;
      const auto at = known.find(keys[i]);
      take(keys[i], at == known.end() ? nullptr : &at->second, facts[i]);
    }
  }

 private:
  void miss(CommitFacts& facts, MissingResult missing) const {
    facts.missing_results.insert_or_assign(rules_.name, std::move(missing));
  }

  /// nullopt: the data is gone.
  std::optional<std::string> find_definition() {
    const auto data = engine_.commits.find(rules_.spec.data, rules_.spec.commit);
    if (!data) return std::nullopt;
    return evaluation::definition_of(rules_.spec, data->root);
  }

  /// "" = nothing of the commit can be measured.
  std::string find_key(const std::string& definition, CommitFacts& facts) const {
    try {
      const auto objects = evaluation::find_objects(
          engine_.nodes, rules_.spec.reads, engine_.commits.get(repository_, facts.commit).root);
      if (!objects.empty()) return evaluation::key_of(repository_, definition, objects);
      miss(facts, {.code = "evaluation_objects_missing",
                   .reason = str_cat("no object matches ", rules_.spec.reads.front().pattern(),
                                     ", which would be measured")});
    } catch (const Error& error) {
      if (error.reason() != reason::kTooManyObjects) throw;
      miss(facts, {.code = std::string(error.reason()), .reason = error.message()});
    }
    return "";
  }

  void take(const std::string& key, const Evaluation* found, CommitFacts& facts) {
    if (found == nullptr) {
      return miss(facts, {.pending = true,
                          .code = "evaluation_pending",
                          .reason = "it has not been measured yet: a promotion asks for it",
                          .key = key});
    }
    if (found->state == State::kFailed) {
      return miss(facts, {.code = "evaluation_failed",
                          .reason = str_cat(
                              found->phase, " failed (", found->code,
                              "); whoever may read the data sees more with `tarn evaluation show ",
                              to_hex(key), "`")});
    }
    if (found->state != State::kMeasured || found->means.empty()) {
      return miss(facts, {.pending = true,
                          .code = "evaluation_pending",
                          .reason = found->state == State::kMeasuring ? "a runner measures it"
                                                                      : "it waits for a runner"});
    }
    for (const evaluation::Mean& mean : found->means) {
      Metric metric{.name = evaluation::metric_name(mean),
                    .value = evaluation::rounded(mean.mean, rules_.spec.digits),
                    .origin = MetricOrigin::kEvaluation,
                    .source = rules_.name,
                    .measured = found->ended.value_or(found->asked),
                    .reporter = found->runner,
                    .reporter_id = found->runner_id};
      metric.examples = mean.n;
      metric.evaluation = to_hex(key);
      metric.seed = found->seed;
      if (compares_examples(metric.name)) metric.numbers = numbers_of(key, mean);
      facts.metrics.push_back(std::move(metric));
    }
  }

  bool compares_examples(const std::string& name) const {
    return std::any_of(policy_.metrics.begin(), policy_.metrics.end(), [&](const MetricRule& rule) {
      return rule.name == name && rule.distinction &&
             rule.distinction->test != DistinctionTest::kWelch &&
             evaluation_of(policy_, rule) == &rules_;
    });
  }

  std::shared_ptr<const std::vector<double>> numbers_of(const std::string& key,
                                                        const evaluation::Mean& mean) {
    held_bytes_ += mean.n * sizeof(double);
    if (held_bytes_ > kExampleBytesHeldMax) {
      throw Error(ErrorCode::kResourceExhausted, reason::kTooLarge,
                  str_cat("evaluation \"", rules_.name,
                          "\": the examples of all candidates take more than ",
                          kExampleBytesHeldMax, " bytes; compare fewer candidates"));
    }
    return std::make_shared<const std::vector<double>>(rows_.numbers(key, mean.metric, mean.slice));
  }

  branch::Engine& engine_;
  const RepositoryId repository_;
  const GatePolicy& policy_;
  const EvaluationRules& rules_;
  EvaluationStore rows_;
  uint64_t held_bytes_ = 0;
};

bool is_used(const GatePolicy& policy, const EvaluationRules& rules) {
  return std::any_of(policy.metrics.begin(), policy.metrics.end(),
                     [&](const MetricRule& rule) { return evaluation_of(policy, rule) == &rules; });
}

}  // namespace

const EvaluationRules* evaluation_of(const GatePolicy& policy, const MetricRule& rule) {
  for (const MetricSource& source : rule.trusted) {
    if (source.origin == MetricOrigin::kEvaluation) return policy.find_evaluation(source.check);
  }
  return nullptr;
}

void add_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                 std::span<CommitFacts> facts) {
  for (const EvaluationRules& rules : policy.evaluations) {
    if (is_used(policy, rules)) Results(engine, repository, policy, rules).add(facts);
  }
  if (policy.evaluations.empty()) return;
  for (CommitFacts& one : facts) sort_metrics(one.metrics);
}

void ask_for_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                     std::span<const std::string> authors, CommitFacts& facts) {
  EvaluationStore rows(engine.pool);
  for (auto& [name, missing] : facts.missing_results) {
    if (missing.key.empty()) continue;
    const EvaluationRules& rules = *policy.find_evaluation(name);
    Evaluation wanted;
    wanted.key = missing.key;
    wanted.repository = repository;
    wanted.policy = policy.name;
    wanted.name = name;
    wanted.commit = facts.commit;
    wanted.spec = rules.spec;
    wanted.asked_by.assign(authors.begin(), authors.end());
    const std::string definition = evaluation::definition_of(
        rules.spec, engine.commits.get(rules.spec.data, rules.spec.commit).root);
    const EvaluationStore::Answer answer = rows.ask(
        wanted, definition, {.per_author = rules.budget_per_author, .period = rules.budget_period});
    switch (answer.outcome) {
      case EvaluationStore::Asked::kDone:
        missing = {
            .pending = true, .code = "evaluation_pending", .reason = "it waits for a runner"};
        break;
      case EvaluationStore::Asked::kBudgetSpent:
        missing = {
            .code = "evaluation_budget_spent",
            .reason = str_cat(
                answer.who, " has had ", rules.budget_per_author, " evaluations of their work in ",
                std::chrono::duration_cast<std::chrono::hours>(rules.budget_period).count(),
                " h: wait, or have the policy's budget raised")};
        break;
      case EvaluationStore::Asked::kQueueFull:
        missing = {.pending = true,
                   .code = "evaluation_pending",
                   .reason = str_cat(evaluation::kEvaluationsOpenMax,
                                     " evaluations of the repository wait already"),
                   .key = missing.key};
        break;
    }
  }
}

void ask_for_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                     const std::string& user, GateCandidate& candidate, CommitFacts* champion) {
  std::set<std::string> charged = candidate.authors;
  charged.insert(user);
  ask_for_results(engine, repository, policy,
                  std::vector<std::string>(charged.begin(), charged.end()), candidate.facts);
  if (champion != nullptr) ask_for_results(engine, repository, policy, {}, *champion);
}

}  // namespace tarn::promotion
