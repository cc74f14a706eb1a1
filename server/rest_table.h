// docs/rest-compatibility.md, generated from the table of routes.
#pragma once

#include <string>

namespace tarn::server {

std::string rest_table_page();

}  // namespace tarn::server
