// Serving the requests of one connection after the other: what a worker thread does between two
// waits.
#pragma once

#include <atomic>
#include <string_view>

#include "core/http/connection.h"
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
  RequestLoop(const ServerLimits& limits, const Handler& handler,
              const std::atomic<bool>& stopping);

  /// What the owner does with the connection afterwards.
  enum class Next { kPark, kClose };

  /// Answers every request that has arrived, in order.
  Next serve(Connection& connection);

  enum class Head { kIncomplete, kReady, kGone };
  /// Receives a head without answering it, for the queue. kReady: `serve` will not have to wait.
  Head collect_head(Connection& connection);

  /// Answers with an error and lets the client read it before the connection ends.
  Next refuse(Connection& connection, int status, std::string_view why);

 private:
  enum class Received { kHead, kBlocked, kGone, kRefused };

  Received receive_head(Connection& connection, size_t step_bytes);
  Next answer(Connection& connection, bool& goes_on);
  Response run_handler(Request& request);
  Next wait_for_more(Connection& connection);
  Next linger(Connection& connection);
  static Next start_lingering(Connection& connection);

  const ServerLimits& limits_;
  const HeadLimits head_limits_;
  const Handler& handler_;
  const std::atomic<bool>& stopping_;
  InputBuffer input_;
  Parser parser_;
  ResponseWriter writer_;
};

}  // namespace tarn::http
