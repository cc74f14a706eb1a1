// A listing of a branch's versions: two cursors in one snapshot, over the branch's state and over
// the kept versions.
#include "core/objects/version_listing.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/overlay.h"
#include "core/branch/stage.h"
#include "core/meta/object_versions.h"
#include "core/objects/objects.h"

namespace tarn::objects {
namespace {

constexpr uint32_t kRowsPerFetch = 1000;
constexpr uint32_t kStagedRowsHint = 256;
constexpr std::string_view kNull = "null";

/// The kept versions of keys below `end`, in order. Must be used inside a snapshot.
class VersionRows {
 public:
  VersionRows(db::Connection& connection, BranchId branch, std::string end)
      : connection_(connection), branch_(branch), end_(std::move(end)) {}

  void seek(const meta::ObjectVersionPlace& place) {
    // If the current page already contains the key, only advances in it.
    const auto at = std::find_if(
        rows_.begin() + static_cast<ptrdiff_t>(at_), rows_.end(), [&](const auto& row) {
          return row.key > place.key || (row.key == place.key && !place.skips_key);
        });
    if (place.after == 0 && at != rows_.end()) {
      at_ = static_cast<size_t>(at - rows_.begin());
      return;
    }
    fetch(place);
  }
  const meta::ObjectVersionRow* current() {
    if (at_ == rows_.size() && more_) {
      const meta::ObjectVersionRow last = rows_.back();
      fetch({last.key, last.number});
    }
    return at_ == rows_.size() ? nullptr : &rows_[at_];
  }
  void next() { ++at_; }

 private:
  void fetch(const meta::ObjectVersionPlace& place) {
    rows_ = meta::ObjectVersions::page(connection_, branch_, place, end_, kRowsPerFetch);
    more_ = rows_.size() == kRowsPerFetch;
    at_ = 0;
  }

  db::Connection& connection_;
  const BranchId branch_;
  const std::string end_;
  std::vector<meta::ObjectVersionRow> rows_;
  size_t at_ = 0;
  bool more_ = false;
};

class Listing {
 public:
  Listing(branch::RefSnapshot& snapshot, const VersionListOptions& options)
      : options_(options),
        branch_(snapshot.branch()),
        connection_(*snapshot.connection()),
        shown_(snapshot.nodes(), snapshot.root(), snapshot.take_rows()),
        kept_(connection_, branch_, prefix_end(options.prefix)) {
    shown_.limit_deletions(kListedDeletionsMax);
  }

  VersionPage run() {
    if (!begin()) return {};
    while (!page_.has_more) {
      const std::optional<std::string> key = next_key();
      if (!key) break;
      if (const auto group = group_of(*key)) {
        if (!add({*group, std::nullopt})) break;
        const std::string behind = prefix_end(*group);
        if (behind.empty()) break;
        seek(behind);
      } else {
        add_versions(*key);
      }
    }
    return std::move(page_);
  }

 private:
  /// Returns false if nothing can follow.
  bool begin() {
    const VersionMarker& after = options_.after;
    if (after.path.empty() || after.path < options_.prefix) {
      seek(options_.prefix);
      return true;
    }
    if (const auto group = group_of(after.path); group && *group == after.path) {
      const std::string behind = prefix_end(after.path);
      if (!behind.empty()) seek(behind);
      return !behind.empty();
    }
    if (after.id.empty()) {
      seek(after.path + '\0');
    } else {
      seek(after.path);
      resumes_ = true;
    }
    return true;
  }

  void seek(const std::string& key) {
    shown_.seek(key);
    kept_.seek({key});
  }

