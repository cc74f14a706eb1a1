#include "core/verify/repair.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/commits.h"
#include "core/search/range_summary.h"
#include "core/tree/body.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node_encoder.h"
#include "core/verify/repair_store.h"

namespace tarn::verify {
namespace {

std::string generation_text(int64_t generation) { return str_cat("generation ", generation); }

std::string text_of_tree(const TreeRoot& tree) {
  return str_cat("node ", tree.nid, ", hash ", to_hex(view_of(tree.hash)));
}

class Repairs {
 public:
  Repairs(branch::Engine& engine, const Repository& repository, RepairMode mode,
          const std::function<void()>& alive)
      : engine_(engine),
        repository_(repository),
        mode_(mode),
        alive_(alive),
        read_(engine.pool),
        store_(engine.pool) {}

  std::vector<Finding> run() {
    read_commits();
    repair_generations();
    repair_branches();
    repair_summaries();
    repair_sstables();
    return std::move(out_);
  }

 private:
  struct Known {
    int64_t generation = 0;
    std::vector<std::string> parents;
    TreeRoot tree;
    bool is_intact = false;  ///< the id is that of the content
  };

  /// Lists the repair if `change` found the row as it was read, or if changes are only planned.
  template <typename Change>
  bool repair(Finding finding, Change change) {
    if (mode_ == RepairMode::kApply) {
      if (!change()) return false;
      log::info("repaired", {{"repository", repository_.name.str()},
                             {"kind", name_of(finding.kind)},
                             {"commit", finding.commit},
                             {"address", finding.address},
                             {"found", finding.found},
                             {"set", finding.expected}});
    }
    if (out_.size() < kRepairsListedMax) out_.push_back(std::move(finding));
    return true;
  }

  static Finding finding(FindingKind kind, std::string expected, std::string found) {
    Finding out;
    out.kind = kind;
    out.expected = std::move(expected);
    out.found = std::move(found);
    return out;
  }

  void read_commits() {
    for (std::string after;;) {
      const auto page = read_.commits(repository_.id, after);
      for (const CommitToVerify& commit : page) {
        Known& known = commits_[commit.id];
        if (!commit.value) continue;
        known.generation = commit.value->generation;
        known.tree = commit.value->root;
        for (const CommitId& parent : commit.value->parents) {
          known.parents.emplace_back(view_of(parent));
        }
        known.is_intact = compute_commit_id(*commit.value) == commit.value->id;
      }
      alive_();
      if (page.size() < static_cast<size_t>(VerifyStore::kCommitsPerPage)) return;
      after = page.back().id;
    }
  }

  /// One more than the greatest of the parents', from the first commits on; 0: an ancestor is
  /// missing or is not what its id says. Without recursion: histories are long.
  int64_t generation_of(const std::string& id) {
    std::vector<std::string> path = {id};
    while (!path.empty()) {
      const std::string at = path.back();
      const auto known = commits_.find(at);
      if (known == commits_.end() || !known->second.is_intact) {
        right_[at] = 0;
      } else if (right_.count(at) == 0) {
        int64_t greatest = 0;
        bool is_known = true;
        for (const std::string& parent : known->second.parents) {
          const auto right = right_.find(parent);
          if (right == right_.end()) {
            path.push_back(parent);
            continue;
          }
          is_known &= right->second > 0;
          greatest = std::max(greatest, right->second);
        }
        if (path.back() != at) continue;  // the parents first
        right_[at] = is_known ? greatest + 1 : 0;
      }
      path.pop_back();
    }
    return right_.at(id);
  }

  void repair_generations() {
    std::vector<std::pair<int64_t, std::string>> wrong;  // parents first
    for (const auto& [id, known] : commits_) {
      const int64_t right = generation_of(id);
      if (right > 0 && right != known.generation) wrong.emplace_back(right, id);
    }
    std::sort(wrong.begin(), wrong.end());
    bool changed = false;
    for (const auto& [right, id] : wrong) {
      const int64_t before = commits_.at(id).generation;
      Finding found =
          finding(FindingKind::kCommitGeneration, generation_text(right), generation_text(before));
      found.commit = to_hex(id);
      changed |= repair(std::move(found), [&, right = right, &id = id] {
        return store_.set_generation(repository_.id, id, before, right);
      });
      alive_();
    }
    if (!changed || mode_ != RepairMode::kApply) return;
    store_.forget_commits();
    engine_.commits.forget_all();
  }

