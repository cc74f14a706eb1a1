#include "core/http/request_loop.h"

#include <exception>
#include <utility>

#include "core/base/log.h"
#include "core/http/probe.h"
#include "core/http/request_body.h"
#include "core/http/request_id.h"

namespace tarn::http {
namespace {

// A small upload arrives with its head in one receive.
constexpr size_t kReceiveBytes = 64 * 1024;
// Queued heads wait in memory, so little more than the head is received.
constexpr size_t kCollectBytes = 4 * 1024;
// A client that is told "no" in the middle of an upload gets this long to notice; without it the
// kernel's reset would destroy the answer before it is read.
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr uint64_t kLingerBytesMax = 64 * 1024 * 1024;
constexpr size_t kLingerStepBytes = 1024 * 1024;

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
                         const std::atomic<bool>& stopping)
    : limits_(limits),
      head_limits_{limits.head_bytes_max, limits.target_bytes_max, limits.header_fields_max},
      handler_(handler),
      stopping_(stopping),
      input_(limits.head_bytes_max + kReceiveBytes),
      writer_(limits) {}

RequestLoop::Next RequestLoop::serve(Connection& connection) {
  if (connection.phase == Connection::Phase::kLingering) return linger(connection);
  input_.assign(connection.held);
  connection.held = {};  // and its memory: thousands of idle connections hold none
  for (;;) {
    switch (receive_head(connection, kReceiveBytes)) {
      case Received::kBlocked:
        return wait_for_more(connection);
      case Received::kGone:
        return Next::kClose;
      case Received::kRefused: {
        const int status = connection.scanner.status();
        return refuse(connection, status, why_refused(status));
      }
      case Received::kHead:
        break;
    }
    bool goes_on = false;
    const Next next = answer(connection, goes_on);
    if (!goes_on) return next;
    if (input_.unused().empty()) return wait_for_more(connection);
  }
}

RequestLoop::Head RequestLoop::collect_head(Connection& connection) {
  input_.assign(connection.held);
  const Received received = receive_head(connection, kCollectBytes);
  if (received == Received::kGone) return Head::kGone;
  if (received == Received::kBlocked) {
    return wait_for_more(connection) == Next::kPark ? Head::kIncomplete : Head::kGone;
  }
  connection.held = input_.unused();
  connection.scanner = {};
  return Head::kReady;
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

RequestLoop::Next RequestLoop::answer(Connection& connection, bool& goes_on) {
  const HeadScanner scanner = std::exchange(connection.scanner, {});
  connection.phase = Connection::Phase::kIdle;
  const std::string_view head_bytes = input_.unused().substr(
      scanner.request_line_start(), scanner.head_bytes() - scanner.request_line_start());
  auto parsed = parser_.start(head_bytes, limits_.target_bytes_max);
  input_.consume(scanner.head_bytes());
  if (const auto* refusal = std::get_if<HeadRefusal>(&parsed)) {
    return refuse(connection, refusal->status, refusal->why);
  }
  auto& head = std::get<RequestHead>(parsed);
  RequestBody body(head, connection.socket, input_, parser_, limits_);
  Request& request = head.request;
  request.peer = connection.peer;
  request.id = next_request_id();
  request.body = body.handle();
  Response response = run_handler(request);
  // A handler that moved the body away reads it while the answer is sent.
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

RequestLoop::Next RequestLoop::refuse(Connection& connection, int status, std::string_view why) {
  const std::array<std::string, 1> text{refusal_text(status, why, next_request_id())};
  const std::array<std::string_view, 1> pieces{text[0]};
  // Never waits: the socket's buffer is empty but for a client that pipelines without reading.
  connection.socket.send(pieces, false);
  Probe::instance().answered(status);
  return start_lingering(connection);
}

RequestLoop::Next RequestLoop::wait_for_more(Connection& connection) {
  if (stopping_) return Next::kClose;
  const SteadyTime now = std::chrono::steady_clock::now();
  connection.held = input_.unused();
  if (connection.held.empty()) {
    connection.phase = Connection::Phase::kIdle;
    connection.deadline = now + limits_.idle_timeout;
  } else if (connection.phase != Connection::Phase::kHead) {
    connection.phase =
        Connection::Phase::kHead;  // later pieces of the head do not move the deadline
    connection.deadline = now + limits_.head_deadline;
  }
  return Next::kPark;
}

RequestLoop::Next RequestLoop::start_lingering(Connection& connection) {
  connection.socket.finish_sending();
  connection.phase = Connection::Phase::kLingering;
  connection.deadline = std::chrono::steady_clock::now() + kLingerTime;
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
