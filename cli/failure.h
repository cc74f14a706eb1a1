// Output of an error.
#pragma once

#include <iosfwd>

#include "core/base/error.h"

namespace tarn::cli {

/// "tarn: message" for people; with `json` one object of kind Error, with the exit status in it.
void print_failure(std::ostream& talk, const Error& error, bool json);

}  // namespace tarn::cli
