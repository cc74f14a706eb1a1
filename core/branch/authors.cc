#include "core/branch/authors.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/branch/history.h"
#include "core/meta/commits.h"
#include "core/meta/staging.h"

namespace tarn::branch {
namespace {

constexpr size_t kCommitsPerQuery = 1000;

}  // namespace

std::set<std::string> makers_of(Engine& engine, RepositoryId repository,
                                std::span<const CommitId> commits) {
  std::set<std::string> out;
  for (size_t from = 0; from < commits.size(); from += kCommitsPerQuery) {
    const auto part = commits.subspan(from, std::min(kCommitsPerQuery, commits.size() - from));
    for (const auto& [id, makers] : engine.commits.makers(repository, part)) {
      out.insert(makers.user);
      out.insert(makers.others.begin(), makers.others.end());
    }
    for (const auto& [id, commit] : engine.commits.find_all(repository, part)) {
      out.insert(commit.committer);
    }
  }
  out.erase("");
  return out;
}

std::set<std::string> authors_of(Engine& engine, RepositoryId repository, const Commit& brought,
                                 const Commit& destination) {
  return makers_of(engine, repository, commits_without(engine, repository, brought, destination));
}

std::set<std::string> makers_of_copy(Engine& engine, const ObjectOrigin& from,
                                     RepositoryId repository, const Branch& to) {
  if (from.repository != repository) return {};
  std::set<std::string> out = from.makers;
  // The work of the branch itself, staged or committed, has its makers there.
  if (from.branch == to.id) return out;
  if (from.token != 0) {
    out.merge(engine.staging.makers({from.token}));
    return out;
  }
  if (from.commit == CommitId{} || from.commit == to.head) return out;
  out.merge(authors_of(engine, repository, engine.commits.get(repository, from.commit),
                       engine.commits.get(repository, to.head)));
  return out;
}

}  // namespace tarn::branch
