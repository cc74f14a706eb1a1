#include "core/verify/verify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/meta/expiry.h"
#include "core/verify/commit_check.h"
#include "core/verify/node_walk.h"
#include "core/verify/shown_by.h"

namespace tarn::verify {
namespace {

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
