#include "cli/client.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <thread>

#include <httplib.h>
#include <netdb.h>
#include <nlohmann/json.hpp>

#include "cli/certificates.h"
#include "cli/exit_code.h"
#include "cli/failure_advice.h"
#include "cli/json_text.h"
#include "cli/signals.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kApiRoot = "/api/v1";
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5000};
constexpr int kPauseGrowth = 3;
constexpr size_t kPageSize = 1000;
/// A longer error body is not one of ours.
constexpr size_t kErrorBodyBytesMax = 64 << 10;

constexpr int kPartialContent = 206;
constexpr int kStatusBadRequest = 400;
constexpr int kStatusNotFound = 404;

/// Scheme and authority, and the path below which the server is mounted.
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

/// The endpoint of the settings. Throws a usage error unless it is a URL of HTTP.
Endpoint endpoint_of(const Setting& setting) {
  const std::string& url = setting.value;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw usage_error(str_cat("using endpoint \"", url, "\" (from ", setting.origin,
                              "): must begin with http:// or https://"));
  }
  return split_endpoint(url);
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
    case Method::kPatch:
      return "PATCH";
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

/// Whether the host of "https://host:port" has an address; true for one that is an address itself.
bool is_known_host(std::string_view origin) {
  const size_t scheme = origin.find("://");
  std::string host(origin.substr(scheme == std::string_view::npos ? 0 : scheme + 3));
  if (host.starts_with('[')) return true;
  host.resize(std::min(host.find(':'), host.size()));
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (failure == 0) ::freeaddrinfo(found);
  return failure == 0;
}

std::string_view in_words(httplib::Error error, std::string_view origin) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return is_known_host(origin) ? "no connection (is tarnd running there?)"
                                   : "DNS knows no such host: check the name in --endpoint";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
      return "no TLS connection";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not trusted; SSL_CERT_FILE names the file of the certification "
             "authority that signed it";
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

httplib::Headers headers_of(const Request& request) {
  return {request.headers.begin(), request.headers.end()};
}

/// Carries an exception through httplib, which is not exception-safe: stores it, and rethrows it
/// afterwards.
class Detour {
 public:
  /// Whether `step` returned without an exception.
  template <typename Step>
  bool run(const Step& step) {
    try {
      step();
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }
  bool taken() const { return thrown_ != nullptr; }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::exception_ptr thrown_;
};

/// Feeds httplib from a BodySource, whose pieces may be larger than one call accepts.
class Feed {
 public:
  explicit Feed(BodySource source) : source_(std::move(source)) {}

  /// "" at the end of the body, and if the source throws.
  std::string_view next(size_t at_most) {
    if (left_.empty()) detour_.run([this] { left_ = source_(); });
    const std::string_view piece = left_.substr(0, at_most);
    left_.remove_prefix(piece.size());
    return piece;
  }
  bool broken() const { return detour_.taken(); }
  void rethrow() const { detour_.rethrow(); }

 private:
  BodySource source_;
  std::string_view left_;
  Detour detour_;
};

/// One download over all its attempts: the bytes that the sink has, and the object that they belong
/// to.
class Reception {
 public:
  explicit Reception(const BodySink& sink) : sink_(sink) {}

  /// Makes the next attempt request only the missing bytes.
  void begin(httplib::Request& request) {
    body_.clear();
    if (taken_ > 0) request.headers.emplace("Range", str_cat("bytes=", taken_, '-'));
  }
  /// Returns false if the object changed since the partial download began.
  bool take_head(const httplib::Response& head) {
    ok_ = head.status >= 200 && head.status < 300;
    const std::string etag = head.get_header_value("ETag");
    if (taken_ > 0 && ok_) {
      changed_ = head.status != kPartialContent || etag != etag_;
      return !changed_;
    }
    etag_ = etag;
    return true;
  }
  bool take(std::string_view piece) {
    if (ok_) {
      taken_ += piece.size();
      return detour_.run([&] { sink_(piece); });
    }
    if (body_.size() + piece.size() <= kErrorBodyBytesMax) body_ += piece;
    return true;
  }
  void rethrow() const { detour_.rethrow(); }

