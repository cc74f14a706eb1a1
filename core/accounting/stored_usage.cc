#include "core/accounting/stored_usage.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/accounting/references.h"
#include "core/accounting/usage_store.h"
#include "core/base/digest.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/waiter_limit.h"
#include "core/branch/overlay.h"
#include "core/branch/refs.h"
#include "core/db/pool.h"
#include "core/model/ref_expression.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/nid_set.h"
#include "core/tree/node.h"

namespace tarn::accounting {
namespace {

// Walks over the nodes of many trees that read leaves only where their entries are needed.

/// Nodes of a number of trees: about two bytes for each, and eight more for each leaf.
struct ReachedNodes {
  tree::NidSet all;
  std::vector<Nid> leaves;
};

using OnLeaf = std::function<void(Nid nid, const tree::LeafNode& leaf)>;
constexpr size_t kNodesPerRead = 128;  // some 2 MB

/// Nodes that are still to be read, the last ones first.
std::vector<Nid> take_batch(std::vector<Nid>& waiting, const tree::NidSet* except,
                            tree::NidSet& seen) {
  std::vector<Nid> batch;
  while (!waiting.empty() && batch.size() < kNodesPerRead) {
    const Nid nid = waiting.back();
    waiting.pop_back();
    if (except != nullptr && except->contains(nid)) continue;
    if (seen.insert(nid)) batch.push_back(nid);
  }
  return batch;
}

/// The children with keys in the range.
void add_children(const tree::InnerNode& node, std::string_view begin, std::string_view end,
                  std::vector<Nid>& out) {
  for (uint32_t i = node.lower_bound(begin); i < node.count(); ++i) {
    out.push_back(node.nid(i));
    if (!end.empty() && node.last_key(i) >= end) break;
  }
}

/// Adds the nodes below `roots` to `reached`, without those below a node that `except` has. Reads
/// inner nodes and roots only, each once. Throws what `source` throws.
void reach(tree::NodeSource& source, std::span<const Nid> roots, const tree::NidSet* except,
           ReachedNodes& reached) {
  std::vector<Nid> waiting(roots.begin(), roots.end());
  while (!waiting.empty()) {
    const std::vector<Nid> batch = take_batch(waiting, except, reached.all);
    if (batch.empty()) continue;
    const auto nodes = source.load(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto* inner = dynamic_cast<const tree::InnerNode*>(nodes[i].get());
      if (inner == nullptr) {
        reached.leaves.push_back(batch[i]);
        continue;
      }
      for (uint32_t child = 0; child < inner->count(); ++child) {
        const Nid nid = inner->nid(child);
        if (inner->level() > 1) {
          if (!reached.all.contains(nid)) waiting.push_back(nid);
        } else if (except == nullptr || !except->contains(nid)) {
          if (reached.all.insert(nid)) reached.leaves.push_back(nid);
        }
      }
    }
  }
}

/// Leaves of one tree that may have keys in [begin, end), in key order; end "" = no end.
std::vector<Nid> leaves_between(tree::NodeSource& source, Nid root, std::string_view begin,
                                std::string_view end) {
  if (root == 0) return {};
  std::vector<Nid> level{root};
  for (uint8_t height = source.load(root)->level(); height > 0; --height) {
    std::vector<Nid> below;
    for (size_t first = 0; first < level.size(); first += kNodesPerRead) {
      const size_t count = std::min(kNodesPerRead, level.size() - first);
      for (const auto& node : source.load(std::span<const Nid>(level).subspan(first, count))) {
        add_children(dynamic_cast<const tree::InnerNode&>(*node), begin, end, below);
      }
    }
    level = std::move(below);
  }
  return level;
}

/// Reads the leaves in their order, many at a time.
void read_leaves(tree::NodeSource& source, std::span<const Nid> leaves, const OnLeaf& on_leaf) {
  for (size_t first = 0; first < leaves.size(); first += kNodesPerRead) {
    const auto batch = leaves.subspan(first, std::min(kNodesPerRead, leaves.size() - first));
    const auto nodes = source.load(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      on_leaf(batch[i], dynamic_cast<const tree::LeafNode&>(*nodes[i]));
    }
  }
}

using branch::StagedRows;

constexpr uint32_t kRowsPerPage = 2'000;

/// Everything that refers to objects of one repository: trees, and rows of branches.
struct Roots {
  std::vector<Nid> trees;
  std::vector<BranchId> branches;
};

/// The ref that is measured. Neither `row` nor `commit`: the repository.
struct Scope {
  std::optional<RefRow> row{};
  std::optional<CommitId> commit{};

