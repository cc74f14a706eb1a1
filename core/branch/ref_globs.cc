#include "core/branch/ref_globs.h"

#include <set>

#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"

namespace tarn::branch {
namespace {

constexpr std::string_view kGlobCharacters = "*?[{";

/// Collects candidates; their heads are read together at the end.
class Finder {
 public:
  Finder(Engine& engine, const Repository& repository, size_t most, std::string_view except)
      : engine_(engine), repository_(repository), most_(most), except_(except) {}

  void add_word(const std::string& word) {
    if (is_glob_of_branches(word)) {
      add_branches(Glob(word));
    } else {
      add(find_candidate(engine_, repository_, word));
    }
  }

  std::vector<NamedCommit> take() {
    const auto commits = engine_.commits.find_all(repository_.id, heads_);
    for (NamedCommit& one : out_) {
      if (const auto at = commits.find(one.commit.id); at != commits.end()) {
        one.commit = at->second;
      } else {
        one.commit = engine_.commits.get(repository_.id, one.commit.id);
      }
    }
    return std::move(out_);
  }

 private:
  void add_branches(const Glob& glob) {
    bool found = false;
    size_t seen = 0;
    Page<Branch> page;
    do {
      page = engine_.branches.list(repository_.id, glob.prefix(), page.next, kPageItemsMax,
                                   /*show_hidden=*/!glob.prefix().empty());
      seen += page.items.size();
      if (seen > kCandidateBranchesSeenMax)
        refuse(kCandidateBranchesSeenMax, "branches to look at");
      for (const Branch& branch : page.items) {
        if (branch.name.str() == except_ || !glob.matches(branch.name.str())) continue;
        found = true;
        NamedCommit one{.ref = branch.name.str(), .branch = branch.name.str(), .commit = {}};
        one.commit.id = branch.head;
        one.creator = branch.creator;
        one.by_glob = true;
        one.hidden = branch.hidden;
        add(std::move(one));
      }
    } while (page.has_more);
    if (!found) {
      throw Error(ErrorCode::kNotFound, reason::kCandidateNotFound,
                  str_cat("candidates: no branch matches \"", glob.pattern(), "\""));
    }
  }

  void add(NamedCommit one) {
    if (!refs_.insert(one.ref).second) return;
    if (out_.size() >= most_) refuse(most_, "of them");
    heads_.push_back(one.commit.id);
    out_.push_back(std::move(one));
  }

  [[noreturn]] static void refuse(size_t most, std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, reason::kTooManyCandidates,
                str_cat("candidates: there are more than ", most, " ", what,
                        ", name them by a longer pattern"));
  }

  Engine& engine_;
  const Repository& repository_;
  const size_t most_;
  const std::string_view except_;
  std::set<std::string> refs_;
  std::vector<CommitId> heads_;
  std::vector<NamedCommit> out_;
};

}  // namespace

std::vector<NamedCommit> find_candidates(Engine& engine, const Repository& repository,
                                         std::span<const std::string> words, size_t most,
                                         std::string_view except) {
  Finder finder(engine, repository, most, except);
  for (const std::string& word : words) finder.add_word(word);
  return finder.take();
}

bool is_glob_of_branches(std::string_view word) {
  return word.find_first_of(kGlobCharacters) != std::string_view::npos;
}

NamedCommit find_candidate(Engine& engine, const Repository& repository, const std::string& ref) {
  const ResolvedRef found = resolve(engine, repository, ref);
  if (parse_ref(ref).view == RefExpression::View::kStaged) {
    throw_invalid(
        str_cat("reference '", ref, "': reference to staging area with $ is not a commit"));
  }
  // `main~1` starts at a branch but is not its head.
  const bool head = found.branch && found.branch->head == found.commit.id;
  return {.ref = ref, .branch = head ? found.branch->name.str() : "", .commit = found.commit};
}

}  // namespace tarn::branch
