#include "core/actions/grants.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/model/names.h"

namespace tarn::actions {
namespace {

constexpr std::string_view kEvery = "*";

/// Calls `take` with each piece between separators.
template <typename Take>
void split(std::string_view text, char separator, Take take) {
  for (;;) {
    const size_t at = text.find(separator);
    take(trimmed(text.substr(0, at), " "));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

Grants::Grants(std::string_view text) {
  split(text, ';', [this](std::string_view piece) {
    if (piece.empty()) return;
    const size_t equals = piece.find('=');
    const std::string_view name = trimmed(piece.substr(0, equals), " ");
    if (equals == std::string_view::npos || name.empty()) {
      throw_invalid(str_cat("\"", piece, "\": NAME=REPOSITORY,REPOSITORY or NAME=* was expected"));
    }
    split(piece.substr(equals + 1), ',', [&](std::string_view repository) {
      if (repository != kEvery) parse_repository_name(repository);
      given_[std::string(name)].emplace(repository);
    });
  });
}

bool Grants::gives(std::string_view name, std::string_view repository) const {
  const auto at = given_.find(name);
  return at != given_.end() && (at->second.contains(repository) || at->second.contains(kEvery));
}

}  // namespace tarn::actions
