// Keys of a tree that differ from a path only by case or Unicode normalisation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/cursor.h"
#include "core/tree/node.h"

namespace tarn::promotion {

/// Whether no byte is above 0x7f.
bool is_ascii(std::string_view text);

/// Finds the keys that a file system without regard to case or normalisation takes for a path.
/// Searches by seeking the spellings that the tree may hold, so that the work does not depend on
/// the number of siblings. Compares upper and lower case and the normal forms C and D of each
/// character; a spelling in neither form is found only as the path that is asked for. One thread.
class PathTwins {
 public:
  /// Seeks of one search object; beyond them find() returns nothing more and exhausted() is true.
  static constexpr uint64_t kSeeksMax = 10'000'000;
  /// Spellings of one path or directory that are looked at; beyond them exhausted() is true too.
  static constexpr size_t kSpellingsMax = 100;

  PathTwins(tree::NodeSource& nodes, const TreeRoot& tree) : cursor_(nodes, tree) {}

  /// The keys other than `path` itself, sorted. Fast if calls are in the order of their paths.
  std::vector<std::string> find(const std::string& path);
  bool exhausted() const { return exhausted_; }

 private:
  struct Directory {
    std::string path;                    ///< with a slash at the end
    std::vector<std::string> spellings;  ///< those that exist, each with a slash at the end
  };

  const std::vector<std::string>& spellings_of(std::string_view directory);
  void find_below(const std::string& parent, std::string_view segment,
                  std::vector<std::string>& out);

  /// The first key >= `from`; nullptr if there is none. `remember` that no key lies between.
  const std::string* seek(const std::string& from, bool remember);

  tree::Cursor cursor_;
  std::string gap_begin_;  ///< no key is in [gap_begin_, gap_end_), and gap_end_ is one
  std::string gap_end_;    ///< "" = nothing is known
  std::vector<Directory> directories_;  ///< of the last path, from the root
  uint64_t seeks_ = 0;
  bool exhausted_ = false;
};

}  // namespace tarn::promotion
