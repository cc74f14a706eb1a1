#include "core/objects/search_refs.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/objects/objects.h"
#include "core/objects/search.h"
#include "core/objects/search_place.h"
#include "core/objects/search_token.h"
#include "core/objects/search_walk.h"

namespace tarn::objects {
namespace {

/// The first matches in an order, of many that come in any order. Memory is bounded by `most`
/// entries and kPageBytesMax. `order` must outlive it. One thread at a time.
class SearchSelection {
 public:
  /// Selects matches after `above`, up to and including `up_to`.
  SearchSelection(const search::SortOrder& order, uint32_t most, std::optional<SortedPlace> above,
                  std::optional<SortedPlace> up_to);

  void offer(Place place, Entry entry);
  /// Drops all but the first ones.
  void keep(size_t count);

  size_t size() const { return kept_.size(); }
  std::vector<SortedPlace> places() const;
  /// The last place that may be selected: matches after it were dropped. Absent if none were.
  const std::optional<SortedPlace>& up_to() const { return up_to_; }
  /// In order; it is empty afterwards.
  std::vector<FoundAtPlace> take();

 private:
  const InSortOrder before_;
  const search::SortOrder& order_;
  const uint32_t most_;
  const std::optional<SortedPlace> above_;
  std::optional<SortedPlace> up_to_;
  std::map<SortedPlace, Entry, InSortOrder> kept_;
  size_t bytes_ = 0;  // of kept_
};

size_t bytes_of(const Place& place, const Entry& entry) {
  return place.repository.size() + place.ref.size() + place.path.size() + tarn::bytes_of(entry);
}

SearchSelection::SearchSelection(const search::SortOrder& order, uint32_t most,
                                 std::optional<SortedPlace> above, std::optional<SortedPlace> up_to)
    : before_{order},
      order_(order),
      most_(most),
      above_(std::move(above)),
      up_to_(std::move(up_to)),
      kept_(before_) {}

void SearchSelection::offer(Place place, Entry entry) {
  SortedPlace at{order_.rank_of(search::Subject(place.path, entry)), std::move(place)};
  if (above_ && !before_(*above_, at)) return;
  if (up_to_ && before_(*up_to_, at)) return;
  const auto [place_of_it, is_new] = kept_.try_emplace(std::move(at));
  if (!is_new) bytes_ -= bytes_of(place_of_it->first.place, place_of_it->second);
  place_of_it->second = std::move(entry);
  bytes_ += bytes_of(place_of_it->first.place, place_of_it->second);
  if (kept_.size() > most_) keep(most_);
  while (bytes_ > kPageBytesMax && kept_.size() > 1) keep(kept_.size() - 1);
}

void SearchSelection::keep(size_t count) {
  if (kept_.size() <= count) return;
  const auto first = std::next(kept_.begin(), static_cast<std::ptrdiff_t>(count));
  for (auto at = first; at != kept_.end(); ++at) bytes_ -= bytes_of(at->first.place, at->second);
  kept_.erase(first, kept_.end());
  up_to_ = kept_.rbegin()->first;
}

std::vector<SortedPlace> SearchSelection::places() const {
  std::vector<SortedPlace> out;
  for (const auto& [at, entry] : kept_) out.push_back(at);
  return out;
}

std::vector<FoundAtPlace> SearchSelection::take() {
  std::vector<FoundAtPlace> out;
  while (!kept_.empty()) {
    auto node = kept_.extract(kept_.begin());
    out.push_back({std::move(node.key().place), std::move(node.mapped())});
  }
  return out;
}

using Take = std::function<bool(Place place, Entry entry)>;

std::function<bool(std::string_view)> shown_at(const SearchScope& scope,
                                               const RepositoryName& repository,
                                               const std::string& ref) {
  if (!scope.shows_object) return {};
  return [&](std::string_view path) { return scope.shows_object(repository, ref, path); };
}

/// Whether the error means that a ref is gone or invalid in its repository, for refs that a glob
/// found.
bool may_be_absent(const Error& error, bool required) {
  return !required &&
         (error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kInvalidArgument);
}

ScanEnd scan(branch::Engine& engine, const SearchScope& scope, const RefsSearch& search,
             const SearchWalk::Ref& at, SearchBudget& budget, const Take& take) {
  const ScanPlan plan{
      .query = search.query, .after = at.after, .shows = shown_at(scope, at.repository, at.ref)};
  try {
    return scan_ref(engine, at.repository, at.ref, plan, budget,
                    [&](const std::string& path, Entry entry) {
                      return take({at.repository.str(), at.ref, path}, std::move(entry));
                    });
  } catch (const Error& error) {
    if (!may_be_absent(error, at.required)) throw;
    return {.complete = true};
  }
}

/// Scans from the token on. Returns the token to continue from; nullopt at the end.
std::optional<SearchToken> scan_on(branch::Engine& engine, const SearchScope& scope,
                                   const RefsSearch& search, const SearchToken& from,
                                   const Take& take) {
  SearchBudget budget(search.limits);
  SearchWalk walk(engine, scope, budget, from.position, from.ref_done);
  while (const auto at = walk.next()) {
    const ScanEnd end = scan(engine, scope, search, *at, budget, take);
    if (!end.complete) {
      return SearchToken{.question = search.question,
                         .position = {at->repository.str(), at->ref, end.seen_through}};
    }
    ++budget.cost.refs_seen;
  }
  if (!walk.paused()) return std::nullopt;
  return SearchToken{.question = search.question, .position = walk.position(), .ref_done = true};
}

Page<FoundAtPlace> in_order_of_places(branch::Engine& engine, const SearchScope& scope,
                                      const RefsSearch& search, const SearchToken& from) {
  Page<FoundAtPlace> out{.ended_by_bytes = true};
  size_t bytes = 0;
  const auto on = scan_on(engine, scope, search, from, [&](Place place, Entry entry) {
    bytes += bytes_of(place, entry);
    out.items.push_back({std::move(place), std::move(entry)});
    return out.items.size() < search.limit && bytes < kPageBytesMax;
  });
  out.has_more = on.has_value();
  if (on) out.next = on->encode();
  return out;
}

/// The current state of a candidate of an earlier request, if the caller may still see it.
std::optional<Entry> candidate(branch::Engine& engine, const SearchScope& scope,
                               const search::Query& query, const Place& place) {
  if (!is_repository_name(place.repository)) return std::nullopt;
  const RepositoryName repository(place.repository);
  if (!scope.has_repository(repository) || !scope.has_ref(repository, place.ref) ||
      (scope.shows_object && !scope.shows_object(repository, place.ref, place.path))) {
    return std::nullopt;
  }
  try {
    auto found = find_object(engine, repository, place.ref, parse_key(place.path));
    if (!found || !query.matches_path(place.path) || !query.matches_entry(found->entry) ||
        !query.matches_where(place.path, found->entry)) {
      return std::nullopt;
    }
    return std::move(found->entry);
  } catch (const Error& error) {
    if (!may_be_absent(error, /*required=*/false)) throw;
    return std::nullopt;
  }
}

/// The token of a paused search: the selection, cut to the token's size limit, and the position.
std::string paused(SearchSelection& selection, SearchToken on, std::optional<SortedPlace> above) {
  on.above = std::move(above);
  size_t bytes = 0;
  size_t count = 0;
  for (const SortedPlace& at : selection.places()) {
    const Place& place = at.place;
    bytes += kSortedPlaceBytes + place.repository.size() + place.ref.size() + place.path.size();
    if (count > 0 && bytes > kSearchTokenBytesMax) break;
    ++count;
  }
  selection.keep(count);
  on.up_to = selection.up_to();
  on.candidates = selection.places();
  return on.encode();
}

Page<FoundAtPlace> sorted(branch::Engine& engine, const SearchScope& scope,
                          const RefsSearch& search, const SearchToken& from) {
  SearchSelection selection(*search.sort, search.limit, from.above, from.up_to);
  for (const SortedPlace& at : from.candidates) {
    auto entry = candidate(engine, scope, search.query, at.place);
    if (entry) selection.offer(at.place, *std::move(entry));
  }
  auto on = scan_on(engine, scope, search, from, [&](Place place, Entry entry) {
    selection.offer(std::move(place), std::move(entry));
    return true;
  });
  Page<FoundAtPlace> out{.ended_by_bytes = true};
  if (on) {
    out.has_more = true;
    out.next = paused(selection, *std::move(on), from.above);
    return out;
  }
  if (const auto& up_to = selection.up_to()) {
    out.has_more = true;
    out.next = SearchToken{.question = search.question, .above = up_to}.encode();
  }
  out.items = selection.take();
  return out;
}

}  // namespace

Page<FoundAtPlace> search_refs(branch::Engine& engine, const SearchScope& scope,
                               const RefsSearch& search) {
  check_asks_for_something(search.query);
  const SearchToken from =
      search.after.empty() ? SearchToken{} : SearchToken::decode(search.after, search.question);
  return search.sort ? sorted(engine, scope, search, from)
                     : in_order_of_places(engine, scope, search, from);
}

}  // namespace tarn::objects
