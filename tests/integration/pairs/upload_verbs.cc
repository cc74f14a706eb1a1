// Verbs of multipart uploads and of links.
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/branch/stage.h"
#include "core/objects/multipart.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;
using testing::TextBody;

using Object = std::optional<ModelObject>;

constexpr const char* kPartText = "sent in parts";

ModelObject joined_part() {
  ModelObject out = Scenario::object(kPartText);
  out.etag = to_hex(md5(md5(kPartText))) + "-1";
  return out;
}

void open_upload(Scenario& s, Role) {
  if (s.upload) return;
  const auto target = objects::check_upload(*s.observer, s.repo, kWorkBranch, Key(kKey), false, {});
  s.upload =
      objects::create_multipart(*s.observer, target, {"tester", {"text/plain", {}, {}}, "", ""});
  TextBody body(kPartText);
  s.part_etag = objects::put_part(*s.observer, *s.upload, 1, body, std::nullopt).etag;
}

objects::MultipartUpload find_upload(Scenario& s, TestEngine& e) {
  return objects::get_multipart(*e, s.repo, kWorkBranch, Key(kKey), s.upload->upload_id);
}

const ModelUpload* open_upload_of(const World& world, const Scenario& s) {
  const auto found = world.uploads.find(s.upload->upload_id);
  return world.exists && found != world.uploads.end() ? &found->second : nullptr;
}

/// The verbs name the upload by the old name of the branch; one that found it before the rename
/// goes on.
Steps or_renamed(Steps steps, const World& world) {
  if (world.branches.contains(kRenamed)) steps.push_back({kNotFound, world});
  return steps;
}

/// Completion by the S3 gateway: again it succeeds while the key shows the object.
Verb verb_complete() {
  return {.name = "multipart complete",
          .set_up = open_upload,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                const std::vector<objects::CompletedPart> parts = {{1, s.part_etag, {}}};
                std::optional<objects::MultipartUpload> upload;
                try {
                  upload = find_upload(s, e);
                } catch (const Error&) {
                  if (!objects::completed_before(*e, s.repo, kWorkBranch, Key(kKey), parts)) {
                    throw;
                  }
                  return kDone;
                }
                objects::complete_multipart(*e, *upload, {parts, {}, {}, {}});
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role) -> Steps {
            const ModelUpload* upload = open_upload_of(w, s);
            if (upload == nullptr) {
              World probe = w;
              const ModelBranch* branch = probe.branch(kWork);
              const Object now = branch == nullptr ? std::nullopt : branch->find(kKey);
              const bool shown = now && now->etag == joined_part().etag;
              return answer(w, shown ? kDone : kNotFound);
            }
            if (upload->parts.at(1) != s.part_etag) return answer(w, "invalid_part");
            return on_work(w, [&](World& after, ModelBranch& branch) {
              branch.stage(kKey, joined_part());
              after.uploads.erase(s.upload->upload_id);
              return kDone;
            });
          },
          .stages = true};
}

Verb verb_abort() {
  return {.name = "multipart abort",
          .set_up = open_upload,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                objects::abort_multipart(*e, find_upload(s, e));
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role) -> Steps {
            if (open_upload_of(w, s) == nullptr) return answer(w, kNotFound);
            World after = w;
            after.uploads.erase(s.upload->upload_id);
            return or_renamed(answer(after, kDone), w);
          }};
}

Verb verb_put_part() {
  return {.name = "put part again",
          .set_up = open_upload,
          .act =
              [](Scenario& s, TestEngine& e, Role role) {
                TextBody body("another part by " + name_of(role));
                objects::put_part(*e, find_upload(s, e), 1, body, std::nullopt);
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role role) -> Steps {
            if (open_upload_of(w, s) == nullptr) return answer(w, kNotFound);
            World after = w;
            after.uploads.at(s.upload->upload_id).parts[1] =
                to_hex(md5("another part by " + name_of(role)));
            return or_renamed(answer(after, kDone), w);
          }};
}

constexpr const char* kLinkText = "linked";
constexpr const char* kLinkUser = "ann";

void hand_out_link(Scenario& s, Role) {
  if (!s.link.empty()) return;
  const auto handed =
      objects::hand_out_address(*s.observer, s.repo, kWorkBranch, Key(kKey), kLinkUser);
  TextBody body(kLinkText);
  objects::fill_address(*s.observer, handed.repository,
                        {handed.repository.id, kWorkBranch, Key(kKey), handed.own}, body,
                        std::nullopt);
  s.link = handed.text;
  s.initial.links.insert(s.link);
}

/// linkPhysicalAddress of the REST API.
Verb verb_link() {
  return {.name = "link physical address",
          .set_up = hand_out_link,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                const auto target =
                    objects::check_upload(*e, s.repo, kWorkBranch, Key(kKey), false, {});
                objects::link_address(
                    *e, target, s.link, kLinkUser,
                    {.size_bytes = std::string(kLinkText).size(), .etag = to_hex(md5(kLinkText))},
                    {"text/plain", {}, {}}, {});
                return kDone;
              },
          .model =
              [](const World& w, const World&, Scenario& s, Role) {
                return on_work(w, [&](World& after, ModelBranch& branch) -> std::string {
                  if (after.links.erase(s.link) == 0) {
                    const Object now = branch.find(kKey);
                    const bool shown = now && now->etag == to_hex(md5(kLinkText));
                    return shown ? kDone : "link_address_used";
                  }
                  branch.stage(kKey, Scenario::object(kLinkText));
                  return kDone;
                });
              },
          .stages = true};
}

}  // namespace

std::vector<Verb> upload_verbs() {
  return {verb_complete(), verb_abort(), verb_put_part(), verb_link()};
}

}  // namespace tarn::pairs
