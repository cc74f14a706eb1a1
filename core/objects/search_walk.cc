#include "core/objects/search_walk.h"

#include <algorithm>
#include <utility>

#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"

namespace tarn::objects {
namespace {

/// The common prefix of all wanted names.
std::string prefix_of(const SearchNames& names) {
  return names.names.empty() && names.globs.size() == 1 ? names.globs[0].prefix() : "";
}

/// Hidden branches match only globs that start with literal text.
bool finds(const std::vector<Glob>& globs, const Branch& branch) {
  return std::any_of(globs.begin(), globs.end(), [&](const Glob& glob) {
    return (!branch.hidden || !glob.prefix().empty()) && glob.matches(branch.name.str());
  });
}

std::vector<std::string> names_after(const std::set<std::string>& names, const std::string& after) {
  return {std::make_reverse_iterator(names.end()),
          std::make_reverse_iterator(names.upper_bound(after))};
}

}  // namespace

SearchWalk::SearchWalk(branch::Engine& engine, const SearchScope& scope, SearchBudget& budget,
                       Place position, bool ref_done)
    : engine_(engine), scope_(scope), budget_(budget), position_(std::move(position)) {
  for (const std::string& name : scope_.repositories.names)
    branch::get_repository(engine_, RepositoryName(name));
  repositories_after_ = position_.repository;
  if (!position_.ref.empty()) resume(ref_done);
}

void SearchWalk::resume(bool ref_done) {
  if (!is_repository_name(position_.repository)) return;
  const RepositoryName name(position_.repository);
  if (!scope_.has_repository(name)) return;
  auto repository = engine_.repositories.find(name);
  if (!repository) return;
  open(*std::move(repository), position_.ref);
  if (!ref_done && scope_.has_ref(name, position_.ref))
    resumed_ = ref_of(position_.ref, std::move(position_.path));
  position_.path.clear();
}

SearchWalk::Ref SearchWalk::ref_of(std::string ref, std::string after) const {
  const bool required =
      scope_.repositories.has_name(open_->name.str()) && scope_.refs.has_name(ref);
  return {open_->name, std::move(ref), std::move(after), required};
}

bool SearchWalk::pauses() {
  paused_ = moved_ && budget_.spent_on_refs();
  return paused_;
}

std::optional<SearchWalk::Ref> SearchWalk::next() {
  if (resumed_) {
    moved_ = true;
    return std::exchange(resumed_, std::nullopt);
  }
  while (!pauses() && (open_ || open_next_repository())) {
    auto ref = next_ref();
    if (paused_) break;
    if (!ref) {
      close();
    } else if (scope_.shows_ref(open_->name, *ref)) {
      position_ = {open_->name.str(), *ref};
      moved_ = true;
      return ref_of(*std::move(ref), "");
    }
  }
  return std::nullopt;
}

void SearchWalk::close() {
  position_ = {open_->name.str()};
  moved_ = true;
  open_.reset();
}

void SearchWalk::load_repositories() {
  const SearchNames& wanted = scope_.repositories;
  if (wanted.globs.empty()) {
    for (const std::string& name : names_after(wanted.names, repositories_after_))
      repositories_.push_back(branch::get_repository(engine_, RepositoryName(name)));
    more_repositories_ = false;
    return;
  }
  auto page = branch::list_repositories(
      engine_, prefix_of(wanted), "", repositories_after_, kPageItemsMax,
      [&](const Repository& repository) { return scope_.has_repository(repository.name); });
  repositories_ = {std::make_move_iterator(page.items.rbegin()),
                   std::make_move_iterator(page.items.rend())};
  more_repositories_ = page.has_more;
  repositories_after_ = page.next;
}

bool SearchWalk::open_next_repository() {
  if (repositories_.empty() && more_repositories_) load_repositories();
  if (repositories_.empty()) return false;
  Repository next = std::move(repositories_.back());
  repositories_.pop_back();
  open(std::move(next), "");
  return true;
}

void SearchWalk::open(Repository repository, std::string after_ref) {
  ++budget_.cost.repositories_seen;
  named_ = names_after(scope_.refs.names, after_ref);
  branches_.clear();
  more_branches_ = !scope_.refs.globs.empty() && scope_.shows_branches(repository.name);
  branches_after_ = std::move(after_ref);
  open_ = std::move(repository);
}

/// In order, without duplicates; nullopt: none is left, or the walk is paused.
std::optional<std::string> SearchWalk::next_ref() {
  while (branches_.empty() && more_branches_) {
    if (!named_.empty() && named_.back() <= branches_after_) break;
    load_branches();
    if (!branches_.empty()) break;
    // Named refs come first: the names up to here are done once those before them are.
    if (more_branches_ && (named_.empty() || named_.back() > branches_after_)) {
      position_ = {open_->name.str(), branches_after_};
      moved_ = true;
      if (pauses()) return std::nullopt;
    }
  }
  const bool branch = !branches_.empty() && (named_.empty() || branches_.back() <= named_.back());
  if (!branch && named_.empty()) return std::nullopt;
  std::vector<std::string>& from = branch ? branches_ : named_;
  std::string out = std::move(from.back());
  from.pop_back();
  if (branch && !named_.empty() && named_.back() == out) named_.pop_back();
  return out;
}

void SearchWalk::load_branches() {
  const std::vector<Glob>& globs = scope_.refs.globs;
  const bool hidden = std::any_of(globs.begin(), globs.end(),
                                  [](const Glob& glob) { return !glob.prefix().empty(); });
  const auto page = engine_.branches.list(open_->id, prefix_of(scope_.refs), branches_after_,
                                          kPageItemsMax, hidden);
  for (auto branch = page.items.rbegin(); branch != page.items.rend(); ++branch) {
    if (finds(globs, *branch)) branches_.push_back(branch->name.str());
  }
  more_branches_ = page.has_more;
  if (!page.items.empty()) branches_after_ = page.items.back().name.str();
}

}  // namespace tarn::objects
