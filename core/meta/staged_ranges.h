// The keys that a set of staged ranges hides. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "core/meta/staging.h"

namespace tarn::meta {

/// The newest range that covers `key`; nullptr if none does.
const StagedRange* newest_covering(const std::vector<StagedRange>& ranges, std::string_view key);

/// The parts of the key space whose newest covering range deletes: disjoint, ascending, adjacent
/// parts joined.
std::vector<StagedRange> effective_deletes(const std::vector<StagedRange>& ranges);

}  // namespace tarn::meta
