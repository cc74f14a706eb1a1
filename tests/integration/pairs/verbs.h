// The verbs of the table: how each is called, and what the model says that it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/pairs/scenario.h"

namespace tarn::pairs {

/// In front of the commit, with its history, that a verb says to have made.
inline constexpr const char* kCommitted = "committed ";

/// One row. A verb joins the table by being one of all_verbs().
struct Verb {
  std::string name;
  /// Makes what the verb works on, beside the scenario's own; run before anything else, for the
  /// first verb first.
  std::function<void(Scenario&, Role)> set_up;
  /// Calls the verb and returns what it answered: some words, or the id of the commit that it made.
  /// An error is thrown.
  std::function<std::string(Scenario&, testing::TestEngine&, Role)> act;
  /// The possible effects of the verb on a state: mostly one step. `source` is the state, the same
  /// or an earlier one, in which the verb looked up refs that it only reads; a verb whose `act`
  /// looks at nothing but what it changes ignores it.
  std::function<std::vector<Step>(const World& world, const World& source, Scenario&, Role)> model;
  bool reads_refs =
      false;  ///< `source` may be earlier than `world`: of what it reads, or fails for
  /// It stages changes and holds nothing: beside one that seals it may be seen first and count as
  /// the later.
  bool stages = false;
  /// It decides what it does when it seals the staging area, and is seen when it publishes.
  bool seals = false;
  /// Does what the program's background would: ends what a lost worker left. May be empty.
  std::function<void(Scenario&, testing::TestEngine&)> settle{};
  /// The answer once all is settled, in place of that of `act`. May be empty.
  std::function<std::string(Scenario&, Role)> answer{};
};

const std::vector<Verb>& all_verbs();

// The verbs of each file NAME_verbs.cc.
std::vector<Verb> object_verbs();
std::vector<Verb> upload_verbs();
std::vector<Verb> commit_verbs();
std::vector<Verb> merge_verbs();
std::vector<Verb> tree_verbs();
std::vector<Verb> ref_verbs();
/// Around gates and promotions, from kSide to main.
std::vector<Verb> promotion_verbs();

}  // namespace tarn::pairs