  /// Whether the node has this hash, so that a branch may show it.
  bool is_root(const TreeRoot& tree) {
    if (tree.empty()) return true;
    const std::vector<Nid> nids = {tree.nid};
    const db::Rows rows = read_.nodes(nids);
    if (rows.empty() ||
        rows.integer(0, NodeColumn::kRepoId) != static_cast<int64_t>(repository_.id))
      return false;
    try {
      return tree::hash_of_body({repository_.salt}, rows.bytes(0, NodeColumn::kBody)) == tree.hash;
    } catch (const Error&) {
      return false;
    }
  }

  void repair_branches() {
    for (const BranchToVerify& branch : read_.branches(repository_.id)) {
      alive_();
      const auto head = commits_.find(branch.head);
      if (head == commits_.end() || !head->second.is_intact) continue;
      const TreeRoot& tree = head->second.tree;
      if (tree.hash == branch.root.hash && tree.nid == branch.root.nid) continue;
      if (!is_root(tree)) continue;
      Finding found =
          finding(FindingKind::kBranchRoot, text_of_tree(tree), text_of_tree(branch.root));
      found.commit = to_hex(branch.head);
      found.refs = {branch.name};
      repair(std::move(found), [&] { return store_.set_branch_root(branch, tree); });
    }
  }

  /// "" if the summary is that of its range.
  std::string problem_of(const StoredSummary& summary, const db::Rows& nodes,
                         const std::map<Nid, size_t>& row_of) {
    const auto row = row_of.find(summary.nid);
    if (row == row_of.end()) return "there is no such range";
    std::unique_ptr<const tree::LeafNode> range;
    try {
      if (nodes.integer(row->second, NodeColumn::kLevel) != 0) return "the node is no range";
      range = std::make_unique<tree::LeafNode>(
          tree::unpack_body(nodes.bytes(row->second, NodeColumn::kBody)));
    } catch (const Error&) {
      return "";  // the node is damaged, not the summary
    }
    try {
      if (!search::RangeSummary::decode(summary.body)) return "";  // of another version
    } catch (const Error& error) {
      return error.message();
    }
    return search::RangeSummary::of(*range).encode() == summary.body
               ? ""
               : "it is not what the range contains";
  }

  void repair_summaries() {
    for (Nid after = 0;;) {
      const auto page = store_.summaries(repository_.id, after);
      if (page.empty()) return;
      after = page.back().nid;
      std::vector<Nid> nids;
      for (const StoredSummary& summary : page) nids.push_back(summary.nid);
      const db::Rows nodes = read_.nodes(nids);
      std::map<Nid, size_t> row_of;
      for (size_t row = 0; row < nodes.size(); ++row)
        row_of[nodes.integer(row, NodeColumn::kNid)] = row;
      for (const StoredSummary& summary : page) {
        const std::string problem = problem_of(summary, nodes, row_of);
        if (problem.empty()) continue;
        Finding found = finding(FindingKind::kRangeSummary, "no row; it is made again", problem);
        found.address = str_cat("summary of node ", summary.nid);
        repair(std::move(found), [&] { return store_.delete_summary(repository_.id, summary); });
      }
      alive_();
    }
  }

  std::string problem_of(const StoredSstable& sstable) {
    const std::vector<Nid> nids = {sstable.nid};
    const db::Rows rows = read_.nodes(nids);
    if (rows.empty()) return "there is no such node";
    if (rows.bytes(0, NodeColumn::kHash) != sstable.hash) return "the node has another hash";
    if (sstable.file.empty()) return "";
    const blob::Located at =
        engine_.stores.locate(str_cat(repository_.storage_namespace, "/", sstable.file));
    return at.store->stat(at.key) ? "" : "the store has no such file";
  }

  void repair_sstables() {
    StoredSstable after;
    after.kind = -1;  // before all
    for (;;) {
      const auto page = store_.sstables(repository_.id, after);
      if (page.empty()) return;
      after = page.back();
      for (const StoredSstable& sstable : page) {
        alive_();
        const std::string problem = problem_of(sstable);
        if (problem.empty()) continue;
        Finding found = finding(FindingKind::kSstable, "no row; it is made again", problem);
        found.address = str_cat("SSTable of node ", sstable.nid);
        repair(std::move(found), [&] { return store_.delete_sstable(repository_.id, sstable); });
      }
    }
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const RepairMode mode_;
  const std::function<void()>& alive_;
  VerifyStore read_;
  RepairStore store_;
  std::unordered_map<std::string, Known> commits_;
  std::unordered_map<std::string, int64_t> right_;  ///< generations; 0 = cannot be known
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> repair_repository(branch::Engine& engine, const Repository& repository,
                                       RepairMode mode, const std::function<void()>& alive) {
  if (mode == RepairMode::kNone) return {};
  return Repairs(engine, repository, mode, alive).run();
}

}  // namespace tarn::verify
