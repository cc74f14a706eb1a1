#include "s3gateway/operations/branch_order.h"

#include <algorithm>

#include "core/model/names.h"

namespace tarn::s3 {
namespace {

/// Whether keys of branch `a` sort before those of branch `b`.
bool before(const std::string& a, const std::string& b) { return a + "/" < b + "/"; }

}  // namespace

BranchOrder::BranchOrder(BranchPages pages, std::string prefix, std::string after,
                         uint32_t page_size)
    : pages_(std::move(pages)),
      prefix_(std::move(prefix)),
      page_size_(page_size),
      scanned_(std::move(after)) {
  hold_back_names_inside(scanned_);
}

/// A name greater than `key` also has keys greater than it. The scan from `key` on misses only
/// names that are prefixes of `key`: the branch that contains it, and names whose next byte in
/// `key` is less than '/'.
void BranchOrder::hold_back_names_inside(std::string_view key) {
  for (size_t length = 1; length <= key.size(); ++length) {
    const std::string_view name = key.substr(0, length);
    if (!is_branch_name(name)) return;
    if (length < key.size() && static_cast<unsigned char>(key[length]) > '/') continue;
    if (!name.starts_with(prefix_)) continue;
    const Page<std::string> page = pages_(name, "", 1);
    if (!page.items.empty() && page.items[0] == name) held_back_.emplace_back(name);
  }
}

const std::string* BranchOrder::peek() {
  if (page_.empty() && !exhausted_) {
    Page<std::string> page = pages_(prefix_, scanned_, page_size_);
    exhausted_ = !page.has_more;
    page_ = std::move(page.items);
    if (!page_.empty()) scanned_ = page_.back();
    std::reverse(page_.begin(), page_.end());
  }
  return page_.empty() ? nullptr : &page_.back();
}

std::optional<std::string> BranchOrder::next() {
  for (;;) {
    const std::string* scanned = peek();
    if (!held_back_.empty() && (!scanned || before(held_back_.back(), *scanned))) {
      std::string name = std::move(held_back_.back());
      held_back_.pop_back();
      return name;
    }
    if (!scanned) return std::nullopt;
    held_back_.push_back(std::move(page_.back()));
    page_.pop_back();
  }
}

}  // namespace tarn::s3
