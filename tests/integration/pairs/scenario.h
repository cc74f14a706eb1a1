// The repository of one interleaving, and its observable state.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/objects/multipart.h"
#include "tests/integration/pairs/history_model.h"
#include "tests/support/engine_fixture.h"

namespace tarn::pairs {

/// Branches: `main` (the default) with the commits "first" and "second"; `work`, made from it,
/// which verbs change; `side`, also made from it, with the commit "aside".
inline constexpr const char* kWork = "work";
inline constexpr const char* kSide = "side";
/// The name that a rename gives the work branch.
inline constexpr const char* kRenamed = "renamed";
/// Created by verbs that create a branch or a tag.
inline constexpr const char* kExtra = "extra";
/// On every branch, changed by "second" and by "aside".
inline constexpr const char* kKey = "data/k";
/// Created by "first", deleted by "second", created again by "aside".
inline constexpr const char* kAbsentKey = "new/n";
/// On every branch and never changed by the scenario.
inline constexpr const char* kSourceKey = "data/src";

/// The first or the second verb of a pair; part of the names of its writes.
enum class Role { kA, kB };
inline std::string name_of(Role role) { return role == Role::kA ? "A" : "B"; }

/// One thread at a time, except for the engines.
class Scenario {
 public:
  /// `observer` creates the repository and observes it.
  Scenario(testing::TestEngine& observer, RepositoryName name);
  /// A copy, in one statement, of a repository in its initial state.
  Scenario(const Scenario& original, RepositoryName name);

  World observe();
  /// Call after the set-ups: the initial state of all histories of this repository.
  void begin() { initial = observe(); }

  ModelCommitPtr commit(const CommitId& id);
  /// The repository as the front end of an engine looks it up for each request.
  Repository repository(testing::TestEngine& engine) const {
    return branch::get_repository(*engine, repo);
  }
  /// The object that an upload of this text makes.
  static ModelObject object(const std::string& text);

  testing::TestEngine& observer;
  const RepositoryName repo;
  RepositoryId id{};
  CommitId first, second, aside;
  World initial;

  // Values that set-ups leave for the actions.
  std::optional<objects::MultipartUpload> upload;
  std::string part_etag;
  std::string link;  ///< an address that was handed out, with its bytes uploaded
  std::vector<std::string> jobs;
  std::map<Role, std::string> job_of;
  std::string pull;
  std::string promotion;  ///< of kSide to main, open
  std::string promoted;   ///< one that can be rolled back
  /// A bare repository, and a dump of this repository's refs.
  std::optional<RepositoryName> target;
  std::string dump;
  std::map<std::string, ModelCommitPtr> dumped;

  /// The refs of the target, as World::restored; nullopt if it is gone.
  std::optional<std::map<std::string, ModelCommitPtr>> restored_refs();
  /// Branches, tags and aliases of a repository, by kind and name.
  std::map<std::string, ModelCommitPtr> refs_of(const RepositoryName& repository);

 private:
  ModelObject object_of(const RepositoryName& repository, const Entry& entry);
  ModelTree tree_of(const RepositoryName& repository, const std::string& ref);
  ModelCommitPtr commit_of_repository(const RepositoryName& repository, const CommitId& id);
  int left_behind();
  void copy_bytes(const RepositoryName& from);

  std::map<CommitId, ModelCommitPtr> commits_;
  std::map<std::string, std::string> texts_;  ///< by address
};

/// Expires the leases of branches, jobs and promotions of the repository, as if their holders had
/// paused for long.
void expire_leases(testing::TestEngine& engine, RepositoryId repository);

/// Removes everything from the repository that background work would process later, during another
/// interleaving of this database.
void leave_nothing_due(testing::TestEngine& engine, RepositoryId repository);

}  // namespace tarn::pairs