  bool is_branch() const { return row && row->kind == RefRow::Kind::kBranch; }
};

/// The meaning of a ref's text, before the snapshot.
struct Named {
  std::optional<CommitId> commit{};
  std::optional<RefRow::Kind> kind{};
  std::string name{};
};

Named named(branch::Engine& engine, const Repository& repository, std::string_view ref) {
  if (ref.empty()) return {};
  const branch::ResolvedRef resolved = branch::resolve(engine, repository, ref);
  if (resolved.staged) {
    return {.commit = {}, .kind = RefRow::Kind::kBranch, .name = resolved.branch->name.str()};
  }
  Named out{.commit = resolved.commit.id};
  const RefExpression expression = parse_ref(ref);
  if (!expression.modifiers.empty() || resolved.branch) return out;
  const bool alias = expression.base.starts_with('@');
  out.kind = alias ? RefRow::Kind::kAlias : RefRow::Kind::kTag;
  out.name = alias ? expression.base.substr(1) : expression.base;
  return out;
}

class Measurement {
 public:
  Measurement(branch::Engine& engine, db::Connection& connection, const Repository& repository,
              const Named& named)
      : engine_(engine),
        connection_(connection),
        repository_(repository),
        store_(connection),
        nodes_(connection),
        refs_(store_.refs(repository.id)),
        scope_(scope_of(named)) {}

  StoredUsage run(std::string_view prefix) {
    if (!scope_.commit) {
      Tally tally(repository_.id);
      add_repository(tally);
      return {tally.own(), {}, tally.foreign(), tally.imported()};
    }
    const Roots others = other_roots();
    ReachedNodes kept;
    reach(nodes_, others.trees, nullptr, kept);
    Tally shown(repository_.id), deleted(repository_.id);
    add_view(prefix, kept, shown);
    const bool deletes = scope_.row && prefix.empty();
    if (deletes) add_deleted(kept, deleted);
    shown.seal();
    deleted.seal();
    mark(others.branches, kept, {&shown, &deleted});
    StoredUsage usage{shown.own(), shown.marked(), shown.foreign(), shown.imported()};
    if (deletes) {
      mark_copies(deleted);
      usage.freed = deleted.unmarked();
    }
    return usage;
  }

  /// Adds and seals all objects of the repository.
  void add_repository(Tally& tally) {
    ReachedNodes reached;
    reach(nodes_, store_.roots_of_all(repository_.id, std::nullopt), nullptr, reached);
    References references(store_, repository_.id, tally);
    add_leaves(reached.leaves, references);
    for (const RefRow& row : refs_) add_rows(row.branch, references);
    references.flush();
    tally.seal();
  }

 private:
  Scope scope_of(const Named& named) const {
    for (const RefRow& row : refs_) {
      if (named.kind == row.kind && named.name == row.name) return {row, row.commit};
    }
    if (named.kind == RefRow::Kind::kBranch) {
      throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
    }
    return {std::nullopt, named.commit};
  }

  /// Commits and branches that remain without the scope.
  Roots other_roots() {
    Roots out;
    std::vector<CommitId> heads;
    for (const RefRow& row : refs_) {
      if (scope_.row && row.kind == scope_.row->kind && row.name == scope_.row->name) continue;
      heads.push_back(row.commit);
      if (row.kind == RefRow::Kind::kBranch) out.branches.push_back(row.branch);
    }
    out.trees = scope_.row ? store_.roots_below(repository_.id, heads)
                           : store_.roots_of_all(repository_.id, scope_.commit);
    return out;
  }

