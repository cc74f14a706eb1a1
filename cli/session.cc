#include "cli/session.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

void Session::confirm(std::string_view question, bool yes) {
  if (yes) return;
  if (!terminal.may_prompt) throw usage_error(str_cat(question, " Nobody to ask here: add --yes"));
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return;
  throw Error(ErrorCode::kInvalidArgument, kReasonInterrupted,
              "not confirmed; nothing was changed");
}

Json metadata_from(const std::vector<std::string>& words) {
  Json map = Json::object();
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error(str_cat("reading metadata \"", word, "\": expected key=value"));
    }
    map[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return map;
}

}  // namespace tarn::cli
