#include "core/versioning/authors.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/branch/history.h"
#include "core/meta/commits.h"

namespace tarn::versioning {
namespace {

constexpr size_t kCommitsPerQuery = 1000;

}  // namespace

std::set<std::string> makers_of(branch::Engine& engine, RepositoryId repository,
                                std::span<const CommitId> commits) {
  std::set<std::string> out;
  for (size_t from = 0; from < commits.size(); from += kCommitsPerQuery) {
    const auto part = commits.subspan(from, std::min(kCommitsPerQuery, commits.size() - from));
    for (const auto& [id, maker] : engine.commits.makers(repository, part)) out.insert(maker);
    out.merge(engine.commits.absorbed_makers(repository, part));
    for (const auto& [id, commit] : engine.commits.find_all(repository, part)) {
      out.insert(commit.committer);
    }
  }
  out.erase("");
  return out;
}

std::set<std::string> authors_of(branch::Engine& engine, RepositoryId repository,
                                 const Commit& brought, const Commit& destination) {
  return makers_of(engine, repository,
                   branch::commits_without(engine, repository, brought, destination));
}

}  // namespace tarn::versioning
