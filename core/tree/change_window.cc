#include "core/tree/change_window.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::tree {

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
    ranges_.push_back(std::move(buffer_.front().range));
    buffer_.pop_front();
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
  while (!ranges_.empty() && !ranges_.front().end.empty() && ranges_.front().end <= after) {
    ranges_.pop_front();
  }
  if (ranges_.empty() || ranges_.front().begin > up_to) return Cover::kNothing;
  const RangeDelete& range = ranges_.front();
  // The first key that may follow `after` is `after` and a zero byte.
  const bool from_start = range.begin <= after || (range.begin.size() == after.size() + 1 &&
                                                   range.begin.starts_with(after) &&
                                                   range.begin.back() == '\0');
  const bool to_end = range.end.empty() || range.end > up_to;
  return from_start && to_end ? Cover::kAll : Cover::kSome;
}

}  // namespace tarn::tree
