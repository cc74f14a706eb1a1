// Items: properties that an entry has and a query may require, each as a 64-bit hash. The hashes
// are part of the stored form of range summaries.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tarn::search {

using Item = uint64_t;

/// Every three consecutive bytes of a path, and its last two bytes with an end mark.
void add_path_items(std::string_view path, std::vector<Item>& out);
/// The parts that every path with `text` in it has; `at_end`: that ends in it.
void add_text_items(std::string_view text, bool at_end, std::vector<Item>& out);

Item content_type_item(std::string_view type);
/// Of "image" for all of image/*.
Item content_class_item(std::string_view name);
Item metadata_key_item(std::string_view key);
Item metadata_pair_item(std::string_view key, std::string_view value);
Item tag_key_item(std::string_view key);
Item tag_pair_item(std::string_view key, std::string_view value);

}  // namespace tarn::search
