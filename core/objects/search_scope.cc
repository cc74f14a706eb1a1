#include "core/objects/search_scope.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/ref_globs.h"
#include "core/model/ref_expression.h"

namespace tarn::objects {
namespace {

/// `check` throws for an invalid name.
SearchNames split(std::span<const std::string> words, std::string_view what,
                  void (*check)(const std::string&)) {
  if (words.empty() || words.size() > kSearchWordsMax)
    throw_invalid(str_cat("search: give 1 to ", kSearchWordsMax, " ", what));
  SearchNames out;
  for (const std::string& word : words) {
    if (branch::is_glob_of_branches(word)) {
      out.globs.emplace_back(word);
    } else {
      check(word);
      out.names.insert(word);
    }
  }
  return out;
}

}  // namespace

bool SearchNames::has_glob_of(std::string_view name) const {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const Glob& glob) { return glob.matches(name); });
}

SearchNames searched_repositories(std::span<const std::string> words) {
  return split(words, "repositories", [](const std::string& word) { parse_repository_name(word); });
}

SearchNames searched_refs(std::span<const std::string> words) {
  return split(words, "refs", [](const std::string& word) { parse_ref(word); });
}

bool SearchScope::has_repository(const RepositoryName& repository) const {
  return repositories.has_name(repository.str()) ||
         (repositories.has_glob_of(repository.str()) && shows_repository(repository));
}

bool SearchScope::has_ref(const RepositoryName& repository, std::string_view ref) const {
  const bool named = refs.has_name(ref);
  const bool found =
      !named && is_branch_name(ref) && refs.has_glob_of(ref) && shows_branches(repository);
  return (named || found) && shows_ref(repository, ref);
}

}  // namespace tarn::objects
