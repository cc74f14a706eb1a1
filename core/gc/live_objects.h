// The own objects of one repository that something refers to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/meta/part_lists.h"
#include "core/model/address.h"
#include "core/model/entry.h"
#include "core/tree/nid_set.h"

namespace tarn::gc {

/// 16 bits of the time of the address, in milliseconds, and its 48 random bits.
uint64_t print_of(const OwnAddress& address);

/// Keeps 8 bytes of each address, so of 10^7 objects about 80 MB. Two addresses that agree in these
/// bytes count as one: then an object may stay that nothing refers to, and none goes that something
/// refers to. One thread at a time.
class LiveObjects {
 public:
  explicit LiveObjects(RepositoryId repository) : repository_(repository) {}

  /// The address of an entry of the repository itself.
  void add_own(const Address& address);
  /// The address of an entry of another repository; counts if it is an object of this one.
  void add_foreign(const Address& address);
  /// Parts of a list that `owner` keeps.
  void add_parts(const meta::PartList& parts, RepositoryId owner);

  /// To be called when all were added, before the two below.
  void finish();
  bool contains(const OwnAddress& address) const;
  bool has_part_list(int64_t id) const { return part_lists_.contains(id); }

 private:
  void add(const OwnAddress& address);
  void compact();

  RepositoryId repository_;
  std::vector<uint64_t> prints_;  ///< ascending up to sorted_
  size_t sorted_ = 0;
  tree::NidSet part_lists_;
};

}  // namespace tarn::gc
