// Evaluations for people, and the work of runners. A runner's calls name a lease by its token, and
// need the permission on the repository that the evaluation is of: its objects and the data come
// through the lease alone.
#include "core/evaluation/evaluations.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/cancellation.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/waiter_limit.h"
#include "core/branch/engine.h"
#include "server/api/handlers/archive_answer.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/evaluation.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerEvaluation = 600;
constexpr size_t kKeyBytes = 32;
constexpr std::string_view kLeaseHeader = "X-Tarn-Lease";

std::string key_from(std::string_view text) {
  const auto key = from_hex(text);
  if (!key || key->size() != kKeyBytes) {
    throw Error(ErrorCode::kNotFound, reason::kEvaluationNotFound,
                str_cat("evaluation \"", text, "\": not found"));
  }
  return *key;
}

/// The job of the path, and the token of the runner's lease.
struct Held {
  std::string key;
  std::string token;
};

/// Throws conflict (reason "lease_lost"); permission_denied: the permission was taken away since.
Held held_of(const Context& context, const Call& call) {
  const std::string* header = call.request.headers.find(kLeaseHeader);
  Held out{key_from(call.path("job")), ""};
  if (header != nullptr) out.token = from_hex(*header).value_or("");
  const evaluation::Evaluation job = evaluation::held_job(context.engine, out.key, out.token);
  call.require_permission(
      auth::Action::kRunEvaluation,
      auth::repository_arn(evaluation::name_of_repository(context.engine, job.repository).str()));
  return out;
}

/// The name that the resources of the data begin with. Throws not_found: its repository is gone.
std::string data_arn(const Context& context, const evaluation::Evaluation& evaluation) {
  return auth::object_arn(
      evaluation::name_of_repository(context.engine, evaluation.spec.data).str(),
      to_text(evaluation.spec.commit), evaluation.spec.folder);
}

/// Whether the caller may read the data, and so what single examples and programs say.
bool may_read_data(const Context& context, const Call& call,
                   const evaluation::Evaluation& evaluation) {
  try {
    return call.caller.permissions->decide_below(
               auth::Action::kReadObject, data_arn(context, evaluation), call.request.peer) ==
           auth::Permissions::Decision::kAllowed;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
}

evaluation::Evaluation evaluation_of(const Context& context, const Call& call) {
  return evaluation::get_evaluation(context.engine, repository_of(context, call),
                                    key_from(call.path("key")));
}

/// Streams one line for each example.
class ExampleLines final : public http::BodySource {
 public:
  explicit ExampleLines(std::vector<evaluation::ExampleValue> values)
      : values_(std::move(values)) {}

  size_t read(std::span<char> out) override {
    while (line_.empty() && at_ < values_.size()) {
      json::Writer line;
      line.begin_object();
      line.text("id", values_[at_].id);
      line.real("value", values_[at_].value);
      line.end_object();
      line_ = std::move(line).take();
      ++at_;
    }
    const size_t count = line_.copy(out.data(), out.size());
    line_.erase(0, count);
    return count;
  }

 private:
  const std::vector<evaluation::ExampleValue> values_;
  size_t at_ = 0;
  std::string line_;  ///< what is left of it
};

}  // namespace

http::Response lease_evaluation(const Context& context, Call& call, json::LeaseEvaluation wanted) {
  const auto may_run = [&](const RepositoryName& repository) {
    return call.allows(auth::Action::kRunEvaluation, auth::repository_arn(repository.str()));
  };
  const WaiterLimit::Waiter waiter(context.engine.waiters);
  const auto deadline =
      std::chrono::steady_clock::now() + (waiter.admitted ? wanted.wait : std::chrono::seconds(0));
  for (;;) {
    const auto lease =
        evaluation::take_job(context.engine, wanted.labels, call.caller.user.name, may_run);
    if (lease) {
      return json_response(
          200,
          json::evaluation_job_body(
              *lease,
              evaluation::name_of_repository(context.engine, lease->evaluation.repository).str()));
    }
    if (std::chrono::steady_clock::now() >= deadline) return empty_response(204);
    throw_if_cancelled();
    pause(cancellation_token(), evaluation::kLookForWorkEvery);
  }
}

http::Response renew_evaluation(const Context& context, Call& call) {
  const Held held = held_of(context, call);
  evaluation::renew_job(context.engine, held.key, held.token);
  return empty_response(204);
}

http::Response release_evaluation(const Context& context, Call& call) {
  const Held held = held_of(context, call);
  evaluation::release_job(context.engine, held.key, held.token);
  return empty_response(204);
}

http::Response get_evaluation_files(const Context& context, Call& call) {
  const Held held = held_of(context, call);
  const auto part = evaluation::parse_part(call.path("part"));
  if (!part) throw_invalid("part: must be inputs, data, program or candidate");
  evaluation::JobFiles files = evaluation::job_files(context.engine, held.key, held.token, *part);
  std::vector<ArchivedFile> archived;
  for (evaluation::JobFile& file : files.files) {
    // A marker of the folder itself has no name in it.
    if (!file.name.empty()) archived.push_back({std::move(file.name), std::move(file.entry)});
  }
  return answer_tar(context, files.repository, std::move(archived));
}

http::Response finish_evaluation(const Context& context, Call& call) {
  const Held held = held_of(context, call);
  evaluation::finish_job(context.engine, held.key, held.token,
                         http::read_document(*call.request.body, evaluation::kResultBytesMax));
  return empty_response(204);
}

http::Response fail_evaluation(const Context& context, Call& call, evaluation::Failure failure) {
  const Held held = held_of(context, call);
  evaluation::fail_job(context.engine, held.key, held.token, failure);
  return empty_response(204);
}

http::Response list_evaluations(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const std::string_view after = call.parameter("after");
  Page<evaluation::Evaluation> page =
      evaluation::EvaluationStore(context.engine.pool)
          .list(repository.id, after.empty() ? "" : key_from(after), call.amount());
  if (page.has_more) page.next = to_hex(page.next);
  page.next_of = [](const evaluation::Evaluation& one) { return to_hex(one.key); };
  return json_response(200, json::list_of(page, kBytesPerEvaluation,
                                          [](json::Writer& out, const evaluation::Evaluation& one) {
                                            json::write_evaluation(out, one, /*in_full=*/false);
                                          }));
}

http::Response get_evaluation(const Context& context, Call& call) {
  const evaluation::Evaluation found = evaluation_of(context, call);
  json::Writer out;
  json::write_evaluation(out, found, may_read_data(context, call, found));
  return json_response(200, std::move(out).take());
}

http::Response get_evaluation_examples(const Context& context, Call& call) {
  const evaluation::Evaluation found = evaluation_of(context, call);
  auth::require_permission_below(call.caller, auth::Action::kReadObject, data_arn(context, found),
                                 call.request.peer);
  http::Response response;
  response.headers.add("Content-Type", "application/x-ndjson");
  response.headers.add("Cache-Control", "no-store");
  response.source = std::make_unique<ExampleLines>(evaluation::example_values(
      context.engine, repository_of(context, call), found.key, call.parameter("metric")));
  return response;
}

http::Response retry_evaluation(const Context& context, Call& call) {
  evaluation::retry_evaluation(context.engine, repository_of(context, call),
                               key_from(call.path("key")));
  return empty_response(204);
}

}  // namespace tarn::api
