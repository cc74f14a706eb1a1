// Items: properties that an entry has and a query may require, each as a 64-bit hash. The hashes
// are part of the stored form of range summaries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tarn::search {

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

}  // namespace tarn::search
