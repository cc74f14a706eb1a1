#include "core/verify/verify.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/meta/expiry.h"
#include "core/model/expiry.h"
#include "core/model/repository.h"
#include "core/tree/node.h"
#include "core/verify/collected.h"
#include "core/verify/node_walk.h"
#include "core/verify/verify_store.h"

namespace tarn::verify {
namespace {

// Commits and refs of a repository, compared with what refers to them.

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

std::string shown(std::string_view commit) { return str_cat("commit ", to_hex(commit)); }

std::string tree_text(const TreeRoot& tree) {
  return str_cat("node ", tree.nid, ", hash ", to_hex(view_of(tree.hash)));
}

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

// The refs whose trees show a damaged node or object.

/// Refs that are searched for a finding, and findings whose refs are searched.
constexpr size_t kRefsSearchedMax = 1000;
constexpr size_t kFindingsSearchedMax = 100;

/// Reads nodes from the table, and keeps some. One thread at a time.
class ShownBy {
 public:
  explicit ShownBy(VerifyStore& store) : store_(store) {}

  /// Whether the path of the finding leads through its node, or to an entry with its address.
  bool shows(const TreeRoot& root, const CollectedFinding& found);

 private:
  /// nullptr: missing or unreadable.
  std::shared_ptr<const tree::Node> load(Nid nid);

  VerifyStore& store_;
  std::map<Nid, std::shared_ptr<const tree::Node>> nodes_;
};

constexpr size_t kNodesKeptMax = 4096;

std::shared_ptr<const tree::Node> ShownBy::load(Nid nid) {
  const auto at = nodes_.find(nid);
  if (at != nodes_.end()) return at->second;
  std::shared_ptr<const tree::Node> node;
  const db::Rows rows = store_.nodes({&nid, 1});
  try {
    if (!rows.empty()) node = tree::Node::decode(rows.bytes(0, NodeColumn::kBody));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
  }
  if (nodes_.size() >= kNodesKeptMax) nodes_.clear();
  nodes_.emplace(nid, node);
  return node;
}

bool ShownBy::shows(const TreeRoot& root, const CollectedFinding& found) {
  const std::string& path = found.finding.path;
  Nid nid = root.nid;
  // A damaged tree may refer in a circle; no tree is higher than this.
  for (int level = 0; nid != 0 && level < 40; ++level) {
    if (nid == found.nid) return true;
    const auto node = load(nid);
    if (!node) return false;
    const uint32_t index = node->lower_bound(path);
    if (index == node->count()) return false;
    if (node->level() == 0) {
      return found.nid == 0 && node->key(index) == path &&
             encode_address(node->entry(index).address) == found.address;
    }
    nid = node->child(index).nid;
  }
  return false;
}

constexpr size_t kTokensPerQuery = 500;

class Run {
 public:
  Run(branch::Engine& engine, const Repository& repository, const RepositoryVerification& options,
      const VerifyProgress& progress)
      : engine_(engine),
        repository_(repository),
        options_(options),
        progress_(progress),
        store_(engine.pool),
        commits_(store_, repository.id, findings_),
        objects_(engine, repository, store_, options.objects, findings_, [this] { alive(); }) {}

  VerifyReport result() {
    std::vector<Finding> repairs =
        repair_repository(engine_, repository_, options_.repair, [this] { alive(); });
    read_refs();
    check_nodes();
    check_staged();
    for (const BranchToVerify& branch : branches_) check_versions(branch);
    objects_.finish();
    VerifyReport report = so_far();
    report.findings = listed(report);
    report.repairs = std::move(repairs);
    return report;
  }

 private:
  void alive() { progress_(so_far()); }

  VerifyReport so_far() {
    VerifyReport report;
    report.refs = refs_;
    report.commits = commits_.commits();
    report.nodes = nodes_;
    report.entries = entries_;
    report.staged = staged_;
    report.versions = versions_;
    objects_.count_into(report);
    report.totals = findings_.totals();
    return report;
  }

