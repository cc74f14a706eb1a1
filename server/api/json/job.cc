#include "server/api/json/job.h"

#include "core/base/time.h"

namespace tarn::api::json {

void write_job(Writer& out, const jobs::ListedJob& job, bool is_readable) {
  out.begin_object();
  out.text("id", job.id);
  out.text("kind", job.kind);
  if (!is_readable) out.boolean("hidden", true);
  if (is_readable && !job.repository.empty()) out.text("repository", job.repository);
  if (is_readable && !job.branch.empty()) out.text("branch", job.branch);
  out.text("state", name_of(job.state));
  out.number("progress", job.progress);
  if (is_readable && !job.error.empty()) out.text("error", job.error);
  out.text("user", job.owner);
  out.text("created", to_rfc3339(job.created));
  out.text("updated", to_rfc3339(job.updated));
  out.end_object();
}

}  // namespace tarn::api::json
