// A model of a repository as plain maps, and of the changes that verbs make: the histories that are
// correct.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tarn::pairs {

/// One version of an object.
struct ModelObject {
  std::string text;  ///< its bytes
  std::string etag;
  std::string content_type;
  std::map<std::string, std::string> metadata{};
  std::map<std::string, std::string> tags{};
  std::string url{};  ///< of an imported object; "" = the repository's own bytes
  bool operator==(const ModelObject&) const = default;
};
using ModelTree = std::map<std::string, ModelObject>;

/// Two commits are equal if their pointers are.
struct ModelCommit {
  std::string name;  ///< message, committer, and a digest of the tree and the whole history
  std::string committer;
  std::string message;
  ModelTree tree;
  std::vector<std::shared_ptr<const ModelCommit>> parents{};
};
using ModelCommitPtr = std::shared_ptr<const ModelCommit>;

struct ModelBranch {
  ModelCommitPtr head;
  std::map<std::string, std::optional<ModelObject>> staged{};  ///< nullopt = deleted
  bool expires = false;

  ModelTree visible() const;
  /// Whether committing the staged changes would change anything.
  bool dirty() const;
  std::optional<ModelObject> find(const std::string& key) const;
  void stage(const std::string& key, std::optional<ModelObject> object);
};

struct ModelUpload {
  std::string key;
  std::map<int, std::string> parts{};  ///< etags
};

struct ModelPull {
  std::string status;                 ///< "open", "merged", "closed"
  std::set<std::string> approvals{};  ///< users whose approval holds
  ModelCommitPtr merged{};
};

struct ModelPromotion {
  std::string state;  ///< "open", or the terminal state with its code
  ModelCommitPtr result{};
  std::map<std::string, std::string> checks{};  ///< state by name
};

/// All observable state of one repository.
struct World {
  bool exists = true;
  int orphans = 0;  ///< rows of a deleted repository
  std::map<std::string, ModelBranch> branches{};
  std::map<std::string, ModelCommitPtr> tags{};
  std::map<std::string, ModelCommitPtr> aliases{};
  std::map<std::string, ModelUpload> uploads{};  ///< by id
  std::set<std::string> links{};                 ///< tokens that were handed out and not used
  std::map<std::string, std::string> jobs{};     ///< by id: "open", "done", "failed ..."
  bool branch_rules = false;                     ///< rules that forbid everything on kWork
  int approvals_wanted = 0;                      ///< approvals required for merges into kWork
  std::map<std::string, ModelPull> pulls{};
  int64_t policy_version = 0;  ///< version 2 requires more than kSide has
  std::map<std::string, ModelPromotion> promotions{};
  /// Refs of the repository into which a dump is restored, by kind and name; absent = it is gone,
  /// or there was none.
  std::optional<std::map<std::string, ModelCommitPtr>> restored{};

  ModelBranch* branch(const std::string& name);
};

/// The state as text, equal for equal states; ignores staged changes without effect.
std::string render(const World& world);
std::string render(const ModelObject& object);
/// Includes the names of its parents, and hence its whole history.
std::string render(const ModelCommitPtr& commit);
/// Lines of one text that the other lacks, both ways.
std::string difference(const std::string& expected, const std::string& observed);

/// The one best common ancestor.
ModelCommitPtr merge_base(const ModelCommitPtr& a, const ModelCommitPtr& b);
/// Applies the changes from `base` to `source` to `destination`; nullopt on a conflict.
std::optional<ModelTree> merge_trees(const ModelTree& base, const ModelTree& source,
                                     const ModelTree& destination);
ModelCommitPtr commit_of(std::string committer, std::string message, ModelTree tree,
                         std::vector<ModelCommitPtr> parents);

/// One possible effect of a request: it takes effect completely, at one moment.
struct Step {
  std::string answer;
  World after;
};

}  // namespace tarn::pairs
