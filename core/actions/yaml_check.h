// Limits on the YAML of an action file, checked before a tree is made of it.
#pragma once

#include <string>

namespace tarn::actions {

/// Checks for one document without anchors and aliases, so that the parsed tree is no larger than
/// its text, with at most kActionValuesMax values nested at most kActionNestingMax deep. Throws
/// invalid_argument "line N: ..." and YAML::Exception.
void check_yaml(const std::string& text);

}  // namespace tarn::actions
