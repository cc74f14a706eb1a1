// Messages for lists without items.
#pragma once

#include <string_view>

namespace tarn::cli {

/// "no branches yet: ..." with what to do next, for a kind of list; "" if its command has a message
/// of its own.
std::string_view empty_list_message(std::string_view kind);

}  // namespace tarn::cli
