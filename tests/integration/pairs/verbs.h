// The verbs of the table: how each is called, and its effect in the model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/pairs/scenario.h"

namespace tarn::pairs {

/// Prefix of the commit, with its history, in the result of a verb that made one.
inline constexpr const char* kCommitted = "committed ";

/// One row. A verb is in the table if all_verbs() returns it.
struct Verb {
  std::string name;
  /// Creates objects that the verb needs in addition to the scenario's; runs before everything
  /// else, for the first verb first.
  std::function<void(Scenario&, Role)> set_up;
  /// Calls the verb and returns its result: a text, or the id of the commit that it made. Throws
  /// errors.
  std::function<std::string(Scenario&, testing::TestEngine&, Role)> act;
  /// The possible effects of the verb on a state: mostly one. `source` is the same state or an
  /// earlier one, in which the verb resolved refs that it only reads; verbs whose `act` reads only
  /// what it changes ignore it.
  std::function<std::vector<Step>(const World& world, const World& source, Scenario&, Role)> model;
  bool reads_refs =
      false;  ///< `source` may be earlier than `world`: of what it reads, or fails for
  /// The verb stages changes and holds nothing: together with one that seals them, it may be
  /// observed first and count as the later one.
  bool stages = false;
  /// The verb decides its effect when it seals the staging area, and is observed when it publishes.
  bool seals = false;
  /// Performs the program's background work: ends what a lost worker left. May be empty.
  std::function<void(Scenario&, testing::TestEngine&)> settle{};
  /// The result after settle(), in place of that of `act`. May be empty.
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
/// Verbs about gates and promotions, from kSide to main.
std::vector<Verb> promotion_verbs();

}  // namespace tarn::pairs
