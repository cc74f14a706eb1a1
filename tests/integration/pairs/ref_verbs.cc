// Verbs of refs, and of the repository and its settings.
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/rename.h"
#include "core/branch/settings.h"
#include "core/branch/stage.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/objects/multipart.h"
#include "core/versioning/merge.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"
#include "tests/support/bare_repository.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

Verb verb_branch_create() {
  return {.name = "branch create",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                e.branch(s.repo, kExtra, kWork);
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario&, Role) -> Steps {
            World from = seen, after = w;
            if (!w.exists) return answer(w, kNotFound);
            const ModelBranch* source = from.branch(kWork);
            if (source == nullptr) return answer(w, kNotFound);
            if (w.tags.contains(kExtra)) return answer(w, "conflict");
            if (w.branches.contains(kExtra)) return answer(w, "already_exists");
            after.branches[kExtra].head = source->head;
            return answer(after, kDone);
          },
          .reads_refs = true};
}

void remove_branch(World& world, const std::string& name) {
  world.branches.erase(name);
  std::erase_if(world.uploads,
                [&](const auto& item) { return item.second.key.starts_with(name + "/"); });
}

Verb verb_branch_delete() {
  return {.name = "branch delete",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::delete_branch(*e, s.repository(e), kWorkBranch, false);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role) {
                return on_work(w, [](World& after, ModelBranch&) {
                  remove_branch(after, kWork);
                  return kDone;
                });
              }};
}

Verb verb_source_branch_delete() {
  return {.name = "branch delete of the source",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::delete_branch(*e, s.repository(e), BranchName(kSide), false);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role) {
                return on_branch(w, kSide, [](World& after, ModelBranch&) {
                  remove_branch(after, kSide);
                  return kDone;
                });
              }};
}

constexpr db::Query kExpireWork{"test_pairs_expire_work", R"sql(
  UPDATE branches SET expires_ms = $2 WHERE repo_id = $1 AND name = 'work')sql"};

/// Run by every engine's background: errors are retried after a while.
Verb verb_branch_expire() {
  return {.name = "branch expiry",
          .set_up =
              [](Scenario& s, Role) {
                s.observer.pool.run(kExpireWork, {static_cast<int32_t>(s.id), int64_t{1}},
                                    db::Pool::Retry::kWrite);
              },
          .act =
              [](Scenario&, TestEngine& e, Role) {
                branch::delete_one_expired_branch(*e);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            World after = w;
            const std::string name = after.branch(kWork) == nullptr ? kRenamed : kWork;
            const ModelBranch* branch = after.branch(name);
            const bool is_protected = w.branch_rules && name == kWork;
            if (branch == nullptr || !branch->expires || is_protected) return answer(w, kDone);
            remove_branch(after, name);
            return {{kDone, after}, {kDone, w}};
          }};
}

Verb verb_branch_rename() {
  return {.name = "branch rename",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::rename_branch(*e, s.repository(e), kWorkBranch, {BranchName(kRenamed)});
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            for (const auto& [job, state] : w.jobs) {
              if (state == "open" && w.branches.contains(kWork)) {
                return answer(w, "branch_keeps_name");
              }
            }
            return on_work(w, [](World& after, ModelBranch& branch) {
              ModelBranch moved = branch;
              after.branches.erase(kWork);
              after.branches[kRenamed] = std::move(moved);
              const std::string before = str_cat(kWork, "/");
              for (auto& [id, upload] : after.uploads) {
                if (!upload.key.starts_with(before)) continue;
                upload.key = str_cat(kRenamed, "/", upload.key.substr(before.size()));
              }
              return kDone;
            });
          }};
}

Verb verb_expiry_put_off() {
  return {.name = "branch expiry put off",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::set_branch_expiry(*e, s.repository(e), kWorkBranch, std::nullopt, false);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            World after = w;
            ModelBranch* branch = after.branch(kWork);
            if (branch == nullptr) return answer(w, kNotFound);
            branch->expires = false;
            return answer(after, kDone);
          }};
}

