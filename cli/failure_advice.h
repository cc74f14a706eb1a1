// Advice for errors of the server: what to do next.
#pragma once

#include <string>
#include <string_view>

#include "cli/settings.h"
#include "core/base/error.h"

namespace tarn::cli {

/// The thing that a path below /api/v1 names: "branch tarn://lake/main"; "" = nothing with a name.
/// `object`: the path of an object, where the request is about one.
std::string subject_of(std::string_view path, std::string_view object = {});

/// The error with what to do next in its message. Of a failed sign-in it says which of key, secret
/// and token the server refused and where that came from. Code and reason stay.
Error with_advice(const Error& error, const Settings& settings);

}  // namespace tarn::cli
