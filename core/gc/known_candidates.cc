#include "core/gc/known_candidates.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/wire.h"
#include "core/meta/references.h"

namespace tarn::gc {
namespace {

constexpr size_t kOwnAddressBytes = 13;

int64_t list_id(std::string_view key) {
  WireReader in(key, "part list candidate");
  return static_cast<int64_t>(in.u64be());
}

}  // namespace

std::string own_key(const OwnAddress& address) { return meta::candidate_address(address); }

OwnAddress own_address(std::string_view key) {
  OwnAddress out;
  TARN_CHECK(key.size() == out.id.size());
  std::memcpy(out.id.data(), key.data(), key.size());
  return out;
}

KnownCandidates::KnownCandidates(const std::vector<KnownCandidate>& rows) {
  for (const KnownCandidate& row : rows) {
    if (row.address.size() == kOwnAddressBytes) {
      objects[row.address] = &row;
    } else if (row.due) {
      due_lists.push_back(list_id(row.address));
    }
    if (row.address.size() != kOwnAddressBytes) lists.push_back(list_id(row.address));
  }
  std::sort(lists.begin(), lists.end());
  std::sort(due_lists.begin(), due_lists.end());
}

}  // namespace tarn::gc
