// Items that leave in groups of as many as one statement takes.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace tarn::gc {

constexpr size_t kRowsPerStatement = 1'000;

/// One thread at a time.
template <typename Item>
class Batches {
 public:
  using Send = std::function<void(const std::vector<Item>&)>;
  explicit Batches(Send send, size_t items_max = kRowsPerStatement)
      : send_(std::move(send)), items_max_(items_max) {}
  void add(Item item) {
    items_.push_back(std::move(item));
    if (items_.size() == items_max_) flush();
  }
  void flush() {
    if (!items_.empty()) send_(items_);
    items_.clear();
  }

 private:
  Send send_;
  size_t items_max_;
  std::vector<Item> items_;
};

}  // namespace tarn::gc
