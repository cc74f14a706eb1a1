#include "cli/client.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include <httplib.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kApiRoot = "/api/v1";
constexpr int kAttempts = 4;
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5000};
constexpr int kPauseGrowth = 3;
constexpr std::chrono::seconds kConnectTimeout{10};
/// Commits wait for hooks, which may run for minutes.
constexpr std::chrono::seconds kAnswerTimeout{600};
constexpr size_t kPageSize = 1000;
/// An error body longer than this is not one of ours.
constexpr size_t kErrorBodyBytesMax = 64 << 10;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kGone = 410;
constexpr int kPreconditionFailed = 412;
constexpr int kUnprocessable = 422;
constexpr int kLocked = 423;
constexpr int kTooManyRequests = 429;
constexpr int kInternalError = 500;
constexpr int kNotImplemented = 501;
constexpr int kBadGateway = 502;
constexpr int kServiceUnavailable = 503;
constexpr int kGatewayTimeout = 504;

/// Scheme and authority apart from a path below which the server is mounted.
struct Endpoint {
  std::string origin;
  std::string root;
};

Endpoint split_endpoint(const std::string& url) {
  const size_t authority = url.find("://") + 3;
  const size_t path = url.find('/', authority);
  if (path == std::string::npos) return {url, ""};
  return {url.substr(0, path), url.substr(path)};
}

std::string_view name_of(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

std::string target_of(const Request& request) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += str_cat(separator, name, '=', percent_encode(value));
    separator = '&';
  }
  return target;
}

bool is_busy(int status) {
  return status == kLocked || status == kTooManyRequests || status == kBadGateway ||
         status == kServiceUnavailable || status == kGatewayTimeout;
}

bool may_repeat(Method method) { return method == Method::kGet || method == Method::kHead; }

/// Whether the request cannot have reached the server.
bool never_sent(httplib::Error error) {
  return error == httplib::Error::Connection || error == httplib::Error::ConnectionTimeout;
}

std::chrono::milliseconds pause_before(int attempt, const std::optional<Answer>& last) {
  std::chrono::milliseconds pause = kFirstPause;
  for (int i = 1; i < attempt; ++i) pause *= kPauseGrowth;
  if (last) {
    const std::string wished = last->header("Retry-After");
    if (!wished.empty() && wished.size() < 4 &&
        std::all_of(wished.begin(), wished.end(), ::isdigit)) {
      pause = std::chrono::seconds(std::stoi(wished));
    }
  }
  return std::min(pause, kLongestPause);
}

std::string_view in_words(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return "no connection (is tarnd running there?)";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
      return "no TLS connection";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not trusted";
    case httplib::Error::Read:
      return "the connection broke while waiting for the answer";
    case httplib::Error::Write:
      return "the connection broke while sending";
    default:
      return "the connection failed";
  }
}

Answer answer_from(const httplib::Response& response) {
  Answer answer;
  answer.status = response.status;
  answer.headers.assign(response.headers.begin(), response.headers.end());
  answer.body = response.body;
  return answer;
}

/// Reasons live as long as the program, as Error demands.
std::string_view interned(const std::string& word) {
  static std::set<std::string> words;
  return *words.insert(word).first;
}

/// Servers without X-Tarn-Error tell the two 409s apart by their words alone.
ErrorCode code_of_conflict(const Answer& answer, const std::string& message) {
  const bool exists = answer.reason() == "already_exists" ||
                      message.find("exists") != std::string::npos ||
                      message.find("not unique") != std::string::npos;
  return exists ? ErrorCode::kAlreadyExists : ErrorCode::kConflict;
}

