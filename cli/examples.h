// Examples of commands, for their help.
#pragma once

#include <optional>
#include <string_view>

namespace tarn::cli {

/// A command line to copy for `command` ("tarn repo create"); nullopt for groups. examples_test.cc
/// parses them all.
std::optional<std::string_view> example_of(std::string_view command);

}  // namespace tarn::cli
