// A cursor over a tree in key order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
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

class InnerNode;

/// Says which leaves a cursor need not read. One thread at a time.
class LeafFilter {
 public:
  /// The cursor is to end here.
  static constexpr uint32_t kNoMore = UINT32_MAX;

  virtual ~LeafFilter() = default;
  /// The cursor enters a node of level 1; these follow it below the same parent.
  virtual void entered(std::vector<Nid> /*following*/) {}
  /// The first wanted child of `parent` (of level 1) at or after `index`; its count() if there is
  /// none. Also called for following children, which are then read together.
  virtual uint32_t next_wanted(const InnerNode& parent, uint32_t index) = 0;
};

/// A position in an immutable tree. Reads ahead the next siblings on long scans. One thread at a
/// time.
class Cursor {
 public:
  /// A cursor over a tree. With a filter it skips leaves that the filter excludes. A leaf without a
  /// parent is always read. The filter must outlive the cursor.
  Cursor(NodeSource& source, const TreeRoot& root, LeafFilter* filter = nullptr);
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

/// Calls `visit` for the keys that match a pattern, in order. `seen` counts the keys that were
/// looked at, over several calls; false: it reached `most`, and the rest was not looked at.
bool visit_matches(NodeSource& source, const TreeRoot& root, const Glob& pattern, uint64_t most,
                   uint64_t& seen,
                   const std::function<void(const std::string& key, const Entry& entry)>& visit);

}  // namespace tarn::tree