  bool has_changed() const { return changed_; }
  /// Whether the rest can be requested.
  bool may_go_on() const { return taken_ == 0 || !etag_.empty(); }
  const std::string& error_body() const { return body_; }

 private:
  const BodySink& sink_;
  Detour detour_;
  std::string etag_;
  std::string body_;
  uint64_t taken_ = 0;
  bool ok_ = false;
  bool changed_ = false;
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

std::vector<std::string> api_segments(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);  // '/'
    const size_t end = std::min(path.find('/'), path.size());
    out.push_back(percent_decode(path.substr(0, end)).value_or(""));
    path.remove_prefix(end);
  }
  return out;
}

Request with_body(Request request, const Json& body) {
  request.json = json_body(body);
  return request;
}

Request post_request(std::string path) {
  return {.method = Method::kPost, .path = std::move(path)};
}

Request post_request(std::string path, const Json& body) {
  return with_body(post_request(std::move(path)), body);
}

Request put_request(std::string path) { return {.method = Method::kPut, .path = std::move(path)}; }

Request put_request(std::string path, const Json& body) {
  return with_body(put_request(std::move(path)), body);
}

Request delete_request(std::string path) {
  return {.method = Method::kDelete, .path = std::move(path)};
}

struct Client::State {
  State(const Settings& settings, Patience how_long)
      : endpoint(endpoint_of(settings.endpoint)),
        http(endpoint.origin),
        patience(std::move(how_long)) {
    if (!http.is_valid())
      throw usage_error(str_cat("using endpoint \"", settings.endpoint.value, "\": not a URL"));
    if (!patience.sleep) patience.sleep = [](auto time) { std::this_thread::sleep_for(time); };
    configure(http);
    if (!settings.token.value.empty()) {
      http.set_bearer_token_auth(settings.token.value);
    } else if (!settings.access_key.value.empty()) {
      http.set_basic_auth(settings.access_key.value, settings.secret_key.value);
    }
  }

  void configure(httplib::Client& client) const {
    client.set_url_encode(false);
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_decompress(false);
    client.set_connection_timeout(patience.connect);
    client.set_read_timeout(patience.answer);
    client.set_write_timeout(patience.answer);
    if (const auto bundle = certificate_bundle()) client.set_ca_cert_path(*bundle);
  }

  /// The connection for the request.
  httplib::Client& connection(const Request& request) {
    if (request.url.empty()) return http;
    const std::string origin = split_endpoint(request.url).origin;
    std::unique_ptr<httplib::Client>& other = others[origin];
    if (!other) {
      other = std::make_unique<httplib::Client>(origin);
      configure(*other);
    }
    return *other;
  }

  httplib::Request prepare(const Request& request) const {
    httplib::Request out;
    out.method = name_of(request.method);
    out.headers = headers_of(request);
    if (!request.url.empty()) {
      out.path = split_endpoint(request.url).root;
      return out;
    }
    out.path = str_cat(endpoint.root, kApiRoot, target_of(request));
    out.headers.emplace("Accept", "application/json");
    if (!request.json.empty()) {
      out.headers.emplace("Content-Type", "application/json");
      out.body = request.json;
    }
    return out;
  }

  /// `once` sends the request and returns the answer; `repeatable` says whether the server may
  /// receive the request twice.
  template <typename Once>
  Answer persist(const Request& request, bool repeatable, const Once& once) {
    std::optional<Answer> last;
    httplib::Error failure = httplib::Error::Unknown;
    const NoPipeSignal unless_broken;
    httplib::Client& client = connection(request);
    for (int attempt = 0; attempt < patience.attempts; ++attempt) {
      if (attempt > 0) patience.sleep(pause_before(attempt, last));
      httplib::Result result = once(client);
      if (result) {
        last = answer_from(*result);
        const bool again = last->is_busy() && (repeatable || !last->may_have_been_done());
        if (!again) return *last;
      } else {
        last.reset();
        failure = result.error();
        if (!repeatable && !never_sent(failure)) break;
      }
    }
    if (last) return *last;
    throw no_answer(request, failure);
  }

  Error no_answer(const Request& request, httplib::Error failure) const {
    const std::string origin =
        request.url.empty() ? endpoint.origin : split_endpoint(request.url).origin;
    return Error(ErrorCode::kUnavailable,
                 str_cat("talking to ", origin, ": ", in_words(failure, origin)));
  }

