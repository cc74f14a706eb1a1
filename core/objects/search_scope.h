// The scope of a search: its repositories and refs.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/model/names.h"

namespace tarn::objects {

/// Maximum number of words for repositories, and for refs.
constexpr size_t kSearchWordsMax = 16;

/// Things that are named and things that globs find.
struct SearchNames {
  std::set<std::string> names;
  std::vector<Glob> globs;

  bool has_name(std::string_view name) const { return names.count(std::string(name)) != 0; }
  bool has_glob_of(std::string_view name) const;
};

/// A word with one of *?[{ is a glob. Throws invalid_argument: a bad glob, name or ref; no word, or
/// more than kSearchWordsMax.
SearchNames searched_repositories(std::span<const std::string> words);
SearchNames searched_refs(std::span<const std::string> words);

/// The functions decide what the caller may see. A hidden name is omitted as if no glob matched it;
/// the caller of the search must have refused explicitly named ones.
struct SearchScope {
  SearchNames repositories;
  SearchNames refs;  ///< globs are of branches, hidden ones only when they begin with a text
  /// A filter of repositories that a glob found.
  std::function<bool(const RepositoryName&)> shows_repository;
  /// Whether a glob may list the branches of the repository.
  std::function<bool(const RepositoryName&)> shows_branches;
  std::function<bool(const RepositoryName&, std::string_view ref)> shows_ref;
  /// Absent = every object of a ref that is shown.
  std::function<bool(const RepositoryName&, std::string_view ref, std::string_view path)>
      shows_object{};

  bool has_repository(const RepositoryName& repository) const;
  bool has_ref(const RepositoryName& repository, std::string_view ref) const;
};

}  // namespace tarn::objects
