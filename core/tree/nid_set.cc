#include "core/tree/nid_set.h"

#include <roaring/roaring64map.hh>

namespace tarn::tree {

struct NidSet::Bits {
  Roaring64Map map;
};

NidSet::NidSet() : bits_(std::make_unique<Bits>()) {}
NidSet::~NidSet() = default;
NidSet::NidSet(NidSet&&) noexcept = default;
NidSet& NidSet::operator=(NidSet&&) noexcept = default;

bool NidSet::insert(Nid nid) { return bits_->map.addChecked(static_cast<uint64_t>(nid)); }

bool NidSet::contains(Nid nid) const { return bits_->map.contains(static_cast<uint64_t>(nid)); }

uint64_t NidSet::size() const { return bits_->map.cardinality(); }

}  // namespace tarn::tree