ErrorCode code_of(const Answer& answer, const std::string& message) {
  switch (answer.status) {
    case kBadRequest:
      return ErrorCode::kInvalidArgument;
    case kUnauthorized:
      return ErrorCode::kUnauthenticated;
    case kForbidden:
      return ErrorCode::kPermissionDenied;
    case kNotFound:
      return ErrorCode::kNotFound;
    case kConflict:
      return code_of_conflict(answer, message);
    case kGone:
      return ErrorCode::kGone;
    case kPreconditionFailed:
      return message == "path already exists" ? ErrorCode::kAlreadyExists
                                              : ErrorCode::kPreconditionFailed;
    case kNotImplemented:
      return ErrorCode::kUnimplemented;
    default:
      return is_busy(answer.status) ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

std::string reason_of(const Answer& answer, const std::string& message) {
  const std::string reason = answer.reason();
  const bool hook =
      answer.status == kPreconditionFailed && message.find("hook") != std::string::npos;
  if (hook) return std::string(kReasonHookFailed);
  if (reason.empty() && answer.status == kUnprocessable) return std::string(kReasonMetricMissing);
  // "usage" is this program's own word.
  return reason == kReasonUsage ? "" : reason;
}

httplib::Headers headers_of(const Request& request) {
  return {request.headers.begin(), request.headers.end()};
}

/// Feeds httplib from a BodySource, whose pieces are larger than what one call may take.
class Feed {
 public:
  explicit Feed(BodySource source) : source_(std::move(source)) {}

  /// "" at the end of the body.
  std::string_view next(size_t at_most) {
    if (left_.empty()) left_ = source_();
    const std::string_view piece = left_.substr(0, at_most);
    left_.remove_prefix(piece.size());
    return piece;
  }

 private:
  BodySource source_;
  std::string_view left_;
};

}  // namespace

std::string api_path(std::initializer_list<std::string_view> segments) {
  std::string path;
  for (std::string_view segment : segments) {
    if (segment.empty())
      throw usage_error("naming a repository, branch, tag or commit: the name is empty");
    path += str_cat('/', percent_encode(segment));
  }
  return path;
}

std::string Answer::header(std::string_view name) const {
  const auto equal = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const auto& [key, value] : headers) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), equal)) return value;
  }
  return "";
}

std::string Answer::message() const {
  const Json parsed = Json::parse(body, nullptr, false);
  if (parsed.is_object() && parsed.contains("message") && parsed["message"].is_string()) {
    return parsed["message"].get<std::string>();
  }
  return str_cat("the server answered with status ", status);
}

Error error_from(const Answer& answer) {
  const std::string message = answer.message();
  const ErrorCode code = code_of(answer, message);
  std::string text = message;
  const std::string request_id = answer.header("X-Request-Id");
  if (answer.status >= kInternalError && !request_id.empty())
    text += str_cat(" (request ", request_id, ")");
  const std::string reason = reason_of(answer, message);
  if (reason.empty()) return Error(code, text);
  return Error(code, interned(reason), text);
}

bool says_no_changes(const Answer& answer) {
  if (answer.status != kBadRequest) return false;
  return answer.reason() == "no_changes" ||
         answer.message().find("no changes") != std::string::npos;
}

struct Client::State {
  State(const Settings& settings, Sleep between_attempts)
      : endpoint(split_endpoint(settings.endpoint.value)),
        http(endpoint.origin),
        sleep(std::move(between_attempts)) {
    if (!http.is_valid())
      throw usage_error(str_cat("using endpoint \"", settings.endpoint.value, "\": not a URL"));
    http.set_url_encode(false);
    http.set_keep_alive(true);
    http.set_tcp_nodelay(true);
    http.set_decompress(false);
    http.set_connection_timeout(kConnectTimeout);
    http.set_read_timeout(kAnswerTimeout);
    http.set_write_timeout(kAnswerTimeout);
    if (!settings.access_key.value.empty()) {
      http.set_basic_auth(settings.access_key.value, settings.secret_key.value);
    }
  }

  httplib::Request prepare(const Request& request) const {
    httplib::Request out;
    out.method = name_of(request.method);
    out.path = str_cat(endpoint.root, kApiRoot, target_of(request));
    out.headers = headers_of(request);
    out.headers.emplace("Accept", "application/json");
    if (!request.json.empty()) {
      out.headers.emplace("Content-Type", "application/json");
      out.body = request.json;
    }
    return out;
  }

