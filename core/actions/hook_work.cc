#include "core/actions/hook_work.h"

#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/events/hook_run_store.h"

namespace tarn::actions {
namespace {

constexpr size_t kFirstBytesMax = events::kHookOutputBytesMax / 2;
constexpr size_t kLastBytesMax = events::kHookOutputBytesMax / 2 - 100;  // room for the note

}  // namespace

void HookOutput::add(std::string_view text) { keep(masking_.add(text)); }

void HookOutput::end() { keep(masking_.rest()); }

void HookOutput::keep(const std::string& shown) {
  MutexLock lock(mutex_);
  const size_t fits = std::min(shown.size(), kFirstBytesMax - first_.size());
  first_.append(shown, 0, fits);
  last_.append(shown, fits);
  if (last_.size() > kLastBytesMax) {
    left_out_ += last_.size() - kLastBytesMax;
    last_.erase(0, last_.size() - kLastBytesMax);
  }
}

std::string HookOutput::text() const {
  MutexLock lock(mutex_);
  if (left_out_ == 0) return first_ + last_;
  return str_cat(first_, "\n... ", left_out_, " bytes left out ...\n", last_);
}

size_t HookOutput::bytes() const {
  MutexLock lock(mutex_);
  return first_.size() + left_out_ + last_.size();
}

namespace {

using Json = nlohmann::json;
using branch::HookContext;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void put(Json& to, const char* name, const std::string& value) {
  if (!value.empty()) to[name] = value;
}

Json event_of(const HookContext& context, const HookIdentity& identity) {
  Json event{{"event_type", name_of(context.event)},
             {"event_time", to_rfc3339(context.time)},
             {"action_name", identity.action},
             {"hook_id", identity.hook},
             {"repository_id", context.repository.str()}};
  put(event, "branch_id", context.branch);
  put(event, "source_ref", context.source_ref);
  put(event, "tag_id", context.tag);
  put(event, "commit_id", context.commit);
  put(event, "merge_source", context.merge_source);
  put(event, "commit_message", context.message);
  put(event, "committer", context.committer);
  if (!context.metadata.empty()) event["commit_metadata"] = context.metadata;
  return event;
}

}  // namespace

std::string to_json(const QueuedRun& run) {
  const HookContext& o = run.context;
  return text_of({{"event", name_of(o.event)},
                  {"repository", o.repository.str()},
                  {"branch", o.branch},
                  {"source_ref", o.source_ref},
                  {"tag", o.tag},
                  {"commit", o.commit},
                  {"merge_source", o.merge_source},
                  {"message", o.message},
                  {"committer", o.committer},
                  {"metadata", o.metadata},
                  {"time_ms", to_millis(o.time)},
                  {"user", o.user},
                  {"limits", to_hex(o.limits)},
                  {"ref", run.ref},
                  {"destination_ref", run.destination_ref},
                  {"depth", run.depth}});
}

std::vector<CommitId> commits_of(const QueuedRun& run) {
  std::vector<CommitId> out;
  const HookContext& o = run.context;
  for (const std::string& ref :
       {o.source_ref, o.commit, o.merge_source, run.ref, run.destination_ref}) {
    if (const auto commit = parse_commit_id(ref)) out.push_back(*commit);
  }
  return out;
}

QueuedRun queued_run_from(std::string_view json) {
  try {
    const Json from = Json::parse(json);
    QueuedRun run;
    HookContext& o = run.context;
    const auto event = parse_hook_event(from.at("event").get<std::string>());
    if (!event) throw Error(ErrorCode::kDataLoss, "queued run of hooks: has an unknown event");
    o.event = *event;
    o.repository = RepositoryName(from.at("repository").get<std::string>());
    o.branch = from.at("branch").get<std::string>();
    o.source_ref = from.at("source_ref").get<std::string>();
    o.tag = from.at("tag").get<std::string>();
    o.commit = from.at("commit").get<std::string>();
    o.merge_source = from.at("merge_source").get<std::string>();
    o.message = from.at("message").get<std::string>();
    o.committer = from.at("committer").get<std::string>();
    o.metadata = from.at("metadata").get<Metadata>();
    o.time = from_millis(from.at("time_ms").get<int64_t>());
    o.user = from.at("user").get<std::string>();
    const auto limits = from_hex(from.at("limits").get<std::string>());
    if (!limits) throw Error(ErrorCode::kDataLoss, "queued run of hooks: its limits are no hex");
    o.limits = *limits;
    run.ref = from.at("ref").get<std::string>();
    run.destination_ref = from.at("destination_ref").get<std::string>();
    run.depth = from.at("depth").get<int>();
    return run;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss, error.what());
  }
}

std::string event_body(const HookContext& context, const HookIdentity& identity) {
  return text_of(event_of(context, identity));
}

std::string script_action(const HookContext& context, const HookIdentity& identity,
                          std::string_view storage_namespace) {
  Json action = event_of(context, identity);
  action["run_id"] = identity.run;
  action["hook_run_id"] = identity.step;
  action["storage_namespace"] = storage_namespace;
  // The names that lakeFS uses, in addition to the event's own. The parents are requested on
  // demand.
  action["commit"] = {
      {"message", context.message}, {"committer", context.committer}, {"metadata", Json::object()}};
  for (const auto& [name, value] : context.metadata) action["commit"]["metadata"][name] = value;
  return text_of(action);
}

}  // namespace tarn::actions
