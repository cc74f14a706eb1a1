// The candidates that earlier collections found, as one collection or plan looks at them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/gc/candidate_store.h"
#include "core/model/address.h"

namespace tarn::gc {

/// The form of the table gc_candidates, and back.
std::string own_key(const OwnAddress& address);
OwnAddress own_address(std::string_view key);

/// Candidates by address, apart from part lists. Refers to `rows`.
struct KnownCandidates {
  explicit KnownCandidates(const std::vector<KnownCandidate>& rows);

  std::map<std::string_view, const KnownCandidate*> objects;
  std::vector<int64_t> lists;
  std::vector<int64_t> due_lists;
};

}  // namespace tarn::gc
