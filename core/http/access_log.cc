#include "core/http/access_log.h"

#include <atomic>
#include <span>
#include <utility>

namespace tarn::http {
namespace {

class CountedBody final : public BodySource {
 public:
  CountedBody(std::unique_ptr<BodySource> body, std::shared_ptr<uint64_t> count)
      : body_(std::move(body)), count_(std::move(count)) {}
  size_t read(std::span<char> out) override {
    const size_t bytes = body_->read(out);
    *count_ += bytes;
    return bytes;
  }
  void end_by(std::chrono::steady_clock::time_point deadline) override { body_->end_by(deadline); }

 private:
  std::unique_ptr<BodySource> body_;
  std::shared_ptr<uint64_t> count_;
};

std::atomic<std::chrono::nanoseconds> logged_duration{std::chrono::nanoseconds{0}};

double milliseconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

void set_logged_duration(std::chrono::nanoseconds least) { logged_duration = least; }

void AccessRecord::count_body(Request& request) const {
  request.body = std::make_unique<CountedBody>(std::move(request.body), received_bytes);
}

double AccessRecord::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void AccessRecord::write_log(const Request& request, const Response& response) const {
  if (!log::enabled(level)) return;
  const std::chrono::nanoseconds least = logged_duration.load(std::memory_order_relaxed);
  if (level <= log::Level::kInfo && std::chrono::steady_clock::now() - began < least) return;
  const WorkTime& worked = work_time();
  log::write(level, "request",
             {{"request_id", request.id},
              {"api", api},
              {"operation", operation},
              {"user", user},
              {"address", request.peer},
              {"method", request.method},
              {"path", path.empty() ? request.raw_path() : std::string_view(path)},
              {"status", response.status},
              {"code", code},
              {"error", error},
              {"received_bytes", *received_bytes},
              {"sent_bytes", announced_bytes(request, response)},
              {"user_agent", request.headers.get("User-Agent").substr(0, kLoggedAgentBytesMax)},
              {"duration_ms", seconds() * 1000},
              {"queue_ms", milliseconds_of(worked.queue)},
              {"database_ms", milliseconds_of(worked.database - worked_before.database)},
              {"store_ms", milliseconds_of(worked.store - worked_before.store)}});
}

uint64_t announced_bytes(const Request& request, const Response& response) {
  if (request.method == "HEAD" || response.status == 204 || response.status == 304) return 0;
  if (response.file) return response.file->length;
  return response.source ? response.content_length.value_or(0) : response.body.size();
}

}  // namespace tarn::http
