// A search query: conditions that must all hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/glob.h"
#include "core/base/time.h"
#include "core/model/entry.h"
#include "core/search/expression.h"

namespace tarn::search {

// Items: properties that an entry has and a query may require, each as a 64-bit hash. The hashes
// are part of the stored form of range summaries.

using Item = uint64_t;

/// The parts that every path with `text` in it has: every three consecutive bytes. `at_end`: that
/// ends in it, and its last two bytes with an end mark.
void add_text_items(std::string_view text, bool at_end, std::vector<Item>& out);

/// Distinct items of many entries. One thread at a time.
class ItemSet {
 public:
  ItemSet();

  void add(Item item);
  /// All parts of the path. Its first `known` bytes also begin the path that was added before.
  void add_path(std::string_view path, size_t known);
  /// Each once, in the order in which they came.
  const std::vector<Item>& items() const { return items_; }

 private:
  void grow();
  /// False where it was free and now holds `item`, which is not 0.
  static bool find_or_put(std::vector<Item>& slots, Item item);

  std::vector<Item> items_;
  std::vector<Item> slots_;  ///< a power of two, open addressing; 0 = free
  bool has_zero_ = false;
  /// Trigrams that were added lately, so that most of them are not hashed; 0 = none.
  std::array<uint32_t, 1024> lately_{};
  std::optional<uint64_t> last_tail_;  ///< the last bytes of the path that was added before
};

Item content_type_item(std::string_view type);
/// The item of "image" for all of image/*.
Item content_class_item(std::string_view name);
Item metadata_key_item(std::string_view key);
Item metadata_pair_item(std::string_view key, std::string_view value);
Item tag_key_item(std::string_view key);
Item tag_pair_item(std::string_view key, std::string_view value);

/// Most metadata conditions of one query.
constexpr size_t kMetadataConditionsMax = 32;

struct MetadataCondition {
  std::string key;
  std::optional<std::string> value;  ///< absent = any
};

struct Where {
  explicit Where(Expression conditions)
      : expression(std::move(conditions)), prefix(expression.prefix()) {}

  Expression expression;
  std::string prefix;  ///< of every match's path
};

/// Absent conditions hold for every entry.
struct Query {
  std::string prefix;
  std::optional<Glob> glob;  ///< over the whole path
  std::optional<uint64_t> size_min_bytes;
  std::optional<uint64_t> size_max_bytes;
  std::optional<Instant> modified_from;    ///< at or after
  std::optional<Instant> modified_before;  ///< before
  std::string content_type;                ///< as shown, or "image/*"
  std::vector<MetadataCondition> metadata;
  std::optional<Where> where;

  /// Nothing is requested: every entry matches.
  bool empty() const;
  /// The common beginning of the paths of all matches.
  const std::string& key_prefix() const;
  bool matches_path(std::string_view path) const;
  /// All but the conditions on the path, and `where`.
  bool matches_entry(const Entry& entry) const;
  bool matches_where(std::string_view path, const Entry& entry) const;
};

/// The requirements on a range that may hold a match, computed from a query once.
struct Requirement {
  Requirement() = default;
  /// `where` aside, which is core/search/sieve.h's.
  explicit Requirement(const Query& query);

  uint64_t size_min_bytes = 0;
  uint64_t size_max_bytes = UINT64_MAX;
  int64_t mtime_min_ms = INT64_MIN;  ///< both inclusive
  int64_t mtime_max_ms = INT64_MAX;
  std::vector<Item> items;  ///< all of them

  /// Every range meets it.
  bool empty() const;
};

/// Items of the literals that matching paths hold, but for the first `from` of them.
void add_glob_items(const Glob& glob, size_t from, std::vector<Item>& out);
/// Adds the items of a content type or "image/*".
void add_type_item(std::string_view type, std::vector<Item>& out);

}  // namespace tarn::search
