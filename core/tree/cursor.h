// Walking a tree in key order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/node.h"

namespace tarn::tree {

/// Entry of one key; nullopt when absent.
std::optional<Entry> find_entry(NodeSource& source, const TreeRoot& root, std::string_view key);

/// Number of entries and sum of sizes of the keys in [begin, end), from the counts in inner nodes;
/// end "" = no end.
struct Totals {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};
Totals count_range(NodeSource& source, const TreeRoot& root, std::string_view begin,
                   std::string_view end);

/// A position in an immutable tree. Reads ahead the next siblings on long scans. One thread at a
/// time.
class Cursor {
 public:
  Cursor(NodeSource& source, const TreeRoot& root);
  ~Cursor();
  Cursor(Cursor&&) noexcept;

  /// To the first key >= `key`. Seeking forward past a whole prefix reads only the nodes on the new
  /// path.
  void seek(std::string_view key);
  bool valid() const;
  /// Both need valid().
  const std::string& key() const;
  Entry entry() const;
  void next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::tree