  /// Branches, tags and commits, or those of the one ref.
  void read_refs() {
    branches_ = store_.branches(repository_.id);
    tags_ = store_.tags(repository_.id);
    if (options_.ref.empty()) {
      std::stable_partition(branches_.begin(), branches_.end(),
                            [this](const BranchToVerify& branch) {
                              return branch.name == repository_.default_branch.str();
                            });
      refs_ = branches_.size() + tags_.size();
      commits_.check_all(branches_, tags_, [this] { alive(); });
      return;
    }
    refs_ = 1;
    std::erase_if(branches_,
                  [this](const BranchToVerify& branch) { return branch.name != options_.ref; });
    if (!branches_.empty()) {
      commits_.check_one(branches_.front().head, options_.ref);
      commits_.check_branch(branches_.front());
      return;
    }
    const Commit commit = branch::resolve_commit(engine_, repository_, options_.ref);
    meta::require_kept(engine_.pool, commit.root);
    commits_.check_one(view_of(commit.id), options_.ref);
    commits_.name_roots(options_.ref);
  }

  void check_nodes() {
    std::vector<TreeRoot> trees;
    for (const RootToVerify& root : commits_.roots()) trees.push_back(root.tree);
    NodeWalk walk(
        store_, repository_.id, {repository_.salt}, findings_,
        [this](const tree::LeafNode& range, uint32_t root) { objects_.see(range, root); },
        [this](const NodeWalk& at) {
          nodes_ = at.nodes();
          entries_ = at.entries();
          alive();
        });
    walk.run(trees);
  }

  void check_staged() {
    std::map<int64_t, std::string> branch_of;
    for (const BranchToVerify& branch : branches_) {
      for (const int64_t token : branch.tokens) branch_of.emplace(token, branch.name);
    }
    std::vector<int64_t> tokens;
    for (const auto& [token, branch] : branch_of) {
      tokens.push_back(token);
      if (tokens.size() == kTokensPerQuery) check_tokens(std::exchange(tokens, {}), branch_of);
    }
    if (!tokens.empty()) check_tokens(tokens, branch_of);
  }

  void check_tokens(const std::vector<int64_t>& tokens,
                    const std::map<int64_t, std::string>& branch_of) {
    int64_t token = 0;
    std::string key;
    for (;;) {
      const auto page = store_.staged(tokens, token, key);
      for (const StagedToVerify& row : page) check_row(row, branch_of.at(row.token));
      alive();
      if (page.size() < static_cast<size_t>(VerifyStore::kStagedPerPage)) return;
      token = page.back().token;
      key = page.back().key;
    }
  }

  void check_row(const StagedToVerify& row, const std::string& branch) {
    ++staged_;
    if (!row.deletes) check_entry(row.key, row.value, FindingKind::kStagedUnreadable, branch);
  }

  void check_versions(const BranchToVerify& branch) {
    std::string key;
    int64_t number = INT64_MIN;
    for (;;) {
      const auto page = store_.versions(branch.id, key, number);
      for (const VersionToVerify& row : page) {
        ++versions_;
        if (row.deletes) continue;
        check_entry(row.key, row.value, FindingKind::kVersionUnreadable, branch.name);
      }
      if (page.empty()) return;
      alive();
      if (page.size() < static_cast<size_t>(VerifyStore::kStagedPerPage)) return;
      key = page.back().key;
      number = page.back().number;
    }
  }

  void check_entry(const std::string& key, const std::string& value, FindingKind unreadable,
                   const std::string& branch) {
    Entry entry;
    try {
      entry = decode_entry(value);
    } catch (const Error& error) {
      CollectedFinding found;
      found.finding.kind = unreadable;
      found.finding.path = key;
      found.finding.expected = "an entry";
      found.finding.found = error.message();
      found.origin.branch = branch;
      findings_.add(std::move(found));
      return;
    }
    objects_.see(key, entry, {Origin::kNoRoot, branch});
  }

  /// Completes the findings with commits and refs, drops those of commits that were removed
  /// meanwhile, and corrects the totals.
  std::vector<Finding> listed(VerifyReport& report) {
    std::vector<CollectedFinding> kept = findings_.take();
    for (CollectedFinding& found : kept) {
      if (!found.origin.branch.empty()) found.finding.refs.push_back(found.origin.branch);
      if (found.origin.root != Origin::kNoRoot)
        found.finding.commit = to_hex(commits_.roots()[found.origin.root].commit);
    }
    const std::set<std::string> gone = removed_commits(kept);
    const std::set<std::string> expired = expired_commits(kept);
    const std::vector<NamedTree> named = current_refs();
    std::vector<Finding> out;
    ShownBy shown(store_);
    size_t searched = 0;
    for (CollectedFinding& found : kept) {
      if (found.origin.root != Origin::kNoRoot && searched++ < kFindingsSearchedMax)
        name_refs(shown, named, found);
      if (found.finding.kind == FindingKind::kRefCommit) drop_moved_refs(found.finding);
      const bool of_gone_tree =
          gone.contains(found.finding.commit) ||
          (found.origin.root != Origin::kNoRoot && expired.contains(found.finding.commit));
      if (of_gone_tree && found.finding.refs.empty()) {
        --report.totals[static_cast<size_t>(found.finding.kind)];
        continue;
      }
      out.push_back(std::move(found.finding));
    }
    std::stable_sort(out.begin(), out.end(), [](const Finding& a, const Finding& b) {
      return std::tuple(severity_of(b.kind), a.kind, std::string_view(a.path)) <
             std::tuple(severity_of(a.kind), b.kind, std::string_view(b.path));
    });
    return out;
  }

