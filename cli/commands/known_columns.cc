#include "cli/commands/known_columns.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/suggestion.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

KnownColumns::KnownColumns(Session& session, const Uri& repository, std::vector<std::string> names)
    : names_(std::move(names)) {
  if (names_.empty()) return;
  const Answer answer = session.client.ask(
      {.path = api_path({"repositories", repository.repository, "run_columns"})});
  // The server lists no more: what is missing may be somewhere.
  constexpr size_t kListedMax = 2000;
  if (answer.ok()) known_ = json_of(answer).value("columns", known_);
  if (!answer.ok() || known_.size() >= kListedMax) names_.clear();
}

void KnownColumns::check() const {
  for (const std::string& name : names_) {
    const bool is_known = std::any_of(known_.begin(), known_.end(), [&](const std::string& known) {
      return known == name || (known.starts_with(name) && known[name.size()] == '@');
    });
    if (!is_known) refuse(name);
  }
}

void KnownColumns::refuse(const std::string& name) const {
  const size_t dot = name.find('.');
  std::vector<std::string> others;
  for (const std::string& known : known_) {
    if (!known.starts_with(name.substr(0, dot + 1))) continue;
    others.push_back(known.substr(dot + 1));
    others.push_back(others.back().substr(0, others.back().find('@')));
  }
  const auto near = closest_word(std::string_view(name).substr(dot + 1), others);
  throw Error(ErrorCode::kNotFound, str_cat("no run and no commit has a ",
                                            name.starts_with("metrics.") ? "metric" : "parameter",
                                            " \"", name.substr(dot + 1), '"',
                                            near ? str_cat("; did you mean \"", *near, "\"?")
                                                 : "; tarn exp ls shows those that there are"));
}

}  // namespace tarn::cli