  /// The objects that the scope shows; those in leaves that are kept are marked at once.
  void add_view(std::string_view prefix, const ReachedNodes& kept, Tally& tally) {
    References references(store_, repository_.id, tally);
    StagedRows rows;
    Nid root = 0;
    if (scope_.is_branch()) {
      rows = staged_rows(prefix, root);
    } else {
      root = store_.root_of(repository_.id, *scope_.commit).value_or(0);
    }
    const std::string end = prefix_end(prefix);
    rows.seek(prefix);
    read_leaves(nodes_, leaves_between(nodes_, root, prefix, end),
                [&](Nid nid, const tree::LeafNode& leaf) {
                  add_visible(leaf, prefix, rows, kept.all.contains(nid), references);
                });
    for (; rows.current() != nullptr && rows.current()->key.starts_with(prefix); rows.next()) {
      if (rows.current()->entry) references.add(*rows.current()->entry, false);
    }
    references.flush();
  }

  static void add_visible(const tree::LeafNode& leaf, std::string_view prefix, StagedRows& rows,
                          bool marked, References& references) {
    tree::KeyScan scan(leaf.keys(), leaf.lower_bound(prefix));
    for (; scan.index() < leaf.count() && scan.key().starts_with(prefix); scan.next()) {
      const std::string& key = scan.key();
      for (; rows.current() != nullptr && rows.current()->key < key; rows.next()) {
        if (rows.current()->entry) references.add(*rows.current()->entry, false);
      }
      const bool replaced = rows.current() != nullptr && rows.current()->key == key;
      if (replaced || rows.hiding(key) != nullptr) continue;
      references.add(leaf.fields(scan.index()), marked);
    }
  }

  /// The staged rows of the scope's branch from `begin` on, and the root of its tree.
  StagedRows staged_rows(std::string_view begin, Nid& root) {
    const BranchName branch(scope_.row->name);
    const auto fetch = [this, branch](std::string_view from) {
      auto page = engine_.staging.page(connection_, repository_.id, branch, from, kRowsPerPage);
      TARN_CHECK(page.has_value());  // the snapshot still shows the branch
      return *std::move(page);
    };
    meta::StagedPage first = fetch(begin);
    root = first.branch.root.nid;
    return {std::move(first), fetch};
  }

  /// Adds all that goes with the ref, but for leaves that are kept.
  void add_deleted(const ReachedNodes& kept, Tally& tally) {
    References references(store_, repository_.id, tally);
    ReachedNodes reached;
    const std::vector<CommitId> head{*scope_.commit};
    reach(nodes_, store_.roots_below(repository_.id, head), &kept.all, reached);
    add_leaves(reached.leaves, references);
    if (scope_.is_branch()) add_rows(scope_.row->branch, references);
    references.flush();
  }

  void mark(const std::vector<BranchId>& branches, const ReachedNodes& kept,
            std::vector<Tally*> tallies) {
    const auto done = [](const Tally* tally) { return tally->unmarked() == Amount{}; };
    if (std::all_of(tallies.begin(), tallies.end(), done)) return;
    Marker marker(repository_.id, std::move(tallies));
    References references(store_, repository_.id, marker);
    add_leaves(kept.leaves, references);
    for (const BranchId branch : branches) add_rows(branch, references);
    references.flush();
  }

  /// Marks what repositories that copied from this one still refer to.
  void mark_copies(Tally& tally) {
    if (tally.unmarked() == Amount{}) return;
    Marker marker(repository_.id, {&tally});
    for (const RepositoryId reader : store_.readers(repository_.id)) {
      References references(store_, reader, marker);
      const std::vector<RefRow> refs = store_.refs(reader);
      std::vector<CommitId> heads;
      for (const RefRow& row : refs) heads.push_back(row.commit);
      ReachedNodes reached;
      reach(nodes_, store_.roots_below(reader, heads), nullptr, reached);
      add_leaves(reached.leaves, references);
      for (const RefRow& row : refs) add_rows(row.branch, references);
      references.flush();
    }
  }

