// A set of node addresses, kept as a compressed bitmap (CRoaring).
#pragma once

#include <cstdint>
#include <memory>

#include "core/model/commit.h"

namespace tarn::tree {

/// About two bytes for each sparse address, less for dense ones. One thread at a time.
class NidSet {
 public:
  NidSet();
  ~NidSet();
  NidSet(NidSet&&) noexcept;
  NidSet& operator=(NidSet&&) noexcept;

  /// false: it was there. `nid` must not be negative.
  bool insert(Nid nid);
  bool contains(Nid nid) const;
  uint64_t size() const;

 private:
  struct Bits;
  std::unique_ptr<Bits> bits_;
};

}  // namespace tarn::tree