  const Endpoint endpoint;
  httplib::Client http;
  /// Connections for presigned URLs, by scheme and authority.
  std::map<std::string, std::unique_ptr<httplib::Client>> others;
  Patience patience;
  void remember(const Request& request, const Answer& answer) {
    if (answer.status == kStatusNotFound || answer.status == kStatusBadRequest) missing = request;
  }

  std::optional<Request> missing;
  std::optional<Request> empty_list;
};

Client::Client(const Settings& settings, Patience patience)
    : state_(std::make_unique<State>(settings, std::move(patience))) {}

Client::~Client() = default;

Answer Client::ask(const Request& request) {
  Answer answer = state_->persist(request, may_repeat(request.method), [&](httplib::Client& http) {
    return http.send(state_->prepare(request));
  });
  const auto object = std::find_if(request.query.begin(), request.query.end(),
                                   [](const auto& pair) { return pair.first == "path"; });
  answer.subject =
      subject_of(request.path, object == request.query.end() ? std::string_view() : object->second);
  state_->remember(request, answer);
  return answer;
}

Json Client::call(const Request& request) { return json_of(ask(request)); }

void Client::each(Request request, const std::function<bool(const Json&)>& each,
                  const std::function<void(const Json&)>& page_seen) {
  request.query.emplace_back("amount", std::to_string(kPageSize));
  request.query.emplace_back("after", "");
  bool first = true;
  for (;;) {
    const Json page = call(request);
    if (page_seen) page_seen(page);
    if (first && page.at("results").empty()) state_->empty_list = request;
    first = false;
    for (const Json& item : page.at("results")) {
      if (!each(item)) return;
    }
    if (!page.at("pagination").at("has_more").get<bool>()) return;
    request.query.back().second = page.at("pagination").at("next_offset").get<std::string>();
  }
}

const Request* Client::missing() const { return state_->missing ? &*state_->missing : nullptr; }

const Request* Client::empty_list() const {
  return state_->empty_list ? &*state_->empty_list : nullptr;
}

Answer Client::download(const Request& request, const BodySink& sink) {
  Reception reception(sink);
  const auto once = [&](httplib::Client& http) {
    httplib::Request out = state_->prepare(request);
    reception.begin(out);
    out.response_handler = [&](const httplib::Response& head) { return reception.take_head(head); };
    out.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
      return reception.take({data, size});
    };
    httplib::Result result = http.send(out);
    reception.rethrow();
    if (result) {
      result->body = reception.error_body();
    } else if (reception.has_changed()) {
      throw Error(ErrorCode::kPreconditionFailed,
                  "the object changed while it was read; read it again");
    } else if (!reception.may_go_on()) {
      throw state_->no_answer(request, httplib::Error::Read);
    }
    return result;
  };
  Answer answer = state_->persist(request, true, once);
  state_->remember(request, answer);
  return answer;
}

Answer Client::upload(const Upload& upload) {
  const auto once = [&](httplib::Client& http) {
    Feed feed(upload.open());
    const httplib::Request out = state_->prepare(upload.request);
    const auto send = [&](auto... body) {
      return upload.request.method == Method::kPut
                 ? http.Put(out.path, out.headers, body..., upload.content_type)
                 : http.Post(out.path, out.headers, body..., upload.content_type);
    };
    const auto chunks = [&feed](size_t, httplib::DataSink& sink) {
      const std::string_view piece = feed.next(SIZE_MAX);
      if (feed.broken()) return false;
      if (!piece.empty()) return sink.write(piece.data(), piece.size());
      sink.done();
      return true;
    };
    const auto fixed = [&feed](size_t, size_t length, httplib::DataSink& sink) {
      const std::string_view piece = feed.next(length);
      return !piece.empty() && sink.write(piece.data(), piece.size());
    };
    httplib::Result result =
        upload.size_bytes < 0
            ? send(httplib::ContentProviderWithoutLength(chunks))
            : send(static_cast<size_t>(upload.size_bytes), httplib::ContentProvider(fixed));
    feed.rethrow();
    return result;
  };
  return state_->persist(upload.request, upload.size_bytes >= 0, once);
}

}  // namespace tarn::cli
