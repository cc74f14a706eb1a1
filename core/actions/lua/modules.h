// Modules in Lua that scripts can require: the files below modules/.
#pragma once

#include <span>
#include <string_view>

namespace tarn::actions::lua {

struct EmbeddedModule {
  std::string_view name;  ///< as scripts require it: "lakefs/catalogexport/hive"
  std::string_view
      text;  ///< its chunk is called with the library of push_delta and returns a table
};
std::span<const EmbeddedModule> embedded_modules();

}  // namespace tarn::actions::lua