  void add_leaves(const std::vector<Nid>& leaves, References& references) {
    read_leaves(nodes_, leaves, [&](Nid, const tree::LeafNode& leaf) {
      for (uint32_t i = 0; i < leaf.count(); ++i) references.add(leaf.fields(i), false);
    });
  }

  /// The rows of a branch; none for other refs, which have no id.
  void add_rows(BranchId branch, References& references) {
    if (branch == BranchId{}) return;
    const auto add_entry = [&](std::string_view bytes) {
      references.add(decode_entry(bytes), false);
    };
    store_.staged_entries(branch, add_entry);
    store_.versions(branch, add_entry);
    store_.upload_parts(branch,
                        [&](std::string_view bytes) { references.add_parts(bytes, false); });
  }

  branch::Engine& engine_;
  db::Connection& connection_;
  const Repository& repository_;
  UsageStore store_;
  ScannedNodes nodes_;
  const std::vector<RefRow> refs_;
  const Scope scope_;
};

/// A snapshot until the end of the scope.
class Snapshot {
 public:
  explicit Snapshot(db::Pool& pool) : lease_(pool.lease()) { lease_->begin_snapshot(); }
  ~Snapshot() { lease_->rollback(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  db::Connection& connection() { return *lease_; }

 private:
  db::Pool::Lease lease_;
};

WaiterLimit& running() {
  static WaiterLimit limit(kStoredUsagesMax);
  return limit;
}

}  // namespace

namespace {

void require_admission(const WaiterLimit::Waiter& run) {
  if (run.admitted) return;
  throw Error(ErrorCode::kUnavailable, reason::kTooManyOperations,
              str_cat("computing stored sizes: ", kStoredUsagesMax,
                      " such computations run already, try again later"));
}

}  // namespace

void examine_stored(branch::Engine& engine, const Repository& repository,
                    const std::function<void(db::Connection&, Tally&)>& examine) {
  const WaiterLimit::Waiter run(running());
  require_admission(run);
  Snapshot snapshot(engine.pool);
  Tally stored(repository.id);
  Measurement(engine, snapshot.connection(), repository, {}).add_repository(stored);
  examine(snapshot.connection(), stored);
}

StoredUsage stored_usage(branch::Engine& engine, const Repository& repository, std::string_view ref,
                         std::string_view prefix) {
  const WaiterLimit::Waiter run(running());
  require_admission(run);
  const Named what = named(engine, repository, ref);
  Snapshot snapshot(engine.pool);
  return Measurement(engine, snapshot.connection(), repository, what).run(prefix);
}

namespace {

Amount amount_of(const auto& totals) { return {totals.objects, totals.bytes}; }

}  // namespace

void Tally::stored(RepositoryId owner, const OwnAddress& address, uint64_t size_bytes,
                   bool marked) {
  if (owner == repository_) return own_.add(address.id, size_bytes, marked);
  std::array<uint8_t, 17> key{};
  std::memcpy(key.data(), &owner, sizeof(owner));
  std::memcpy(key.data() + sizeof(owner), address.id.data(), address.id.size());
  foreign_.add(key, size_bytes, marked);
}

void Tally::imported(std::string_view head, std::string_view tail, uint64_t size_bytes,
                     bool marked) {
  Digest digest(DigestAlgorithm::kSha256);
  digest.update(head);
  digest.update(tail);
  std::array<uint8_t, 16> key{};
  std::memcpy(key.data(), digest.finish().data(), key.size());
  imported_.add(key, size_bytes, marked);
}

void Tally::seal() {
  own_.seal();
  foreign_.seal();
  imported_.seal();
}

Amount Tally::own() const { return amount_of(own_.all()); }
Amount Tally::marked() const { return amount_of(own_.marked()); }
Amount Tally::foreign() const { return amount_of(foreign_.all()); }
Amount Tally::imported() const { return amount_of(imported_.all()); }

Amount Tally::unmarked() const {
  const Amount all = own();
  const Amount kept = marked();
  return {all.objects - kept.objects, all.bytes - kept.bytes};
}

}  // namespace tarn::accounting
