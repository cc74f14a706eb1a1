#include "core/http/request_loop.h"

#include <exception>
#include <utility>

#include "core/base/log.h"
#include "core/base/work_time.h"
#include "core/http/parser.h"
#include "core/http/probe.h"
#include "core/http/request_body.h"
#include "core/http/request_id.h"

namespace tarn::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A small upload fits into one receive together with its head.
constexpr size_t kReceiveBytes = 64 * 1024;
// Queued heads stay in memory, so this is little more than a head.
constexpr size_t kCollectBytes = 4 * 1024;
// Time for a client to read an error response during its upload; otherwise the kernel's reset would
// destroy the response.
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr uint64_t kLingerBytesMax = 64 * 1024 * 1024;
constexpr size_t kLingerStepBytes = 1024 * 1024;

/// Counts a request as running.
class Running {
 public:
  Running(FairQueue& queue, FairQueue::Share* share) : queue_(queue), share_(share) {}
  ~Running() { end(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  FairQueue::Share* share() const { return share_; }
  void take(FairQueue::Share* share) { share_ = share; }
  void end() {
    if (share_ != nullptr) queue_.leave(std::exchange(share_, nullptr), SteadyClock::now());
  }

 private:
  FairQueue& queue_;
  FairQueue::Share* share_;
};

std::string_view why_refused(int status) {
  switch (status) {
    case 414:
      return "request target too long";
    case 431:
      return "request header fields too large";
    default:
      return "malformed request";
  }
}

}  // namespace

RequestLoop::RequestLoop(const ServerLimits& limits, const Handler& handler,
                         const AdmissionPolicy& admission, FairQueue& queue,
                         const std::atomic<bool>& stopping)
    : limits_(limits),
      head_limits_{limits.head_bytes_max, limits.target_bytes_max, limits.header_fields_max},
      handler_(handler),
      admission_(admission),
      queue_(queue),
      stopping_(stopping),
      input_(limits.head_bytes_max + kReceiveBytes),
      writer_(limits) {}

RequestLoop::Next RequestLoop::serve(Connection& connection, FairQueue::Share* started) {
  Running running(queue_, started);
  if (connection.phase == Connection::Phase::kLingering) return linger(connection);
  input_.assign(connection.held);
  connection.held = {};  // releases its memory: thousands of idle connections hold none
  if (connection.head) {
    parsed_ = std::move(*std::exchange(connection.head, nullptr));
    bool goes_on = false;
    const Next next = answer(connection, std::get<RequestHead>(parsed_), goes_on);
    running.end();
    if (!goes_on) return next;
    if (input_.unused().empty()) return wait_for_more(connection);
  }
  for (bool first = started == nullptr;; first = false) {
    Next instead = Next::kClose;
    RequestHead* head = next_head(connection, kReceiveBytes, instead);
    if (head == nullptr) return instead;
    if (!running.share()) {
      const std::string share = share_of(head->request);
      // A connection that has just been served does not overtake waiting ones.
      if (first || !queue_.anyone_waits()) running.take(queue_.start(share, SteadyClock::now()));
      if (!running.share()) return wait_in_queue(connection, *head, share);
    }
    bool goes_on = false;
    const Next next = answer(connection, *head, goes_on);
    running.end();
    if (!goes_on) return next;
    if (input_.unused().empty()) return wait_for_more(connection);
  }
}

RequestHead* RequestLoop::next_head(Connection& connection, size_t step_bytes, Next& instead) {
  switch (receive_head(connection, step_bytes)) {
    case Received::kBlocked:
      instead = wait_for_more(connection);
      return nullptr;
    case Received::kGone:
      instead = Next::kClose;
      return nullptr;
    case Received::kRefused:
      instead = refuse_head(connection);
      return nullptr;
    case Received::kHead:
      break;
  }
  RequestHead* head = parse(connection);
  if (head == nullptr) instead = refuse_parsed(connection);
  return head;
}

RequestLoop::Next RequestLoop::queue_up(Connection& connection) {
  input_.assign(connection.held);
  Next instead = Next::kClose;
  RequestHead* head = next_head(connection, kCollectBytes, instead);
  if (head == nullptr) return instead;
  return wait_in_queue(connection, *head, share_of(head->request));
}

RequestLoop::Next RequestLoop::wait_in_queue(Connection& connection, RequestHead& head,
                                             const std::string& share) {
  // The parser must read the head of a chunked body itself, so it parses that again.
  if (!head.request.chunked) {
    connection.head = std::make_unique<RequestHead>(std::move(head));
    input_.consume(connection.scanner.head_bytes());
  }
  connection.held = input_.unused();
  connection.scanner = {};
  switch (queue_.wait(share, &connection, SteadyClock::now())) {
    case FairQueue::Entry::kWaits:
      return Next::kQueued;  // and possibly already served
    case FairQueue::Entry::kShareFull:
      return refuse_waiting(connection, Overload::kShareFull);
    case FairQueue::Entry::kFull:
      break;
  }
  return refuse_waiting(connection, Overload::kServerFull);
}

RequestLoop::Next RequestLoop::refuse_waiting(Connection& connection, Overload why) {
  if (const auto head = std::exchange(connection.head, nullptr)) {
    return refuse_request(connection, head->request, why);
  }
  input_.assign(connection.held);
  connection.scanner.scan(input_.unused(), head_limits_);
  const RequestHead* head = parse(connection);
  return head == nullptr ? Next::kClose : refuse_request(connection, head->request, why);
}

RequestLoop::Received RequestLoop::receive_head(Connection& connection, size_t step_bytes) {
  for (;;) {
    if (!input_.unused().empty()) {
      const HeadScanner::State state = connection.scanner.scan(input_.unused(), head_limits_);
      if (state == HeadScanner::State::kComplete) return Received::kHead;
      if (state == HeadScanner::State::kRefused) return Received::kRefused;
    }
    std::span<char> space = input_.space(step_bytes);
    const Moved moved = connection.socket.receive(space.first(std::min(space.size(), step_bytes)));
    if (moved.result == Moved::Result::kWouldBlock) return Received::kBlocked;
    if (moved.result == Moved::Result::kClosed) return Received::kGone;
    input_.filled(moved.bytes);
  }
}

RequestLoop::Next RequestLoop::refuse_head(Connection& connection) {
  const int status = connection.scanner.status();
  const std::string_view why = why_refused(status);
  if (status == 400 || !admission_.refuse_head) return refuse(connection, status, why);
  Request request = read_partial_head(input_.unused());
  request.id = next_request_id();
  std::optional<Response> response;
  try {
    response = admission_.refuse_head(request, status);
  } catch (const std::exception& error) {
    log::error("http_refusal_failed", {{"request_id", request.id}, {"error", error.what()}});
  }
  if (!response) return refuse(connection, status, why);
  return end_with(connection, request, *response);
}

RequestLoop::Next RequestLoop::refuse_parsed(Connection& connection) {
  const auto& refusal = std::get<HeadRefusal>(parsed_);
  return refuse(connection, refusal.status, refusal.why);
}

RequestHead* RequestLoop::parse(const Connection& connection) {
  const HeadScanner& scanner = connection.scanner;
  const std::string_view bytes = input_.unused().substr(
      scanner.request_line_start(), scanner.head_bytes() - scanner.request_line_start());
  parsed_ = parser_.start(bytes, limits_.target_bytes_max);
  auto* head = std::get_if<RequestHead>(&parsed_);
  if (head == nullptr) return nullptr;
  head->request.peer = connection.peer;
  head->request.id = next_request_id();
  return head;
}

std::string RequestLoop::share_of(const Request& request) const {
  return admission_.share_of ? admission_.share_of(request) : std::string();
}

RequestLoop::Next RequestLoop::answer(Connection& connection, RequestHead& head, bool& goes_on) {
  input_.consume(std::exchange(connection.scanner, {}).head_bytes());
  connection.phase = Connection::Phase::kIdle;
  connection.answered = true;
  RequestBody body(head, connection.socket, input_, parser_, limits_);
  Request& request = head.request;
  request.body = body.handle();
  Response response = run_handler(request);
  work_time().queue = {};  // the next request of this connection did not wait
  // A handler that took the body reads it while the response is sent.
  const bool body_is_used_up = request.body == nullptr || body.can_be_skipped();
  const AnswerForm form{.is_head = request.method == "HEAD",
                        .http_1_0 = head.http_1_0,
                        .keep_alive = head.keep_alive && !stopping_ && body_is_used_up};
  const auto result = writer_.write(connection.socket, response, form, request.id);
  Probe::instance().answered(response.status);
  if (result == ResponseWriter::Result::kBroken) return Next::kClose;
  if (result == ResponseWriter::Result::kKeep && body.skip_rest()) {
    goes_on = true;
    return Next::kPark;
  }
  if (body.finished() && !connection.socket.has_input()) return Next::kClose;
  return start_lingering(connection);
}

Response RequestLoop::run_handler(Request& request) {
  try {
    return handler_(request);
  } catch (const std::exception& error) {
    log::error("http_handler_failed", {{"request_id", request.id}, {"error", error.what()}});
  } catch (...) {
    log::error("http_handler_failed", {{"request_id", request.id}, {"error", "unknown exception"}});
  }
  return internal_error(request.id);
}

RequestLoop::Next RequestLoop::refuse_request(Connection& connection, const Request& request,
                                              Overload why) {
  connection.held = {};
  Probe::instance().refused(why);
  if (!admission_.refuse) return refuse(connection, 503, "too many requests at once");
  Response response;
  try {
    response = admission_.refuse(request, why);
  } catch (const std::exception& error) {
    log::error("http_refusal_failed", {{"request_id", request.id}, {"error", error.what()}});
    response = internal_error(request.id);
  }
  return end_with(connection, request, response);
}

RequestLoop::Next RequestLoop::end_with(Connection& connection, const Request& request,
                                        Response& response) {
  const AnswerForm form{.is_head = request.method == "HEAD"};
  send_refusal(connection, writer_.text_of(response, form, request.id));
  Probe::instance().answered(response.status);
  return start_lingering(connection);
}

RequestLoop::Next RequestLoop::refuse(Connection& connection, int status, std::string_view why) {
  send_refusal(connection, refusal_text(status, why, next_request_id()));
  Probe::instance().answered(status);
  return start_lingering(connection);
}

/// Never waits: the socket's buffer is empty, except for clients that pipeline without reading.
void RequestLoop::send_refusal(Connection& connection, const std::string& text) {
  const std::array<std::string_view, 1> pieces{text};
  connection.socket.send(pieces, false);
}

RequestLoop::Next RequestLoop::wait_for_more(Connection& connection) {
  if (stopping_) return Next::kClose;
  const SteadyTime now = SteadyClock::now();
  connection.held = input_.unused();
  if (connection.held.empty()) {
    connection.phase = Connection::Phase::kIdle;
    if (connection.answered) connection.deadline = now + limits_.idle_timeout;
  } else if (connection.phase != Connection::Phase::kHead) {
    connection.phase =
        Connection::Phase::kHead;  // later bytes of the head do not extend the deadline
    if (connection.answered) connection.deadline = now + limits_.head_deadline;
  }
  return Next::kPark;
}

RequestLoop::Next RequestLoop::start_lingering(Connection& connection) {
  connection.socket.finish_sending();
  connection.phase = Connection::Phase::kLingering;
  connection.deadline = SteadyClock::now() + kLingerTime;
  connection.linger_bytes_left = kLingerBytesMax;
  return Next::kPark;
}

RequestLoop::Next RequestLoop::linger(Connection& connection) {
  const Moved moved = connection.socket.discard(kLingerStepBytes);
  if (moved.result == Moved::Result::kClosed) return Next::kClose;
  if (moved.bytes >= connection.linger_bytes_left) return Next::kClose;
  connection.linger_bytes_left -= moved.bytes;
  return Next::kPark;
}

}  // namespace tarn::http