  static void name_refs(ShownBy& shown, const std::vector<NamedTree>& named,
                        CollectedFinding& found) {
    size_t tried = 0;
    for (const NamedTree& ref : named) {
      if (found.finding.refs.size() == kFindingRefsMax || tried++ == kRefsSearchedMax) return;
      if (shown.shows(ref.tree, found)) found.finding.refs.push_back(ref.name);
    }
  }

  /// The verified refs as they are now: they may have moved or be deleted since.
  std::vector<NamedTree> current_refs() {
    for (const BranchToVerify& branch : branches_) heads_[branch.name] = std::nullopt;
    for (const TagToVerify& tag : tags_) heads_[tag.name] = std::nullopt;
    std::map<std::string, TreeRoot> trees;
    for (const BranchToVerify& branch : store_.branches(repository_.id)) {
      trees[branch.name] = branch.root;
      heads_[branch.name] = to_hex(branch.head);
    }
    for (const TagToVerify& tag : store_.tags(repository_.id))
      heads_[tag.name] = to_hex(tag.commit);
    std::vector<NamedTree> out;
    for (const NamedTree& named : commits_.named()) {
      const auto head = heads_.find(named.name);
      if (head != heads_.end() && !head->second) continue;
      const auto tree = trees.find(named.name);
      out.push_back({named.name, tree == trees.end() ? named.tree : tree->second});
    }
    return out;
  }

  /// Keeps only the refs that still refer to a missing commit.
  void drop_moved_refs(Finding& finding) const {
    std::erase_if(finding.refs, [&](const std::string& ref) {
      const auto head = heads_.find(ref);
      return head != heads_.end() && head->second != finding.commit;
    });
  }

  static std::set<std::string> commits_of(const std::vector<CollectedFinding>& kept) {
    std::set<std::string> hex;
    for (const CollectedFinding& found : kept) {
      if (!found.finding.commit.empty()) hex.insert(found.finding.commit);
    }
    return hex;
  }

  static std::vector<std::string> ids_of(const std::set<std::string>& hex) {
    std::vector<std::string> ids;
    for (const std::string& text : hex) ids.push_back(from_hex(text).value_or(""));
    return ids;
  }

  std::set<std::string> removed_commits(const std::vector<CollectedFinding>& kept) {
    std::set<std::string> hex = commits_of(kept);
    for (const std::string& id : store_.existing(repository_.id, ids_of(hex))) {
      hex.erase(to_hex(id));
    }
    return hex;
  }

  std::set<std::string> expired_commits(const std::vector<CollectedFinding>& kept) {
    std::set<std::string> out;
    for (const std::string& id : store_.expired(repository_.id, ids_of(commits_of(kept)))) {
      out.insert(to_hex(id));
    }
    return out;
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const RepositoryVerification& options_;
  const VerifyProgress& progress_;
  VerifyStore store_;
  Collected findings_;
  CommitCheck commits_;
  ObjectCheck objects_;
  std::vector<BranchToVerify> branches_;
  std::vector<TagToVerify> tags_;
  /// By ref the commit that it refers to at the end, in hex; nullopt: it was deleted meanwhile.
  std::map<std::string, std::optional<std::string>> heads_;
  std::atomic<uint64_t> refs_ = 0;
  std::atomic<uint64_t> nodes_ = 0;
  std::atomic<uint64_t> entries_ = 0;
  std::atomic<uint64_t> staged_ = 0;
  std::atomic<uint64_t> versions_ = 0;
};

}  // namespace

VerifyReport verify_repository(branch::Engine& engine, const Repository& repository,
                               const RepositoryVerification& options,
                               const VerifyProgress& progress) {
  return Run(engine, repository, options, progress).result();
}

}  // namespace tarn::verify
