// Limits on the YAML of an action file, checked before a tree is made of it.
#pragma once

#include <string>

namespace tarn::actions {

/// One document without anchors and aliases, so that what is made of it is no larger than its text,
/// of at most kActionValuesMax values nested at most kActionNestingMax deep. Throws
/// invalid_argument "line N: ..." and YAML::Exception.
void check_yaml(const std::string& text);

}  // namespace tarn::actions
