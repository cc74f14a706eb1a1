// The model card of a candidate: an object that says what the model is for.
//
// A card is a YAML or JSON document, or a Markdown file whose front matter is one: what stands
// between a first line "---" and the next line "---". A field is a member of the document, or of a
// map in it ("limits.age"), with a value that is not empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

constexpr size_t kModelCardBytesMax = 256 * 1024;

/// Which of the required fields the text lacks. Sets `problem` instead if the text cannot be read,
/// or has a key twice, which readers understand differently.
CardFacts read_card(std::string_view path, const std::string& text,
                    const std::vector<std::string>& required);

/// The card of a commit, as the policy's `card` says.
CardFacts find_card(branch::Engine& engine, const Repository& repository, const CardRules& rules,
                    const TreeRoot& tree);

}  // namespace tarn::promotion
