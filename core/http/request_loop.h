// The loop of a worker thread: serves the requests of one connection until it must wait.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <variant>

#include "core/http/connection.h"
#include "core/http/fair_queue.h"
#include "core/http/input_buffer.h"
#include "core/http/message.h"
#include "core/http/parser.h"
#include "core/http/response_writer.h"
#include "core/http/server.h"

namespace tarn::http {

/// Holds the buffers of one thread. One thread at a time.
class RequestLoop {
 public:
  /// All references outlive the object. `stopping` makes every answer the last of its connection.
  RequestLoop(const ServerLimits& limits, const Handler& handler, const AdmissionPolicy& admission,
              FairQueue& queue, const std::atomic<bool>& stopping);

  /// The owner's next step with the connection. kQueued: nothing, it is the queue's.
  enum class Next { kPark, kClose, kQueued };

  /// Answers every request that has arrived, in order, up to one that has to wait. `started`: the
  /// first was started by the queue.
  Next serve(Connection& connection, FairQueue::Share* started = nullptr);
  /// Receives a head and queues its request, for a thread that must not run requests.
  Next queue_up(Connection& connection);
  /// Refuses a request from the queue.
  Next refuse_waiting(Connection& connection, Overload why);

  /// Answers with an error and lets the client read it before the connection ends.
  Next refuse(Connection& connection, int status, std::string_view why);

 private:
  enum class Received { kHead, kBlocked, kGone, kRefused };

  /// The next parsed head; nullptr: `instead` is the new state of the connection.
  RequestHead* next_head(Connection& connection, size_t step_bytes, Next& instead);
  Received receive_head(Connection& connection, size_t step_bytes);
  Next refuse_head(Connection& connection);
  Next refuse_parsed(Connection& connection);
  static void send_refusal(Connection& connection, const std::string& text);
  /// The head that `receive_head` found; nullptr: `refuse_parsed` sends the reason to the client.
  RequestHead* parse(const Connection& connection);
  std::string share_of(const Request& request) const;
  Next wait_in_queue(Connection& connection, RequestHead& head, const std::string& share);
  Next refuse_request(Connection& connection, const Request& request, Overload why);
  /// Sends an answer that is in memory and lets the client read it before the connection ends.
  Next end_with(Connection& connection, const Request& request, Response& response);
  Next answer(Connection& connection, RequestHead& head, bool& goes_on);
  Response run_handler(Request& request);
  Next wait_for_more(Connection& connection);
  Next linger(Connection& connection);
  static Next start_lingering(Connection& connection);

  const ServerLimits& limits_;
  const HeadLimits head_limits_;
  const Handler& handler_;
  const AdmissionPolicy& admission_;
  FairQueue& queue_;
  const std::atomic<bool>& stopping_;
  InputBuffer input_;
  Parser parser_;
  std::variant<RequestHead, HeadRefusal> parsed_;
  ResponseWriter writer_;
};

}  // namespace tarn::http
