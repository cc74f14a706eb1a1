#include "core/runs/extraction.h"

#include <algorithm>
#include <set>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/log.h"
#include "core/base/number.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/metrics/metric_globs.h"
#include "core/model/expiry.h"
#include "core/runs/metric_files.h"

namespace tarn::runs {
namespace {

/// A commit is released this long after the process that reads it has died.
constexpr std::chrono::milliseconds kLease{60'000};

std::vector<std::string> globs_of(const std::optional<std::string>& body) {
  return body ? decode_metric_globs(*body) : default_metric_globs();
}

/// A key without prefix that is the name of a metric of the commit is no parameter.
void leave_out_metrics(Measurements& read) {
  std::set<std::string> names;
  for (const Metric& metric : read.metrics) names.insert(metric.name);
  std::erase_if(read.params, [&](const MeasuredParam& param) {
    return param.source == param.name && names.contains(param.name);
  });
}

void read_and_store(branch::Engine& engine, const Repository& repository, const CommitId& id,
                    const ExtractionRules& rules) {
  const Commit commit = engine.commits.get(repository.id, id);
  Measurements read;
  read_metadata(commit, read);
  read_metric_files(engine, repository, commit, rules.globs, {}, read);
  leave_out_metrics(read);
  ExtractionStore(engine.pool).store(repository.id, id, rules.hash, read);
}

void add_extras(branch::Engine& engine, const Repository& repository, const FactsWanted& wanted,
                const ExtractionRules& rules, CommitFacts& facts) {
  const Commit commit = engine.commits.get(repository.id, facts.commit);
  Measurements extra;
  read_bare_metadata(commit, wanted.bare_names, extra);
  if (!wanted.extra_globs.empty()) {
    read_metric_files(engine, repository, commit, wanted.extra_globs, rules.globs, extra);
  }
  for (Metric& metric : extra.metrics) facts.metrics.push_back(std::move(metric));
  // Does not replace parameters that the repository's own rules found.
  for (const MeasuredParam& param : extra.params) facts.params.emplace(param.name, param.value);
  sort_metrics(facts.metrics);
  std::move(extra.warnings.begin(), extra.warnings.end(), std::back_inserter(facts.warnings));
}

/// Leaves out metrics that nobody wants.
void leave_out_others(const FactsWanted& wanted, CommitFacts& facts) {
  if (wanted.names.empty() && wanted.name_globs.empty()) return;
  const std::set<std::string> names(wanted.names.begin(), wanted.names.end());
  const std::vector<Glob> globs(wanted.name_globs.begin(), wanted.name_globs.end());
  std::erase_if(facts.metrics, [&](const Metric& metric) {
    return !names.contains(metric.name) &&
           std::none_of(globs.begin(), globs.end(),
                        [&](const Glob& glob) { return glob.matches(metric.name); });
  });
}

/// A key without prefix that is the name of a metric, or was asked for as one, is no parameter.
void leave_out_metrics(branch::Engine& engine, const Repository& repository,
                       const FactsWanted& wanted, CommitFacts& facts) {
  std::set<std::string> names(wanted.bare_names.begin(), wanted.bare_names.end());
  for (const Metric& metric : facts.metrics) names.insert(metric.name);
  std::erase_if(names, [&](const std::string& name) { return !facts.params.contains(name); });
  if (names.empty()) return;
  const Commit commit = engine.commits.get(repository.id, facts.commit);
  for (const std::string& name : names) {
    const auto key = commit.metadata.find(name);
    const auto param = facts.params.find(name);
    if (key != commit.metadata.end() && key->second == param->second) facts.params.erase(param);
  }
}

bool is_same_number(double a, double b) { return a == b || (a != a && b != b); }

/// Warns about metrics whose origins disagree.
void warn_of_differences(CommitFacts& facts) {
  const Metric* first = nullptr;   // of its name and split
  const Metric* before = nullptr;  // of the same, the previous metric
  for (const Metric& metric : facts.metrics) {
    const bool is_other =
        first == nullptr || first->name != metric.name || first->split != metric.split;
    if (is_other) {
      first = &metric;
    } else if (before->origin != metric.origin && !is_same_number(first->value, metric.value)) {
      facts.warnings.push_back(str_cat("metric \"", metric.name, "\": ", first->origin_text(),
                                       " says ", to_text(first->value), ", ", metric.origin_text(),
                                       " says ", to_text(metric.value)));
    }
    before = &metric;
  }
}

}  // namespace

ExtractionRules extraction_rules(branch::Engine& engine, RepositoryId repository) {
  ExtractionRules rules;
  rules.globs = globs_of(engine.settings.find(repository, meta::SettingKind::kMetricFiles));
  rules.hash = sha256(str_cat(kReadersVersion, kMetadataVersion, encode_metric_globs(rules.globs)));
  return rules;
}

UnreadCommits read_ahead(branch::Engine& engine, RepositoryId repository,
                         const ExtractionRules& rules, std::span<const CommitId> commits,
                         std::chrono::seconds time_max) {
  UnreadCommits left{.count = commits.size()};
  if (commits.empty()) return left;
  const Repository repo = engine.repositories.get(repository);
  const auto end = std::chrono::steady_clock::now() + time_max;
  size_t failures = 0;
  for (const CommitId& commit : commits.first(std::min(commits.size(), kReadAheadCommitsMax))) {
    if (failures == kReadAheadFailuresMax || std::chrono::steady_clock::now() >= end) break;
    try {
      read_and_store(engine, repo, commit, rules);
      --left.count;
    } catch (const Error& error) {
      ++failures;
      if (left.why.empty()) left.why = str_cat("commit ", to_text(commit), ": ", error.message());
    }
  }
  return left;
}

std::vector<CommitFacts> commit_facts(branch::Engine& engine, RepositoryId repository,
                                      std::span<const CommitId> commits,
                                      const FactsWanted& wanted) {
  if (commits.size() > kFactsCommitsMax) {
    throw_invalid(str_cat("commits: may be at most ", kFactsCommitsMax));
  }
  check_metric_globs(wanted.extra_globs);
  const Repository repo = engine.repositories.get(repository);
  const ExtractionRules rules = extraction_rules(engine, repository);
  ExtractionStore extractions(engine.pool);
  const std::set<CommitId> done = extractions.done(repository, commits, rules.hash);
  for (const CommitId& commit : std::set<CommitId>(commits.begin(), commits.end())) {
    if (!done.contains(commit)) read_and_store(engine, repo, commit, rules);
  }
  const std::vector<std::string> any;
  std::vector<CommitFacts> out = extractions.facts(
      repository, commits, wanted.name_globs.empty() ? wanted.names : any, wanted.run_params);
  for (CommitFacts& facts : out) {
    if (!wanted.extra_globs.empty() || !wanted.bare_names.empty()) {
      add_extras(engine, repo, wanted, rules, facts);
    }
    leave_out_others(wanted, facts);
    leave_out_metrics(engine, repo, wanted, facts);
    warn_of_differences(facts);
  }
  return out;
}

CommitFacts extract_now(branch::Engine& engine, RepositoryId repository, const CommitId& commit,
                        const FactsWanted& wanted) {
  return std::move(commit_facts(engine, repository, {&commit, 1}, wanted).front());
}

CommitFacts ref_facts(branch::Engine& engine, const Repository& repository, std::string_view ref,
                      const FactsWanted& wanted) {
  const branch::ResolvedRef resolved = branch::resolve(engine, repository, ref);
  return extract_now(engine, resolved.repository.id, resolved.commit.id, wanted);
}

Page<SeriesPoint> metric_series(branch::Engine& engine, const Repository& repository,
                                std::string_view ref, std::string_view name, std::string_view split,
                                std::string_view source, size_t start, uint32_t limit) {
  const branch::ResolvedRef resolved = branch::resolve(engine, repository, ref);
  const CommitId& commit = resolved.commit.id;
  extract_now(engine, resolved.repository.id, commit, {.names = {std::string(name)}});
  auto page = ExtractionStore(engine.pool)
                  .series(resolved.repository.id, commit, name, split, source, start, limit);
  if (page.items.empty() && start == 0) {
    throw Error(ErrorCode::kNotFound, reason::kSeriesNotFound,
                str_cat("metric \"", name, "\" of commit ", to_text(commit),
                        ": no file has a curve of it"));
  }
  return page;
}

branch::Tagged<std::vector<std::string>> get_metric_globs(branch::Engine& engine,
                                                          const Repository& repository) {
  const auto body = engine.settings.find(repository.id, meta::SettingKind::kMetricFiles);
  return {globs_of(body), branch::setting_etag(body)};
}

void set_metric_globs(branch::Engine& engine, const Repository& repository,
                      const std::vector<std::string>& globs, const branch::SettingWrite& write) {
  check_metric_globs(globs);
  branch::update_setting(engine, repository, meta::SettingKind::kMetricFiles, write,
                         encode_metric_globs(globs));
}

bool run_one_extraction(branch::Engine& engine, std::stop_token, OwnerTurns& turns) {
  ExtractionStore extractions(engine.pool);
  std::optional<QueuedExtraction> next;
  const auto turn =
      turns.begin([&](const std::vector<std::string>& full) -> std::optional<std::string> {
        next = extractions.take(kLease, full);
        if (!next) return std::nullopt;
        return next->owner;
      });
  if (!turn) return false;
  try {
    const auto commit = engine.commits.find(next->repository, next->commit);
    if (!commit || is_expired(commit->root)) {
      extractions.fail(*next, commit ? "its data has expired" : "the commit is gone");
      return true;
    }
    const Repository repository = engine.repositories.get(next->repository);
    read_and_store(engine, repository, next->commit, extraction_rules(engine, repository.id));
  } catch (const Error& error) {
    log::warn("reading a commit's metrics failed",
              {{"repository", std::to_string(static_cast<int32_t>(next->repository))},
               {"commit", to_text(next->commit)},
               {"error", error.message()}});
    // Otherwise it is retried after the lease has expired.
    if (next->attempts >= kExtractionAttemptsMax) extractions.fail(*next, error.message());
  }
  return true;
}

}  // namespace tarn::runs
