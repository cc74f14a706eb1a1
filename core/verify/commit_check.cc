#include "core/verify/commit_check.h"

#include <algorithm>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/model/expiry.h"

namespace tarn::verify {
namespace {

std::string shown(std::string_view commit) { return str_cat("commit ", to_hex(commit)); }

std::string tree_text(const TreeRoot& tree) {
  return str_cat("node ", tree.nid, ", hash ", to_hex(view_of(tree.hash)));
}

}  // namespace

void CommitCheck::check_one(std::string_view id, const std::string& ref) {
  const auto commit = store_.commit(repository_, id);
  if (!commit) {
    report(FindingKind::kRefCommit, id, shown(id), "no row", ref);
    return;
  }
  check_commit(*commit);
  check_parents();
  if (const Known* facts = find(commit->id)) add_root({facts->tree, commit->id, facts->created});
}

void CommitCheck::check_all(const std::vector<BranchToVerify>& branches,
                            const std::vector<TagToVerify>& tags,
                            const std::function<void()>& alive) {
  std::string after;
  for (;;) {
    const std::vector<CommitToVerify> page = store_.commits(repository_, after);
    for (const CommitToVerify& commit : page) check_commit(commit);
    alive();
    if (page.size() < static_cast<size_t>(VerifyStore::kCommitsPerPage)) break;
    after = page.back().id;
  }
  check_parents();
  for (const BranchToVerify& branch : branches) check_branch(branch);
  for (const TagToVerify& tag : tags) check_tag(tag);
  std::vector<RootToVerify> others;
  for (const auto& [id, facts] : known_) others.push_back({facts.tree, id, facts.created});
  std::sort(others.begin(), others.end(), [](const RootToVerify& a, const RootToVerify& b) {
    return std::pair(b.created, b.commit) < std::pair(a.created, a.commit);
  });
  for (RootToVerify& root : others) add_root(std::move(root));
}

void CommitCheck::check_commit(const CommitToVerify& commit) {
  ++commits_;
  if (!commit.value) {
    report(FindingKind::kCommitUnreadable, commit.id, "a commit", commit.problem);
    known_[commit.id].readable = false;
    return;
  }
  const Commit& value = *commit.value;
  const CommitId computed = compute_commit_id(value);
  if (computed != value.id) {
    report(FindingKind::kCommitId, commit.id, to_text(value.id), to_text(computed));
  }
  known_[commit.id] = {value.generation, value.root, value.created};
  Child child{commit.id, value.generation, {}};
  for (const CommitId& parent : value.parents) child.parents.emplace_back(view_of(parent));
  children_.push_back(std::move(child));
}

const CommitCheck::Known* CommitCheck::find(const std::string& id) {
  auto at = known_.find(id);
  if (at != known_.end()) return &at->second;
  const auto commit = store_.commit(repository_, id);
  if (!commit) return nullptr;
  if (!commit->value) {
    Known& unreadable = known_[id];
    unreadable.readable = false;
    return &unreadable;
  }
  const Commit& value = *commit->value;
  return &known_.emplace(id, Known{value.generation, value.root, value.created}).first->second;
}

void CommitCheck::check_parents() {
  for (const Child& child : std::exchange(children_, {})) {
    int64_t greatest = 0;
    bool complete = true;
    for (const std::string& parent : child.parents) {
      const Known* facts = find(parent);
      if (facts == nullptr) {
        complete = false;
        report(FindingKind::kCommitParent, child.id, shown(parent), "no row");
      } else {
        complete = complete && facts->readable;
        greatest = std::max(greatest, facts->generation);
      }
    }
    if (complete && child.generation != greatest + 1) {
      report(FindingKind::kCommitGeneration, child.id, str_cat("generation ", greatest + 1),
             str_cat("generation ", child.generation));
    }
  }
}

void CommitCheck::check_branch(const BranchToVerify& branch) {
  const Known* head = find(branch.head);
  if (head == nullptr) {
    report(FindingKind::kRefCommit, branch.head, shown(branch.head), "no row", branch.name);
  } else if (head->readable && (head->tree.hash != branch.root.hash ||
                                head->tree.nid != branch.root.nid || is_expired(head->tree))) {
    report(FindingKind::kBranchRoot, branch.head, tree_text(head->tree), tree_text(branch.root),
           branch.name);
  }
  named_.push_back({branch.name, branch.root});
  add_root({branch.root, branch.head, head == nullptr ? Instant{} : head->created});
}

void CommitCheck::name_roots(const std::string& name) {
  for (const RootToVerify& root : roots_) named_.push_back({name, root.tree});
}

void CommitCheck::check_tag(const TagToVerify& tag) {
  const Known* commit = find(tag.commit);
  if (commit == nullptr) {
    report(FindingKind::kRefCommit, tag.commit, shown(tag.commit), "no row", tag.name);
    return;
  }
  if (is_expired(commit->tree)) {
    report(FindingKind::kRefCommit, tag.commit, "a commit with its data", "its data has expired",
           tag.name);
    return;
  }
  named_.push_back({tag.name, commit->tree});
  add_root({commit->tree, tag.commit, commit->created});
}

void CommitCheck::add_root(RootToVerify root) {
  if (root.tree.empty() || is_expired(root.tree)) return;
  const auto [at, fresh] = added_.emplace(root.tree.nid, root.tree.hash);
  // The same node under another hash is a root of its own: one of the two is wrong.
  if (fresh || at->second != root.tree.hash) roots_.push_back(std::move(root));
}

void CommitCheck::report(FindingKind kind, std::string_view commit, std::string expected,
                         std::string found, std::string ref) {
  CollectedFinding out;
  out.finding.kind = kind;
  out.finding.commit = to_hex(commit);
  if (!ref.empty()) out.finding.refs.push_back(std::move(ref));
  out.finding.expected = std::move(expected);
  out.finding.found = std::move(found);
  findings_.add(std::move(out));
}

}  // namespace tarn::verify
