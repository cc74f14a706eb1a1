// Output of a list.
#pragma once

#include <functional>
#include <string>

#include "cli/session.h"

namespace tarn::cli {

/// Prints all pages of the list that `request` asks for; `cells` gives one item's column values.
void print_list(Session& session, const Request& request, std::string kind, Cells columns,
                const std::function<Cells(const Json&)>& cells);

}  // namespace tarn::cli
