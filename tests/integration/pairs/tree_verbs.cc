// Verbs that change many objects of a branch: resets, imports, moves, checkout of paths.
#include <algorithm>

#include "core/branch/settings.h"
#include "core/branch/stage.h"
#include "core/imports/import.h"
#include "core/jobs/jobs.h"
#include "core/versioning/checkout.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

constexpr const char* kImported = "data/z";  ///< added by an import, together with kKey

bool has_prefix(const std::string& key, const std::string& prefix) {
  return key.starts_with(prefix);
}

Verb reset_verb(std::string name, void (*act)(Scenario&, TestEngine&), std::string prefix,
                bool one_key) {
  return {.name = std::move(name),
          .set_up = stage_change,
          .act =
              [act](Scenario& s, TestEngine& e, Role) {
                act(s, e);
                return kDone;
              },
          .model =
              [=](const World& w, const World&, Scenario&, Role) {
                return on_work(w, [&](World&, ModelBranch& branch) {
                  std::erase_if(branch.staged, [&](const auto& item) {
                    return one_key ? item.first == prefix : has_prefix(item.first, prefix);
                  });
                  return kDone;
                });
              }};
}

Verb verb_hard_reset() {
  return {.name = "hard reset",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                versioning::hard_reset_branch(*e, s.repository(e), kWorkBranch, to_text(s.first),
                                              false);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario& s, Role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  if (branch.dirty()) return "dirty_branch";
                  branch.staged.clear();
                  branch.head = s.commit(s.first);
                  return kDone;
                });
              },
          .seals = true};
}

constexpr const char* kImportText = "imported k";
constexpr const char* kImportedText = "imported z";

ModelObject imported(const std::string& name, const std::string& text) {
  ModelObject out = Scenario::object(text);
  out.content_type = "application/octet-stream";
  out.url = "local:///lake/import/" + name;
  return out;
}

void start_import(Scenario& s, Role role) {
  const auto source = [&](const char* key, const std::string& text) {
    if (s.observer.store->stat(key)) return;
    const auto writer = s.observer.store->create(key, text.size());
    writer->write(text);
    writer->finish();
  };
  source("import/k", kImportText);
  source("import/z", kImportedText);
  imports::ImportRequest request;
  request.paths = {{imports::ImportPath::Kind::kPrefix, "local:///lake/import/", "data/"}};
  request.commit.committer = "importer";
  request.commit.message = "import";
  const std::string id =
      imports::start_import(*s.observer, s.repository(s.observer), kWorkBranch, request);
  s.jobs.push_back(id);
  s.job_of[role] = id;
}

/// The reason why an import into the work branch fails; "" if it succeeds.
std::string import_failure(const World& world) {
  World copy = world;
  const ModelBranch* branch = copy.branch(kWork);
  if (branch == nullptr) return "failed not_found";
  if (world.branch_rules) return "failed protected_branch";
  return branch->dirty() ? "failed dirty_branch" : "";
}

Step import_model(const World& world, const std::string& failure, const std::string& job) {
  World after = world;
  std::string& state = after.jobs[job];
  state = failure.empty() ? kDone : failure;
  if (failure.empty()) {
    ModelBranch& branch = *after.branch(kWork);
    ModelTree tree = branch.head->tree;
    std::erase_if(tree, [](const auto& item) { return has_prefix(item.first, "data/"); });
    tree[kKey] = imported("k", kImportText);
    tree[kImported] = imported("z", kImportedText);
    branch.staged.clear();
    advance(branch, "importer", "import", std::move(tree));
  }
  return {state, std::move(after)};
}

Verb verb_import() {
  return {.name = "import",
          .set_up = start_import,
          .act =
              [](Scenario&, TestEngine& e, Role) {
                run_import(e);
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario&, Role) -> Steps {
            // The failure occurs first and appears in the job later.
            const std::string failure = import_failure(seen);
            if (failure.empty() && !import_failure(w).empty()) return {};
            // The two imports are alike: a worker may take either.
            Steps out;
            for (const auto& [job, state] : w.jobs) {
              if (state == "open") out.push_back(import_model(w, failure, job));
            }
            return out.empty() ? answer(w, "no job") : out;
          },
          .reads_refs = true,
          .seals = true,
          .settle =
              [](Scenario& s, TestEngine& e) {
                const auto open = [&] {
                  return std::any_of(s.jobs.begin(), s.jobs.end(), [&](const std::string& id) {
                    const auto job = (*e).jobs.find(id);
                    return job && (job->state == jobs::JobState::kQueued ||
                                   job->state == jobs::JobState::kRunning);
                  });
                };
                constexpr int kRunsMax = 10;
                for (int run = 0; run < kRunsMax && open(); ++run) {
                  expire_leases(e, s.id);
                  run_import(e);
                }
              },
          .answer = [](Scenario& s, Role role) { return s.observe().jobs[s.job_of.at(role)]; }};
}

Verb verb_move() {
  return {.name = "move",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                versioning::MoveRequest request;
                request.source = "data/";
                request.destination = "new/";
                request.prefixes = true;
                return "moved " + std::to_string(versioning::move_objects(*e, s.repository(e),
                                                                          kWorkBranch, request));
              },
          .model =
              [](const World& w, const World&, Scenario&, Role) {
                return on_work(w, [](World&, ModelBranch& branch) -> std::string {
                  int moved = 0;
                  for (const auto& [key, object] : branch.visible()) {
                    if (!has_prefix(key, "data/")) continue;
                    branch.stage(key, std::nullopt);
                    branch.stage("new/" + key.substr(5), object);
                    ++moved;
                  }
                  if (moved == 0) return kNotFound;
                  return "moved " + std::to_string(moved);
                });
              }};
}

Verb verb_checkout() {
  return {.name = "checkout paths",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                versioning::CheckoutRequest request{.ref = kSide,
                                                    .paths = PathScope({"data/**", "new/**"})};
                versioning::checkout_paths(*e, s.repository(e), kWorkBranch, request);
                return kDone;
              },
          .model =
              [](const World& w, const World& seen, Scenario&, Role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  World from = seen;
                  const ModelBranch* source = from.branch(kSide);
                  if (source == nullptr) return kNotFound;
                  const ModelTree theirs = source->visible(), ours = branch.visible();
                  for (const auto* tree : {&theirs, &ours}) {
                    for (const auto& [key, object] : *tree) {
                      if (!has_prefix(key, "data/") && !has_prefix(key, "new/")) continue;
                      if (source->find(key) != branch.find(key))
                        branch.stage(key, source->find(key));
                    }
                  }
                  return kDone;
                });
              },
          .reads_refs = true};
}

}  // namespace

std::vector<Verb> tree_verbs() {
  return {reset_verb(
              "reset object",
              [](Scenario& s, TestEngine& e) {
                versioning::reset_object(*e, s.repository(e), kWorkBranch, Key(kKey), false);
              },
              kKey, true),
          reset_verb(
              "reset prefix",
              [](Scenario& s, TestEngine& e) {
                versioning::reset_prefix(*e, s.repository(e), kWorkBranch, "data/", false);
              },
              "data/", false),
          reset_verb(
              "reset branch",
              [](Scenario& s, TestEngine& e) {
                versioning::reset_branch(*e, s.repository(e), kWorkBranch, false);
              },
              "", false),
          verb_hard_reset(),
          verb_import(),
          verb_move(),
          verb_checkout()};
}

}  // namespace tarn::pairs
