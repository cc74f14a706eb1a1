// A repository of its own for one interleaving, and what can be seen of it.
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
/// Made by verbs that make a branch or a tag.
inline constexpr const char* kExtra = "extra";
/// On every branch, changed by "second" and by "aside".
inline constexpr const char* kKey = "data/k";
/// Made by "first", deleted by "second", made again by "aside".
inline constexpr const char* kAbsentKey = "new/n";
/// On every branch and never changed by the scenario.
inline constexpr const char* kSourceKey = "data/src";

/// The first or the second of a pair; names what it writes.
enum class Role { kA, kB };
inline std::string name_of(Role role) { return role == Role::kA ? "A" : "B"; }

/// One thread at a time, but for the engines.
class Scenario {
 public:
  /// `observer` makes the repository and looks at it.
  Scenario(testing::TestEngine& observer, RepositoryName name);
  /// A copy, in one statement, of a repository that nothing was done to since it was made.
  Scenario(const Scenario& original, RepositoryName name);

  World observe();
  /// After the set-ups: what all histories of this repository begin with.
  void begin() { initial = observe(); }

  ModelCommitPtr commit(const CommitId& id);
  /// The object that an upload of this text makes.
  static ModelObject object(const std::string& text);

  testing::TestEngine& observer;
  const RepositoryName repo;
  RepositoryId id{};
  CommitId first, second, aside;
  World initial;

  // Values that set-ups leave for the actions.
  std::optional<versioning::MultipartUpload> upload;
  std::string part_etag;
  std::string link;  ///< an address that was handed out, filled
  std::vector<std::string> jobs;
  std::map<Role, std::string> job_of;
  std::string pull;
  std::string promotion;  ///< of kSide to main, open
  std::string promoted;   ///< one that may be taken back
  /// A bare repository, and a dump of this one's refs with what it holds.
  std::optional<RepositoryName> target;
  std::string dump;
  std::map<std::string, ModelCommitPtr> dumped;

  /// The refs of the target, as World::restored; nullopt: it is gone.
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

/// Ends the leases of branches, jobs and promotions of the repository: as if their holders had
/// slept for long.
void expire_leases(testing::TestEngine& engine, RepositoryId repository);

/// Takes from the repository what the background would take up later, in the middle of another
/// interleaving of this database.
void leave_nothing_due(testing::TestEngine& engine, RepositoryId repository);

}  // namespace tarn::pairs
