// Permission checks inside verbs: rights that depend on the change, and rights that background work
// needs again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/model/names.h"

namespace tarn::branch {

enum class Right : uint8_t {
  kWriteHooks,  ///< on the repository: change files below kActionFilesPrefix
  kPromote,     ///< on the branch
  kApprovePromotion,
  kRollBack,
  kDeleteBranch,
  kCreateRun,
};

struct RightsQuestion {
  Right right{};
  std::string user{};
  std::string address{};  ///< IP of the user's request; "" = unknown
  RepositoryName repository{};
  std::string branch{};       ///< "" = the right is one on the repository
  bool all_branches = false;  ///< on every branch of the repository
};

/// Whether the user has the right now. Safe from any thread; not inside a transaction.
using Rights = std::function<bool(const RightsQuestion&)>;

}  // namespace tarn::branch
