#include "core/branch/overlay.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/branch/repositories.h"
#include "core/meta/read_leases.h"
#include "core/meta/repositories.h"

namespace tarn::branch {
namespace {

constexpr uint32_t kMoreRowsPerPage = 2'000;
constexpr uint32_t kFrozenRowsPerPage = 10'000;

std::string just_after(const std::string& key) { return key + '\0'; }

/// The entries of the sealed tokens.
StagedRows frozen_rows(Engine& engine, const meta::BranchLease& lease) {
  if (lease.sealed.empty()) return {};
  meta::StagedPage nothing_read;
  nothing_read.complete = false;
  if (lease.has_ranges) nothing_read.deletes = engine.staging.delete_ranges(lease.sealed);
  auto fetch = [&engine, tokens = lease.sealed, has_ranges = lease.has_ranges,
                deletes = nothing_read.deletes](std::string_view from) {
    meta::StagedPage page;
    std::string begin(from);
    page.rows = engine.staging.drain(tokens, has_ranges, &begin, kFrozenRowsPerPage);
    page.deletes = deletes;
    page.complete = begin.empty();
    if (!page.complete) page.rows_end = begin.substr(0, begin.size() - 1);
    return page;
  };
  return {std::move(nothing_read), std::move(fetch)};
}

}  // namespace

const std::vector<meta::StagedRow>& StagedRows::rows() const {
  return leased_ ? leased_->rows : page_.rows;
}

const std::vector<meta::StagedRange>& StagedRows::deletes() const {
  return leased_ ? leased_->deletes : page_.deletes;
}

void StagedRows::seek(std::string_view key) {
  const bool past_page = !page_.complete && key > page_.rows_end;
  if (past_page) {
    if (!fetch_) {
      ran_out_ = true;
      at_ = rows().size();
      return;
    }
    page_ = fetch_(key);
    at_ = 0;
    return;
  }
  const auto at = std::ranges::lower_bound(rows(), key, {}, &meta::StagedRow::key);
  at_ = static_cast<size_t>(at - rows().begin());
}

const meta::StagedRow* StagedRows::current() {
  while (at_ == rows().size()) {
    if (page_.complete) return nullptr;
    if (!fetch_) {
      ran_out_ = true;
      return nullptr;
    }
    page_ = fetch_(just_after(page_.rows_end));
    at_ = 0;
  }
  return &rows()[at_];
}

const meta::StagedRange* StagedRows::hiding(std::string_view key) const {
  for (const meta::StagedRange& range : deletes()) {
    if (range.begin <= key && (range.end.empty() || key < range.end)) return &range;
  }
  return nullptr;
}

OverlayCursor::OverlayCursor(tree::NodeSource& nodes, const TreeRoot& root, StagedRows rows,
                             tree::LeafFilter* filter)
    : tree_(nodes, root, filter), rows_(std::move(rows)) {}

void OverlayCursor::seek(std::string_view key) {
  tree_.seek(key);
  rows_.seek(key);
  settle();
}

void OverlayCursor::settle() {
  for (;;) {
    bool tree_valid = tree_.valid();
    if (tree_valid) {
      if (const meta::StagedRange* range = rows_.hiding(tree_.key())) {
        if (!range->end.empty()) {
          tree_.seek(range->end);
          continue;
        }
        tree_valid = false;
      }
    }
    const meta::StagedRow* row = rows_.current();
    if (row == nullptr || (tree_valid && tree_.key() < row->key)) {
      valid_ = tree_valid;
      on_row_ = false;
      return;
    }
    const bool same_key = tree_valid && tree_.key() == row->key;
    if (row->entry) {
      if (same_key) tree_.next();
      valid_ = true;
      on_row_ = true;
      return;
    }
    if (deletions_left_ && (*deletions_left_)-- == 0) {
      stopped_at_ = row->key;
      valid_ = false;
      return;
    }
    if (same_key) tree_.next();
    rows_.next();
  }
}

const std::string& OverlayCursor::key() const {
  return on_row_ ? rows_.current()->key : tree_.key();
}

Entry OverlayCursor::entry() const { return on_row_ ? *rows_.current()->entry : tree_.entry(); }

Entry OverlayCursor::take_entry() { return on_row_ ? rows_.take_entry() : tree_.entry(); }

void OverlayCursor::next() {
  if (on_row_) {
    rows_.next();
  } else {
    tree_.next();
  }
  settle();
}

OverlayCursor frozen_view(Engine& engine, const meta::BranchLease& lease) {
  return {engine.nodes, lease.root, frozen_rows(engine, lease)};
}

std::unique_ptr<RefSnapshot> RefSnapshot::open(Engine& engine, const RepositoryName& repository,
                                               std::string_view ref, std::string_view begin,
                                               ReadingPlan plan, uint32_t prefix_digits_min) {
  std::unique_ptr<RefSnapshot> out(new RefSnapshot);
  // A full commit id is also a legal branch name; the commit wins.
  const bool may_be_branch = is_branch_name(ref) && !parse_commit_id(ref);
  if (may_be_branch && plan.reading != StagedReading::kSnapshot &&
      out->open_leased(engine, repository, BranchName(std::string(ref)))) {
    return out;
  }
  // Branches go in the transaction that deletes their repository. One found under the cached id, in
  // a statement that compares the name, therefore proves that the name still has this id.
  const auto known = may_be_branch ? engine.repositories.known(repository) : std::nullopt;
  if (known) {
    out->repository_ = *known;
    if (out->open_branch(engine, BranchName(std::string(ref)), begin, plan, repository)) return out;
  }
  out->repository_ = get_repository(engine, repository);
  const bool looked = known && known->id == out->repository_.id;
  if (may_be_branch && !looked &&
      out->open_branch(engine, BranchName(std::string(ref)), begin, plan)) {
    return out;
  }
  const ResolvedRef resolved = resolve(engine, out->repository_, ref, prefix_digits_min);
  if (resolved.staged && out->open_branch(engine, resolved.branch->name, begin, plan)) return out;
  out->root_ = resolved.commit.root;
  out->commit_ = resolved.commit.id;
  out->nodes_ = &engine.nodes;
  return out;
}

/// From memory, if this server may read the branch so now.
bool RefSnapshot::open_leased(Engine& engine, const RepositoryName& repository,
                              const BranchName& branch) {
  auto leased = engine.read_leases.find(repository, branch);
  if (!leased) return false;
  repository_ = engine.repositories.get(leased->repository);
  root_ = leased->branch.root;
  branch_ = leased->branch.id;
  nodes_ = &engine.nodes;
  rows_ = StagedRows(std::move(leased));
  return true;
}

bool RefSnapshot::open_branch(Engine& engine, const BranchName& branch, std::string_view begin,
                              ReadingPlan plan, const std::optional<RepositoryName>& name) {
  db::Pool::Lease lease = engine.pool.lease();
  db::Connection* const connection = &*lease;
  const RepositoryId repo = repository_.id;
  auto page = engine.staging.page(*connection, repo, branch, begin, plan.rows_hint, name);
  if (!page) return false;
  const bool more_wanted = plan.reading == StagedReading::kSnapshot ||
                           (!page->complete && plan.reading == StagedReading::kAll);
  if (more_wanted || page->has_ranges) {
    // One statement does not suffice, so everything is read again in one snapshot.
    connection->begin_snapshot();
    page = engine.staging.page(*connection, repo, branch, begin, plan.rows_hint, name);
    if (!page) {
      connection->rollback();
      return false;
    }
    in_transaction_ = true;
  }
  engine.read_leases.count(repository_.name, branch);
  root_ = page->branch.root;
  branch_ = page->branch.id;
  StagedRows::Fetch fetch;
  if (in_transaction_) {
    meta::Staging* const staging = &engine.staging;
    fetch = [staging, connection, repo, branch](std::string_view from) {
      auto more = staging->page(*connection, repo, branch, from, kMoreRowsPerPage);
      TARN_CHECK(more.has_value());  // the snapshot still shows the branch
      return *std::move(more);
    };
  }
  rows_ = StagedRows(*std::move(page), std::move(fetch));
  lease_.emplace(std::move(lease));
  through_ = std::make_unique<meta::NodesThrough>(engine.nodes, connection);
  nodes_ = through_.get();
  return true;
}

RefSnapshot::~RefSnapshot() {
  if (in_transaction_ && lease_) (*lease_)->rollback();
}

}  // namespace tarn::branch
