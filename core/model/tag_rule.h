// Rules that protect tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"

namespace tarn {

constexpr size_t kTagRulesMax = 256;  ///< of one repository

/// A rule for tags whose names match; of several rules that match each must permit a change.
struct TagRule {
  Glob pattern;
  bool may_create = true;
  bool may_delete = true;

  bool operator==(const TagRule&) const = default;
};

/// The form in the database.
std::string encode_tag_rules(const std::vector<TagRule>& rules);
/// Throws: data_loss.
std::vector<TagRule> decode_tag_rules(std::string_view bytes);

}  // namespace tarn
