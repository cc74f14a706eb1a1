// Logical sizes of refs: objects and bytes as a listing shows them, without a listing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/accounting/usage.h"
#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::accounting {

/// Objects and bytes below `prefix` ("" = all) at the ref; of a branch with its staged changes, at
/// one moment. The committed part comes from the counts in inner nodes and costs a few of them;
/// each staged change below the prefix costs a look at the tree. Throws not_found (the ref),
/// invalid_argument (its grammar). Holds one connection for a branch.
Amount logical_size(branch::Engine& engine, const Repository& repository, std::string_view ref,
                    std::string_view prefix);

/// The first-level prefixes below `prefix` and the objects directly in it, in byte order after the
/// path `after`, each with its size; at most `limit`, from 1 to kPageItemsMax. One state per page.
/// A prefix costs as much as logical_size, whatever is below it.
Page<UsageItem> usage_by_prefix(branch::Engine& engine, const Repository& repository,
                                std::string_view ref, std::string_view prefix,
                                std::string_view after, uint32_t limit);

/// The branches after the name `after` with their logical sizes, by name; hidden ones too. Each is
/// of a moment of its own; a branch that is deleted meanwhile is left out.
Page<UsageItem> usage_by_branch(branch::Engine& engine, const Repository& repository,
                                std::string_view after, uint32_t limit);

}  // namespace tarn::accounting