  /// `once` sends and returns what came; `repeatable` tells whether the server may see the request
  /// twice.
  template <typename Once>
  Answer persist(bool repeatable, const Once& once) {
    std::optional<Answer> last;
    httplib::Error failure = httplib::Error::Unknown;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) sleep(pause_before(attempt, last));
      httplib::Result result = once();
      if (result) {
        last = answer_from(*result);
        const bool again = is_busy(last->status) && (repeatable || last->status != kBadGateway);
        if (!again) return *last;
      } else {
        last.reset();
        failure = result.error();
        if (!repeatable && !never_sent(failure)) break;
      }
    }
    if (last) return *last;
    throw Error(ErrorCode::kUnavailable,
                str_cat("talking to ", endpoint.origin, ": ", in_words(failure)));
  }

  const Endpoint endpoint;
  httplib::Client http;
  const Sleep sleep;
};

Client::Client(const Settings& settings)
    : Client(settings, [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }) {}

Client::Client(const Settings& settings, Sleep sleep)
    : state_(std::make_unique<State>(settings, std::move(sleep))) {}

Client::~Client() = default;

Answer Client::ask(const Request& request) {
  return state_->persist(may_repeat(request.method),
                         [&] { return state_->http.send(state_->prepare(request)); });
}

Json Client::call(const Request& request) {
  const Answer answer = ask(request);
  if (!answer.ok()) throw error_from(answer);
  if (answer.body.empty()) return nullptr;
  Json parsed = Json::parse(answer.body, nullptr, false);
  if (parsed.is_discarded()) {
    throw Error(ErrorCode::kInternal, str_cat("reading the answer of ", state_->endpoint.origin,
                                              ": not JSON (is this a Tarn endpoint?)"));
  }
  return parsed;
}

void Client::each(Request request, const std::function<bool(const Json&)>& each) {
  request.query.emplace_back("amount", std::to_string(kPageSize));
  request.query.emplace_back("after", "");
  for (;;) {
    const Json page = call(request);
    for (const Json& item : page.at("results")) {
      if (!each(item)) return;
    }
    if (!page.at("pagination").at("has_more").get<bool>()) return;
    request.query.back().second = page.at("pagination").at("next_offset").get<std::string>();
  }
}

Answer Client::download(const Request& request, const BodySink& sink) {
  bool started = false;
  const auto once = [&] {
    httplib::Request out = state_->prepare(request);
    auto body = std::make_shared<std::string>();
    auto ok = std::make_shared<bool>(false);
    out.response_handler = [ok](const httplib::Response& head) {
      *ok = head.status >= 200 && head.status < 300;
      return true;
    };
    out.content_receiver = [&, body, ok](const char* data, size_t size, uint64_t, uint64_t) {
      if (*ok) {
        started = true;
        sink({data, size});
      } else if (body->size() + size <= kErrorBodyBytesMax) {
        body->append(data, size);
      }
      return true;
    };
    httplib::Result result = state_->http.send(out);
    if (result) result->body = *body;
    // What the sink has taken cannot be taken back, so a body that breaks off is not asked for
    // again.
    if (!result && started) {
      throw Error(ErrorCode::kUnavailable, str_cat("reading from ", state_->endpoint.origin, ": ",
                                                   in_words(result.error())));
    }
    return result;
  };
  return state_->persist(true, once);
}

Answer Client::upload(const Upload& upload) {
  const auto once = [&]() -> httplib::Result {
    auto feed = std::make_shared<Feed>(upload.open());
    httplib::Request out = state_->prepare(upload.request);
    if (upload.size_bytes < 0) {
      const auto chunks = [feed](size_t, httplib::DataSink& sink) {
        const std::string_view piece = feed->next(SIZE_MAX);
        if (piece.empty()) {
          sink.done();
          return true;
        }
        return sink.write(piece.data(), piece.size());
      };
      return state_->http.Post(out.path, out.headers, chunks, upload.content_type);
    }
    const auto fixed = [feed](size_t, size_t length, httplib::DataSink& sink) {
      const std::string_view piece = feed->next(length);
      return !piece.empty() && sink.write(piece.data(), piece.size());
    };
    return state_->http.Post(out.path, out.headers, static_cast<size_t>(upload.size_bytes), fixed,
                             upload.content_type);
  };
  return state_->persist(upload.size_bytes >= 0, once);
}

}  // namespace tarn::cli
