// Commits and refs of a repository, compared with what refers to them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/repository.h"
#include "core/verify/collected.h"
#include "core/verify/verify_store.h"

namespace tarn::verify {

/// A tree to verify: of a commit, or of the row of a branch.
struct RootToVerify {
  TreeRoot tree;
  std::string commit;  ///< bytes of its id
  Instant created{};
};

/// A branch or tag with its tree.
struct NamedTree {
  std::string name;
  TreeRoot tree;
};

/// One thread at a time. Memory: about 150 bytes for each commit.
class CommitCheck {
 public:
  CommitCheck(VerifyStore& store, RepositoryId repository, Collected& findings)
      : store_(store), repository_(repository), findings_(findings) {}

  /// Checks the commit that `ref` shows, and makes its tree a root.
  void check_one(std::string_view id, const std::string& ref);
  /// Checks all commits of the repository, then `branches` and `tags`. `alive` is called after each
  /// page.
  void check_all(const std::vector<BranchToVerify>& branches, const std::vector<TagToVerify>& tags,
                 const std::function<void()>& alive);

  void check_branch(const BranchToVerify& branch);
  /// Gives the trees so far this name.
  void name_roots(const std::string& name);

  uint64_t commits() const { return commits_; }
  /// Distinct trees, those of refs first, then the newest first.
  const std::vector<RootToVerify>& roots() const { return roots_; }
  /// In the order of roots().
  const std::vector<NamedTree>& named() const { return named_; }

 private:
  struct Known {
    int64_t generation = 0;
    TreeRoot tree;
    Instant created{};
    bool readable = true;  ///< else nothing but its existence is known
  };
  void check_commit(const CommitToVerify& commit);
  void check_parents();
  void check_tag(const TagToVerify& tag);
  void add_root(RootToVerify root);
  /// A commit that was made after its page was read.
  const Known* find(const std::string& id);
  void report(FindingKind kind, std::string_view commit, std::string expected, std::string found,
              std::string ref = {});

  struct Child {
    std::string id;
    int64_t generation = 0;
    std::vector<std::string> parents;
  };

  VerifyStore& store_;
  const RepositoryId repository_;
  Collected& findings_;
  uint64_t commits_ = 0;
  std::unordered_map<std::string, Known> known_;
  std::vector<Child> children_;
  std::vector<RootToVerify> roots_;
  std::vector<NamedTree> named_;
  std::unordered_map<Nid, Hash128> added_;  ///< trees in roots_
};

}  // namespace tarn::verify