  std::optional<std::string> next_key() {
    const meta::ObjectVersionRow* row = kept_.current();
    const bool has_shown = shown_.valid() && shown_.key().starts_with(options_.prefix);
    const bool has_row = row != nullptr && row->key.starts_with(options_.prefix);
    if (!has_shown && shown_.stopped_at() && shown_.stopped_at()->starts_with(options_.prefix) &&
        (!has_row || row->key > *shown_.stopped_at())) {
      page_.has_more = true;
      page_.next = {*shown_.stopped_at(), ""};
      return std::nullopt;
    }
    if (has_shown && has_row) return std::min(shown_.key(), row->key);
    if (has_shown) return shown_.key();
    if (has_row) return row->key;
    return std::nullopt;
  }

  std::optional<std::string> group_of(const std::string& key) const {
    if (options_.delimiter.empty() || key.size() < options_.prefix.size()) return std::nullopt;
    const size_t at = key.find(options_.delimiter, options_.prefix.size());
    if (at == std::string::npos) return std::nullopt;
    return key.substr(0, at + options_.delimiter.size());
  }

  /// Adds all versions of a key that belong to the listing.
  void add_versions(const std::string& key) {
    std::optional<Entry> visible;
    if (shown_.valid() && shown_.key() == key) visible = shown_.entry();
    const meta::ObjectVersionRow* row = kept_.current();
    const bool has_rows = row != nullptr && row->key == key;
    const bool null_shown = has_rows ? !branch::shows(visible, *row) : visible.has_value();
    const int64_t newest = has_rows ? row->number : 0;
    bool goes_on = true;
    if (const auto skipped = resumed(key, null_shown)) {
      if (*skipped != 0) kept_.seek({key, *skipped});
    } else if (null_shown) {
      const Instant created = visible ? visible->mtime : row->created;
      goes_on = add({key, branch::ObjectVersion{key, std::nullopt, visible, true, created}});
    }
    for (row = kept_.current(); goes_on && row != nullptr && row->key == key;
         row = kept_.current()) {
      branch::ObjectVersion version{key, row->version, row->entry,
                                    !null_shown && row->number == newest, row->created};
      if (row->is_null && !null_shown) version.id.reset();
      goes_on = add({key, std::move(version)});
      if (goes_on) kept_.next();
    }
    if (goes_on && shown_.valid() && shown_.key() == key) shown_.next();
  }

  /// The version of the key after which the page starts: 0 = after the null version that is shown;
  /// nullopt: with the first.
  std::optional<int64_t> resumed(const std::string& key, bool null_shown) {
    if (!resumes_ || key != options_.after.path) return std::nullopt;
    resumes_ = false;
    if (options_.after.id == kNull && null_shown) return 0;
    return meta::ObjectVersions::find_number(connection_, branch_, Key(key),
                                             parse_version_id(options_.after.id));
  }

  /// Returns false if the page is full.
  bool add(VersionItem item) {
    if (page_.items.size() < options_.limit) {
      page_.items.push_back(std::move(item));
      return true;
    }
    const VersionItem& last = page_.items.back();
    page_.has_more = true;
    page_.next.path = last.path;
    if (last.version) {
      page_.next.id = last.version->id ? to_text(*last.version->id) : std::string(kNull);
    }
    return false;
  }

  const VersionListOptions& options_;
  const BranchId branch_;
  db::Connection& connection_;
  branch::OverlayCursor shown_;
  VersionRows kept_;
  VersionPage page_;
  bool resumes_ = false;
};

}  // namespace

VersionPage list_versions(branch::Engine& engine, const RepositoryName& repository,
                          const BranchName& branch, const VersionListOptions& options) {
  const std::string& after = options.after.path;
  const auto snapshot =
      branch::RefSnapshot::open(engine, repository, branch.str(), std::max(options.prefix, after),
                                {branch::StagedReading::kSnapshot, kStagedRowsHint}, 64);
  if (snapshot->connection() == nullptr) {
    throw Error(ErrorCode::kNotFound, reason::kBranchNotFound,
                str_cat("branch '", branch.str(), "' not found"));
  }
  return Listing(*snapshot, options).run();
}

}  // namespace tarn::objects
