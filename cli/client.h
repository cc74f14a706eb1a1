// A client of tarnd's REST API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/answer.h"
#include "cli/settings.h"

namespace tarn::cli {

using Json = nlohmann::json;

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete };

struct Request {
  Method method = Method::kGet;
  std::string path{};  ///< below /api/v1, made by api_path
  Pairs query{};
  Pairs headers{};
  std::string json{};  ///< the body; "" = none
  std::string url{};   ///< instead of path and query: a presigned URL, asked without our keys
};

/// "/repositories/lake/branches/main": each segment percent-encoded. Throws a usage error for an
/// empty one.
std::string api_path(std::initializer_list<std::string_view> segments);

/// The segments of such a path, decoded, without its query.
std::vector<std::string> api_segments(std::string_view path);

/// Throws a usage error if a string of the body is not UTF-8.
Request with_body(Request request, const Json& body);
Request post_request(std::string path);
Request post_request(std::string path, const Json& body);
Request put_request(std::string path);
Request put_request(std::string path, const Json& body);
Request delete_request(std::string path);

/// Gives the next piece of a body, "" at its end.
using BodySource = std::function<std::string_view()>;
/// Takes the next piece of a body.
using BodySink = std::function<void(std::string_view)>;

struct Upload {
  Request request;
  std::string content_type;
  int64_t size_bytes = -1;           ///< -1 = not known: the body goes in chunks and is sent once
  std::function<BodySource()> open;  ///< called for each attempt, starts at the first byte
};

/// How long a client retries.
struct Patience {
  int attempts = 4;
  std::chrono::seconds connect{10};
  /// Commits wait for hooks, which may run for minutes.
  std::chrono::seconds answer{600};
  /// Performs the pauses between attempts.
  std::function<void(std::chrono::milliseconds)> sleep{};
};

/// One connection to one server, reused. Calls that may be repeated safely are repeated a few
/// times, with growing pauses, when the server cannot be reached or says that it is busy. One
/// thread at a time.
class Client {
 public:
  explicit Client(const Settings& settings, Patience patience = {});
  ~Client();

  /// Any answer that is not busy, and the last one when the attempts are used up.
  /// Throws unavailable when none came.
  Answer ask(const Request& request);
  /// The answer's JSON, null when it has none. Throws error_from when it is not ok().
  Json call(const Request& request);
  /// Iterates over all pages of a list; `each` returns false to stop. `page_seen` receives each
  /// page as a whole before its items.
  void each(Request request, const std::function<bool(const Json&)>& each,
            const std::function<void(const Json&)>& page_seen = {});

  /// Uses memory for one piece only. The body of an answer that is not ok() does not go to `sink`.
  /// An interrupted body is continued with a range request as long as its ETag stays the same. An
  /// exception of `sink` ends the download.
  Answer download(const Request& request, const BodySink& sink);
  /// An exception of the body's source ends the upload.
  Answer upload(const Upload& upload);

  /// The last request but uploads that was answered with 404, or with 400; null if none was.
  const Request* missing() const;
  /// The last list of each() that had no item at all; null if each had one.
  const Request* empty_list() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::cli
