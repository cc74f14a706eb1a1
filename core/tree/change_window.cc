#include "core/tree/change_window.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::tree {
namespace {

/// Whether no key lies between `after` and `bound`: the first key after `after` is `after` and a
/// zero byte.
bool at_or_before_successor(std::string_view bound, std::string_view after) {
  return bound <= after ||
         (bound.size() == after.size() + 1 && bound.starts_with(after) && bound.back() == '\0');
}

}  // namespace

ChangeWindow::ChangeWindow(ChangeSource& source, std::span<const RangeDelete> ranges,
                           size_t look_ahead)
    : source_(source), look_ahead_(look_ahead) {
  for (const RangeDelete& range : ranges) {
    if (!range.end.empty() && range.end <= range.begin) continue;
    if (!ranges_.empty() && (ranges_.back().end.empty() || range.begin < ranges_.back().end)) {
      throw_invalid("editing a tree: the ranges to delete overlap or do not ascend");
    }
    ranges_.push_back(range);
  }
}

const Change* ChangeWindow::peek() {
  for (;;) {
    if (buffer_.empty()) fill();
    if (buffer_.empty()) return nullptr;
    if (buffer_.front().kind != Change::Kind::kRemoveRange) return &buffer_.front();
    remove(std::move(buffer_.front().range));
    buffer_.pop_front();
  }
}

/// Adjacent ranges become one, which covers larger subtrees.
void ChangeWindow::remove(RangeDelete range) {
  if (!ranges_.empty() && ranges_.back().end == range.begin) {
    ranges_.back().end = std::move(range.end);
  } else {
    ranges_.push_back(std::move(range));
  }
}

void ChangeWindow::pop() { buffer_.pop_front(); }

void ChangeWindow::fill() {
  while (!ended_ && buffer_.size() < look_ahead_) {
    std::optional<Change> change = source_.next();
    if (!change) {
      ended_ = true;
      return;
    }
    if (any_ && change->key <= last_key_) {
      throw_invalid(str_cat("editing a tree: key \"", change->key, "\" does not ascend"));
    }
    if (change->kind != Change::Kind::kRemoveRange &&
        (change->key.empty() || change->key.size() > kKeyBytesMax)) {
      throw_invalid("editing a tree: a key is empty or too long");
    }
    any_ = true;
    last_key_ = change->key;
    buffer_.push_back(std::move(*change));
  }
}

ChangeWindow::Cover ChangeWindow::cover(std::string_view after, std::string_view up_to) {
  while (!ranges_.empty() && !ranges_.front().end.empty() &&
         at_or_before_successor(ranges_.front().end, after)) {
    ranges_.pop_front();
  }
  if (ranges_.empty() || ranges_.front().begin > up_to) return Cover::kNothing;
  const RangeDelete& range = ranges_.front();
  const bool from_start = at_or_before_successor(range.begin, after);
  const bool to_end = range.end.empty() || range.end > up_to;
  return from_start && to_end ? Cover::kAll : Cover::kSome;
}

}  // namespace tarn::tree
