// Extraction of metrics from commits' metadata and files, and queries for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/owner_turns.h"
#include "core/branch/engine.h"
#include "core/branch/settings.h"
#include "core/metrics/commit_facts.h"
#include "core/model/repository.h"
#include "core/runs/extraction_store.h"

namespace tarn::runs {

// Limits of reading one commit; the rest is left out with a warning.
constexpr uint64_t kMetricFileBytesMax = 256ull * 1024 * 1024;    ///< of one file
constexpr uint64_t kMetricFilesBytesMax = 1024ull * 1024 * 1024;  ///< of all files
constexpr size_t kMetricFilesMax = 1000;
constexpr uint64_t kMetricPathsSeenMax = 1'000'000;  ///< paths compared with the globs
constexpr size_t kCommitMetricsMax = 10'000;
constexpr size_t kCommitPointsMax = 4'000'000;
constexpr size_t kCommitWarningsMax = 100;

/// Commits of one question.
constexpr size_t kFactsCommitsMax = 1000;

/// Attempts to read a commit in the background; later ones are made on request.
constexpr int kExtractionAttemptsMax = 3;

struct FactsWanted {
  std::vector<std::string> names{};        ///< of metrics; empty, also of globs, = all
  std::vector<std::string> name_globs{};   ///< of metrics, besides those of `names`
  std::vector<std::string> extra_globs{};  ///< files to read in addition to those of the repository
  std::vector<std::string> bare_names{};   ///< metadata keys without "metric." that are metrics
  std::vector<std::string> run_params{};   ///< parameters of each run; empty = none
};

/// The facts of the commits, which exist, one answer each in that order. A commit that the
/// background has not read yet is read here, so that the answer never depends on how far that is.
/// Throws: invalid_argument (more than kFactsCommitsMax, a bad glob), unavailable (store).
std::vector<CommitFacts> commit_facts(branch::Engine& engine, RepositoryId repository,
                                      std::span<const CommitId> commits,
                                      const FactsWanted& wanted = {});
/// Reads the facts of one commit now.
CommitFacts extract_now(branch::Engine& engine, RepositoryId repository, const CommitId& commit,
                        const FactsWanted& wanted = {});
/// The facts of what a ref means now. Throws as resolve_commit.
CommitFacts ref_facts(branch::Engine& engine, const Repository& repository, std::string_view ref,
                      const FactsWanted& wanted = {});

/// The rules by which a repository's commits are read.
struct ExtractionRules {
  std::vector<std::string> globs;
  std::string hash;  ///< of the globs and the readers
};
ExtractionRules extraction_rules(branch::Engine& engine, RepositoryId repository);

/// Limit of reading for one list, which then answers without the rest.
constexpr size_t kReadAheadCommitsMax = 1000;
constexpr std::chrono::seconds kReadAheadTimeMax{10};
constexpr size_t kReadAheadFailuresMax = 3;

struct UnreadCommits {
  size_t count = 0;
  std::string why{};  ///< the first that could not be read; "" when there was only no time
};
/// Reads commits that exist and that the background has not read; returns those that are left.
UnreadCommits read_ahead(branch::Engine& engine, RepositoryId repository,
                         const ExtractionRules& rules, std::span<const CommitId> commits,
                         std::chrono::seconds time_max = kReadAheadTimeMax);

/// Points of the curve of one metric of a commit, from number `start` on, as far as files hold
/// more than one point. `source`: the file, "" = the newest. Throws as ref_facts, and not_found
/// (reason "series_not_found").
Page<SeriesPoint> metric_series(branch::Engine& engine, const Repository& repository,
                                std::string_view ref, std::string_view name, std::string_view split,
                                std::string_view source, size_t start, uint32_t limit);

/// Globs of the files that hold metrics; the default unless set.
branch::Tagged<std::vector<std::string>> get_metric_globs(branch::Engine& engine,
                                                          const Repository& repository);
/// Commits are read again when they are next requested. Throws: invalid_argument, as set_tag_rules.
void set_metric_globs(branch::Engine& engine, const Repository& repository,
                      const std::vector<std::string>& globs, const branch::SettingWrite& write);

/// Reads one queued commit, if any; called by server/jobs. Returns whether it did any work. Of
/// several who read one commit one stores what it found.
bool run_one_extraction(branch::Engine& engine, std::stop_token stop,
                        OwnerTurns& turns = OwnerTurns::unlimited());

}  // namespace tarn::runs
