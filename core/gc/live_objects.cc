#include "core/gc/live_objects.h"

#include <algorithm>
#include <cstring>

namespace tarn::gc {
namespace {

constexpr size_t kUnsortedMax = size_t{4} << 20;

}  // namespace

uint64_t print_of(const OwnAddress& address) {
  uint64_t print = 0;
  for (size_t i = 4; i < 12; ++i) print = print << 8 | address.id[i];
  return print;
}

void LiveObjects::add_own(const Address& address) {
  if (const auto* own = std::get_if<OwnAddress>(&address)) {
    add(*own);
  } else if (const auto* list = std::get_if<PartListAddress>(&address)) {
    part_lists_.insert(list->id);
  } else {
    add_foreign(address);
  }
}

void LiveObjects::add_foreign(const Address& address) {
  const auto* foreign = std::get_if<ForeignAddress>(&address);
  if (foreign != nullptr && foreign->repository == repository_) add(foreign->own);
}

void LiveObjects::add_parts(const meta::PartList& parts, RepositoryId owner) {
  for (const meta::StoredPart& part : parts) {
    if (part.owner.value_or(owner) == repository_) add(part.address);
  }
}

void LiveObjects::add(const OwnAddress& address) {
  prints_.push_back(print_of(address));
  if (prints_.size() - sorted_ >= kUnsortedMax) compact();
}

void LiveObjects::compact() {
  const auto middle = prints_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(middle, prints_.end());
  std::inplace_merge(prints_.begin(), middle, prints_.end());
  prints_.erase(std::unique(prints_.begin(), prints_.end()), prints_.end());
  sorted_ = prints_.size();
}

void LiveObjects::finish() { compact(); }

bool LiveObjects::contains(const OwnAddress& address) const {
  return std::binary_search(prints_.begin(), prints_.end(), print_of(address));
}

}  // namespace tarn::gc
