// Verbs that write, delete or annotate objects.
#include "core/base/encoding.h"
#include "core/base/wire.h"
#include "core/branch/stage.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using branch::Condition;
using testing::TestEngine;

using Object = std::optional<ModelObject>;

std::string text_of(Role role) { return "put by " + name_of(role); }

std::string put(Scenario& s, TestEngine& engine, const char* key, Role role,
                const Condition& condition) {
  engine.put(s.repo, kWork, key, text_of(role), condition);
  return kDone;
}

Steps model_put(const World& world, const char* key, Role role) {
  return on_work(world, [&](World&, ModelBranch& branch) {
    branch.stage(key, Scenario::object(text_of(role)));
    return kDone;
  });
}

Condition if_absent() {
  Condition out;
  out.if_absent = true;
  return out;
}

Condition if_match(const std::string& etag) {
  Condition out;
  out.if_match = {etag};
  return out;
}

Verb verb_put() {
  return {.name = "put",
          .set_up = {},
          .act = [](Scenario& s, TestEngine& e, Role role) { return put(s, e, kKey, role, {}); },
          .model = [](const World& w, const World&, Scenario&,
                      Role role) { return model_put(w, kKey, role); },
          .stages = true};
}

Verb verb_put_if_absent() {
  return {.name = "put if absent",
          .set_up = {},
          .act = [](Scenario& s, TestEngine& e,
                    Role role) { return put(s, e, kAbsentKey, role, if_absent()); },
          .model =
              [](const World& w, const World&, Scenario&, Role role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  if (branch.find(kAbsentKey)) return "precondition_failed";
                  branch.stage(kAbsentKey, Scenario::object(text_of(role)));
                  return kDone;
                });
              },
          .stages = true};
}

std::string etag_at_first(const Scenario& s) {
  return s.initial.branches.at(kWork).find(kKey)->etag;
}

Verb verb_put_if_match() {
  return {.name = "put if match",
          .set_up = {},
          .act = [](Scenario& s, TestEngine& e,
                    Role role) { return put(s, e, kKey, role, if_match(etag_at_first(s))); },
          .model =
              [](const World& w, const World&, Scenario& s, Role role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  const Object now = branch.find(kKey);
                  if (!now) return kNotFound;
                  if (now->etag != etag_at_first(s)) return "precondition_failed";
                  branch.stage(kKey, Scenario::object(text_of(role)));
                  return kDone;
                });
              },
          .stages = true};
}

Verb verb_delete() {
  return {.name = "delete",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                e.remove(s.repo, kWork, kKey);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role) {
                return on_work(w, [](World&, ModelBranch& branch) {
                  if (branch.find(kKey)) branch.stage(kKey, std::nullopt);
                  return kDone;
                });
              },
          .stages = true};
}

Verb verb_delete_many() {
  return {.name = "delete many",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                const std::vector<Key> keys = {Key(kKey), Key(kSourceKey), Key(kAbsentKey)};
                objects::delete_objects(*e, s.repo, kWorkBranch, keys, false);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role) {
                return on_work(w, [](World&, ModelBranch& branch) {
                  for (const char* key : {kKey, kSourceKey, kAbsentKey})
                    branch.stage(key, std::nullopt);
                  return kDone;
                });
              },
          .stages = true};
}

Verb copy_verb(std::string name, std::string source_branch, std::string source,
               std::string target) {
  return {.name = std::move(name),
          .set_up = {},
          .act =
              [=](Scenario& s, TestEngine& e, Role) {
                objects::copy_object(*e, {s.repo, source_branch, Key(source)}, s.repo, kWorkBranch,
                                     Key(target), {}, false);
                return kDone;
              },
          .model =
              [=](const World& w, const World& seen, Scenario&, Role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  World from = seen;
                  ModelBranch* at = from.branch(source_branch);
                  const Object object = at == nullptr ? std::nullopt : at->find(source);
                  if (!object) return kNotFound;
                  branch.stage(target, object);
                  return kDone;
                });
              },
          .reads_refs = true,
          .stages = true};
}

/// The copy of the S3 gateway with `x-amz-copy-source-if-match` and `x-amz-tagging-directive:
/// REPLACE`.
Verb verb_copy_with_tags() {
  constexpr const char* kCopy = "data/copy";
  return {.name = "copy if source matches, with tags",
          .set_up = {},
          .act = [](Scenario& s, TestEngine& e, Role role) -> std::string {
            const auto held = objects::hold_sources(*e);
            const objects::FoundObject found = objects::get_object(*e, s.repo, kWork, Key(kKey));
            Entry source = found.entry;
            if (source.etag != etag_at_first(s)) return "source_changed";
            source.set_object_tags({{"copied", name_of(role)}});
            objects::CopyChanges changes;
            changes.extras = source.extras;
            changes.user_metadata = source.user_metadata();
            objects::copy_object(*e, found, s.repo, kWorkBranch, Key(kCopy), changes, false);
            return kDone;
          },
          .model =
              [](const World& w, const World& seen, Scenario& s, Role role) {
                World from = seen;
                ModelBranch* at = from.branch(kWork);
                Object object = at == nullptr ? std::nullopt : at->find(kKey);
                if (!object) return answer(w, kNotFound);
                if (object->etag != etag_at_first(s)) return answer(w, "source_changed");
                object->tags = {{"copied", name_of(role)}};
                return on_work(w, [&](World&, ModelBranch& branch) {
                  branch.stage(kCopy, object);
                  return kDone;
                });
              },
          .reads_refs = true,
          .stages = true};
}

/// PutObjectTagging of the S3 gateway.
Verb verb_set_tags() {
  return {.name = "set tags",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                objects::get_object(*e, s.repo, kWork, Key(kKey));  // throws if it is absent
                branch::change_entry(*e, s.repo, kWorkBranch, Key(kKey), false, [&](Entry& entry) {
                  entry.set_object_tags({{"by", name_of(role)}});
                });
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role role) {
                World probe = w;
                const ModelBranch* there = probe.branch(kWork);
                if (there == nullptr || !there->find(kKey)) return answer(w, kNotFound);
                return on_work(w, [&](World&, ModelBranch& branch) {
                  Object object = branch.find(kKey);
                  object->tags = {{"by", name_of(role)}};
                  branch.stage(kKey, object);
                  return kDone;
                });
              },
          .stages = true};
}

Verb verb_set_metadata() {
  return {.name = "set user metadata",
          .set_up = {},
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                objects::update_user_metadata(*e, s.repo, kWorkBranch, Key(kKey),
                                              {{"by", name_of(role)}}, false);
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario&, Role role) {
                return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
                  Object object = branch.find(kKey);
                  if (!object) return kNotFound;
                  object->metadata = {{"by", name_of(role)}};
                  branch.stage(kKey, object);
                  return kDone;
                });
              },
          .stages = true};
}

}  // namespace

std::vector<Verb> object_verbs() {
  return {verb_put(),
          verb_put_if_absent(),
          verb_put_if_match(),
          verb_delete(),
          verb_delete_many(),
          copy_verb("copy", kWork, kSourceKey, kKey),
          copy_verb("copy from another branch", kSide, kKey, kKey),
          verb_copy_with_tags(),
          verb_set_tags(),
          verb_set_metadata()};
}

}  // namespace tarn::pairs
