// A walk over the refs of a search's scope.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/objects/search_place.h"
#include "core/objects/search_scan.h"
#include "core/objects/search_scope.h"

namespace tarn::objects {

/// In the order of repositories and, in each, of refs. `scope` and `budget` must outlive it. One
/// thread at a time.
class SearchWalk {
 public:
  struct Ref {
    RepositoryName repository;
    std::string ref;
    std::string after{};    ///< its paths up to here were examined
    bool required = false;  ///< repository and ref are named: an error when they are not there
  };

  /// Starts at the position, or after its ref if that is done. Throws not_found for a named
  /// repository that does not exist.
  SearchWalk(branch::Engine& engine, const SearchScope& scope, SearchBudget& budget, Place position,
             bool ref_done);

  /// nullopt if none is left or the budget is spent. The first call always makes progress.
  std::optional<Ref> next();
  /// The budget ended the walk: all up to position() was passed. The position names nothing that
  /// the caller may not list.
  bool paused() const { return paused_; }
  const Place& position() const { return position_; }

 private:
  bool pauses();
  void resume(bool ref_done);
  void load_repositories();
  bool open_next_repository();
  void open(Repository repository, std::string after_ref);
  void close();
  std::optional<std::string> next_ref();
  void load_branches();
  Ref ref_of(std::string ref, std::string after) const;

  branch::Engine& engine_;
  const SearchScope& scope_;
  SearchBudget& budget_;
  Place position_;
  bool moved_ = false;  ///< the position has
  bool paused_ = false;
  std::optional<Ref> resumed_;
  std::vector<Repository> repositories_;  ///< to come, the last one first
  std::string repositories_after_;
  bool more_repositories_ = true;
  std::optional<Repository> open_;
  std::vector<std::string> named_;     ///< refs of the open repository, the last one first
  std::vector<std::string> branches_;  ///< likewise, of globs
  std::string branches_after_;
  bool more_branches_ = false;
};

}  // namespace tarn::objects
