// The changes an editor is about to apply, with some look-ahead so that the nodes they need are
// read together.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/model/entry.h"
#include "core/tree/edit.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Buffers the head of a ChangeSource and keeps the ranges that are being removed. One thread at a
/// time.
class ChangeWindow {
 public:
  /// Reads `look_ahead` changes at a time. `ranges` ascending and disjoint.
  ChangeWindow(ChangeSource& source, std::span<const RangeDelete> ranges, size_t look_ahead);

  /// The next change of a key or subtree; nullptr at the end. Ranges before it move to the ranges.
  /// Throws invalid_argument when keys do not ascend.
  const Change* peek();
  void pop();

  /// The keys in (after, up_to] that the ranges remove.
  enum class Cover { kNothing, kSome, kAll };
  Cover cover(std::string_view after, std::string_view up_to);
  /// Ranges not yet passed, ascending.
  const std::deque<RangeDelete>& ranges() const { return ranges_; }

  /// Buffered changes, ascending; only for deciding what to read ahead.
  const std::deque<Change>& buffered() const { return buffer_; }

 private:
  void fill();
  void remove(RangeDelete range);

  ChangeSource& source_;
  const size_t look_ahead_;
  std::deque<Change> buffer_;
  std::deque<RangeDelete> ranges_;
  std::string last_key_;
  bool any_ = false;
  bool ended_ = false;
};

}  // namespace tarn::tree