Verb verb_tag_create() {
  return {.name = "tag create",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::create_tag(*e, s.repository(e), TagName(kExtra), kWork, false);
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario&, Role) -> Steps {
            World from = seen, after = w;
            if (!w.exists) return answer(w, kNotFound);
            if (w.branches.contains(kExtra)) return answer(w, "conflict");
            const ModelBranch* source = from.branch(kWork);
            if (source == nullptr) return answer(w, kNotFound);
            if (w.tags.contains(kExtra)) return answer(w, "already_exists");
            after.tags[kExtra] = source->head;
            return answer(after, kDone);
          },
          .reads_refs = true};
}

Verb verb_tag_delete() {
  constexpr const char* kOld = "v1";
  return {.name = "tag delete",
          .set_up =
              [](Scenario& s, Role role) {
                if (role == Role::kB && s.observe().tags.contains(kOld)) return;
                branch::create_tag(*s.observer, s.repository(s.observer), TagName(kOld), "main",
                                   false);
              },
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::delete_tag(*e, s.repository(e), TagName(kOld), false);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            World after = w;
            if (!w.exists || after.tags.erase(kOld) == 0) return answer(w, kNotFound);
            return answer(after, kDone);
          }};
}

Verb verb_alias_move() {
  return {.name = "alias move",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                branch::AliasRequest request{.name = AliasName("best"), .actor = name_of(role)};
                branch::set_alias(*e, s.repository(e), request, kWork);
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario&, Role) -> Steps {
            World from = seen, after = w;
            const ModelBranch* source = from.branch(kWork);
            if (!w.exists || source == nullptr) return answer(w, kNotFound);
            after.aliases["best"] = source->head;
            return answer(after, kDone);
          },
          .reads_refs = true};
}

Verb verb_repository_delete() {
  return {.name = "repository delete",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::delete_repository(*e, s.repo, false);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            if (!w.exists) return answer(w, kNotFound);
            World after = w;
            after.exists = false;
            return answer(after, kDone);
          }};
}

Verb verb_protect() {
  return {.name = "branch rules",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                BranchRule rule{.pattern = Glob(kWork)};
                rule.blocked_actions = {
                    BranchAction::kStage,  BranchAction::kCommit, BranchAction::kMerge,
                    BranchAction::kDelete, BranchAction::kRevert, BranchAction::kCherryPick,
                    BranchAction::kReset,  BranchAction::kImport, BranchAction::kRestore};
                branch::set_branch_rules(*e, s.repository(e), {rule}, {});
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            if (!w.exists) return answer(w, kNotFound);
            World after = w;
            after.branch_rules = true;
            return answer(after, kDone);
          }};
}

/// Dumps the refs of the scenario and creates a bare repository for them.
void dump_refs(Scenario& s, Role) {
  if (s.target) return;
  s.dump = imports::dump_refs(*s.observer, s.repo);
  s.dumped = s.refs_of(s.repo);
  s.target = testing::make_bare_repository(s.observer, "to-" + s.repo.str());
}

/// Any error text is accepted for a missing target, but not for a missing source.
Verb verb_restore_refs() {
  return {.name = "restore of refs",
          .set_up = dump_refs,
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                imports::restore_refs(*e, *s.target, s.dump, false, name_of(role));
                return kDone;
              },
          .model = [](const World& w, const World& seen, Scenario& s, Role) -> Steps {
            if (!w.restored || !seen.exists) return answer(w, kNotFound);
            if (!w.restored->empty()) return answer(w, "not_bare");
            World after = w;
            after.restored = s.dumped;
            return answer(after, kDone);
          },
          .reads_refs = true};
}

Verb verb_target_delete() {
  return {.name = "repository delete of the target",
          .set_up = dump_refs,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                branch::delete_repository(*e, *s.target, false);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario&, Role) -> Steps {
            if (!w.restored) return answer(w, kNotFound);
            World after = w;
            after.restored.reset();
            return answer(after, kDone);
          }};
}

}  // namespace

std::vector<Verb> ref_verbs() {
  return {verb_branch_create(), verb_branch_delete(),  verb_source_branch_delete(),
          verb_branch_expire(), verb_expiry_put_off(), verb_tag_create(),
          verb_tag_delete(),    verb_alias_move(),     verb_repository_delete(),
          verb_protect(),       verb_restore_refs(),   verb_target_delete(),
          verb_branch_rename()};
}

}  // namespace tarn::pairs
