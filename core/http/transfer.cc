#include "core/http/transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/wait_scope.h"
#include "core/http/socket.h"

namespace tarn::http {
namespace {

constexpr long kTransferBufferBytes =
    512 * 1024;  // uploads take half as long as with the default of 64 KiB
constexpr uint64_t kBufferBytesMin = 16 * 1024;
// A body that the caller does not read is buffered up to here; then the socket is left unread.
constexpr size_t kEarlyBytesMax = 512 * 1024;
constexpr long kConnectionAgeMaxSeconds = 60;  // servers close idle connections then
constexpr int kPollMilliseconds = 1'000;       // interval at which libcurl checks its deadlines
constexpr int kFencedPollMilliseconds = 100;   // for cancellable exchanges
constexpr size_t kHeadBytesMax = 256 * 1024;
constexpr long kStallBytesPerSecond = 1;
// Below this a kept connection saves more than copying costs.
constexpr curl_off_t kSplicedBytesMin = 16 * 1024 * 1024;

CURL* easy_of(const CurlHandles& handles) { return handles.easy(); }
CURLM* multi_of(const CurlHandles& handles) { return handles.multi(); }

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code != CURLE_OK) {
    throw Error(ErrorCode::kInternal, str_cat("setting up a transfer: ", curl_easy_strerror(code)));
  }
}

/// libcurl allocates the buffer for each exchange.
long buffer_bytes(std::optional<uint64_t> expected) {
  constexpr uint64_t kHead = 4 * 1024;
  const auto most = static_cast<uint64_t>(kTransferBufferBytes);
  return static_cast<long>(
      std::clamp<uint64_t>(std::min(expected.value_or(most), most) + kHead, kBufferBytesMin, most));
}

void initialise_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  TARN_CHECK(code == CURLE_OK);
}

void free_list(void* list) { curl_slist_free_all(static_cast<curl_slist*>(list)); }

}  // namespace

CurlHandles::CurlHandles() : easy_(nullptr), multi_(nullptr) {
  initialise_once();
  easy_ = curl_easy_init();
  multi_ = curl_multi_init();
  TARN_CHECK(easy_ != nullptr && multi_ != nullptr);
}

struct CurlHandles::Callbacks {
  static int opened(void* self, curl_socket_t fd, curlsocktype) {
    static_cast<CurlHandles*>(self)->sockets_.push_back(fd);
    return CURL_SOCKOPT_OK;
  }
  static int close(void* self, curl_socket_t fd) {
    std::erase(static_cast<CurlHandles*>(self)->sockets_, fd);
    return ::close(fd);
  }
};

void CurlHandles::note_sockets() {
  set(easy_of(*this), CURLOPT_SOCKOPTFUNCTION, &Callbacks::opened);
  set(easy_of(*this), CURLOPT_SOCKOPTDATA, this);
  set(easy_of(*this), CURLOPT_CLOSESOCKETFUNCTION, &Callbacks::close);
  set(easy_of(*this), CURLOPT_CLOSESOCKETDATA, this);
}

int CurlHandles::socket() const {
  // CURLINFO_ACTIVESOCKET is known only at the end of an exchange.
  long local = 0;
  long remote = 0;
  curl_easy_getinfo(easy_of(*this), CURLINFO_LOCAL_PORT, &local);
  curl_easy_getinfo(easy_of(*this), CURLINFO_PRIMARY_PORT, &remote);
  int found = -1;
  for (const int fd : sockets_) {
    const SocketPorts ports = ports_of(fd);
    if (ports.local != local || ports.remote != remote) continue;
    if (found >= 0) return -1;
    found = fd;
  }
  return found;
}

CurlHandles::~CurlHandles() {
  curl_easy_cleanup(easy_);
  curl_multi_cleanup(multi_);
}

struct Transfer::Callbacks {
  static size_t header(char* bytes, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->on_header_line({bytes, size * count});
  }
  static size_t body(char* bytes, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->on_body({bytes, size * count});
  }
  static size_t upload(char* bytes, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->on_upload({bytes, size * count});
  }
  static int seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Transfer*>(self)->upload_offset_ = static_cast<uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    return static_cast<Transfer*>(self)->open_socket(*address);
  }
};

Transfer::Transfer(CurlHandles& handles, const ClientRequest& request, const ClientOptions& options,
                   const TransferFence* fence)
    : handles_(handles),
      request_(request),
      stall_timeout_(options.stall_timeout),
      fence_(fence),
      header_list_(nullptr, &free_list),
      known_names_(nullptr, &free_list) {
  static_assert(sizeof error_text_ >= CURL_ERROR_SIZE);
  curl_easy_reset(easy_of(handles_));  // keeps the connections
  handles_.note_sockets();
  set_options(options);
  if (fence_ != nullptr) set_fence();
  set_method();
  set_headers();
  curl_multi_add_handle(multi_of(handles_), easy_of(handles_));
}

Transfer::~Transfer() {
  // Closes a connection whose response was not read completely.
  curl_multi_remove_handle(multi_of(handles_), easy_of(handles_));
  curl_easy_reset(easy_of(handles_));
}

void Transfer::set_options(const ClientOptions& options) {
  CURL* easy = easy_of(handles_);
  set(easy, CURLOPT_URL, request_.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_MAXAGE_CONN, kConnectionAgeMaxSeconds);
  set(easy, CURLOPT_BUFFERSIZE, buffer_bytes(request_.expected_bytes));
  set(easy, CURLOPT_UPLOAD_BUFFERSIZE, kTransferBufferBytes);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(easy, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  const auto stall = std::chrono::ceil<std::chrono::seconds>(options.stall_timeout);
  set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall.count()));
  if (request_.deadline) {
    set(easy, CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(request_.deadline->count())));
  }
  set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  set(easy, CURLOPT_HEADERFUNCTION, &Callbacks::header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &Callbacks::body);
  set(easy, CURLOPT_WRITEDATA, this);
}

void Transfer::set_fence() {
  CURL* easy = easy_of(handles_);
  set(easy, CURLOPT_PROXY, "");       // and none from the environment
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a pending name lookup does not delay the end
  set(easy, CURLOPT_OPENSOCKETFUNCTION, &Callbacks::open_socket);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  if (fence_->known_names.empty()) return;
  curl_slist* list = nullptr;
  for (const std::string& name : fence_->known_names) {
    list = curl_slist_append(list, name.c_str());
    TARN_CHECK(list != nullptr);
    if (!known_names_) known_names_.reset(list);
  }
  set(easy, CURLOPT_RESOLVE, list);
}

void Transfer::set_method() {
  CURL* easy = easy_of(handles_);
  if (request_.upload) {
    set(easy, CURLOPT_UPLOAD, 1L);
    set(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.upload_bytes));
    set(easy, CURLOPT_READFUNCTION, &Callbacks::upload);
    set(easy, CURLOPT_READDATA, this);
    // Lets libcurl resend a body if a kept connection turns out to be dead.
    set(easy, CURLOPT_SEEKFUNCTION, &Callbacks::seek);
    set(easy, CURLOPT_SEEKDATA, this);
  } else if (!request_.body.empty() || request_.method == "PUT" || request_.method == "POST") {
    set(easy, CURLOPT_POST, 1L);
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(easy, CURLOPT_POSTFIELDS, request_.body.data());
  } else if (request_.method == "HEAD") {
    set(easy, CURLOPT_NOBODY, 1L);
  }
  set(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

void Transfer::set_headers() {
  curl_slist* list = nullptr;
  const auto append = [&](const std::string& line) {
    list = curl_slist_append(list, line.c_str());
    TARN_CHECK(list != nullptr);
    if (!header_list_) header_list_.reset(list);
  };
  for (const auto& [name, value] : request_.headers.all()) {
    if (equal_ignoring_case(name, "Content-Length") || equal_ignoring_case(name, "Expect"))
      continue;
    if (name.find_first_of("\r\n") != std::string::npos ||
        value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      throw_invalid(str_cat(subject(), ": header \"", name, "\" holds a line break"));
    }
    append(value.empty() ? str_cat(name, ";") : str_cat(name, ": ", value));
  }
  // Headers that libcurl would add. Waiting for "100 Continue" takes a second with servers that do
  // not send it.
  append("Expect:");
  for (const char* name : {"Accept", "Content-Type"}) {
    if (request_.headers.find(name) == nullptr) append(str_cat(name, ":"));
  }
  set(easy_of(handles_), CURLOPT_HTTPHEADER, list);
}

template <typename Work>
size_t Transfer::guarded(size_t failure, Work work) {
  try {
    return work();
  } catch (...) {
    thrown_ = std::current_exception();
    return failure;
  }
}

int Transfer::open_socket(const curl_sockaddr& address) {
  int fd = CURL_SOCKET_BAD;
  guarded(0, [&] {
    fence_->judge(address.addr);
    if (!fence_->only_judge) {
      fd = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
    }
    return size_t{0};
  });
  return fd;
}

size_t Transfer::on_header_line(std::string_view line) {
  const size_t taken = line.size();
  head_bytes_ += taken;
  if (head_bytes_ > kHeadBytesMax) {
    return guarded(0, [&]() -> size_t {
      throw Error(ErrorCode::kResourceExhausted, reason::kHeadTooLarge,
                  str_cat(subject(), ": head of the answer longer than ", kHeadBytesMax, " bytes"));
    });
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (head_done_) return taken;  // trailers
  if (line.empty()) {
    head_done_ = status() >= 200;
    return taken;
  }
  if (line.starts_with("HTTP/")) {
    headers_ = {};
    return taken;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return taken;
  std::string_view value = line.substr(colon + 1);
  const size_t begin = value.find_first_not_of(" \t");
  value = begin == std::string_view::npos ? std::string_view() : value.substr(begin);
  value = value.substr(0, value.find_last_not_of(" \t") + 1);
  headers_.add(std::string(line.substr(0, colon)), std::string(value));
  return taken;
}

size_t Transfer::on_body(std::string_view bytes) {
  if (whole_) return on_body_whole(bytes);
  if (early_.size() - early_used_ >= kEarlyBytesMax) {
    paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  const bool in_order = early_used_ == early_.size();
  const size_t direct = in_order ? std::min(bytes.size(), wanted_.size()) : 0;
  if (direct > 0) std::memcpy(wanted_.data(), bytes.data(), direct);
  wanted_ = wanted_.subspan(direct);
  given_ += direct;
  return guarded(0, [&] {
    early_.append(bytes.substr(direct));
    return bytes.size();
  });
}

size_t Transfer::on_body_whole(std::string_view bytes) {
  return guarded(0, [&] {
    if (bytes.size() > body_bytes_max_ - body_.size()) {
      throw Error(ErrorCode::kResourceExhausted, reason::kBodyTooLarge,
                  str_cat(subject(), ": answer longer than ", body_bytes_max_, " bytes"));
    }
    body_.append(bytes);
    return bytes.size();
  });
}

size_t Transfer::on_upload(std::span<char> out) {
  return guarded(CURL_READFUNC_ABORT, [&] {
    const uint64_t left = request_.upload_bytes - std::min(upload_offset_, request_.upload_bytes);
    out = out.first(static_cast<size_t>(std::min<uint64_t>(out.size(), left)));
    if (out.empty()) return size_t{0};
    const size_t count = request_.upload(upload_offset_, out);
    if (count == 0) {
      throw Error(ErrorCode::kDataLoss,
                  str_cat(subject(), ": upload ended ", left, " bytes early"));
    }
    upload_offset_ += count;
    return count;
  });
}

void Transfer::perform() {
  int running = 0;
  const CURLMcode code = curl_multi_perform(multi_of(handles_), &running);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  if (code != CURLM_OK) {
    throw Error(ErrorCode::kUnavailable, str_cat(subject(), ": ", curl_multi_strerror(code)));
  }
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_of(handles_), &queued)) {
    if (message->msg != CURLMSG_DONE) continue;
    done_ = true;
    result_ = message->data.result;
  }
}

void Transfer::wait() {
  int ready = 0;
  const int wait_ms = fence_ != nullptr ? kFencedPollMilliseconds : kPollMilliseconds;
  const WaitScope waits;
  curl_multi_poll(multi_of(handles_), nullptr, 0, wait_ms, &ready);
  if (fence_ != nullptr && fence_->stop.stop_requested()) {
    throw Error(ErrorCode::kConflict, reason::kOperationCancelled,
                str_cat(subject(), ": cancelled"));
  }
}

void Transfer::throw_if_failed() const {
  const auto code = static_cast<CURLcode>(result_);
  if (code == CURLE_OK) return;
  const char* text = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  const bool wrong_request = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
  throw Error(wrong_request ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable,
              str_cat(subject(), ": ", text));
}

/// The URL without its query, which may contain a signature.
std::string Transfer::subject() const {
  return str_cat(request_.method, " ",
                 std::string_view(request_.url).substr(0, request_.url.find('?')));
}

ClientResponse Transfer::run_to_end(size_t body_bytes_max) {
  whole_ = true;
  body_bytes_max_ = body_bytes_max;
  for (perform(); !done_; perform()) wait();
  throw_if_failed();
  return {.status = status(), .headers = std::move(headers_), .body = std::move(body_)};
}

void Transfer::run_to_head() {
  for (perform(); !done_ && !head_done_; perform()) wait();
  if (!head_done_) throw_if_failed();
}

size_t Transfer::read(std::span<char> out) {
  if (out.empty()) return 0;
  if (socket_body_) {
    return take_from_socket(out.size(),
                            [&](int fd, size_t limit) { return ::recv(fd, out.data(), limit, 0); });
  }
  if (early_used_ < early_.size()) {
    const size_t count = std::min(out.size(), early_.size() - early_used_);
    std::memcpy(out.data(), early_.data() + early_used_, count);
    early_used_ += count;
    return count;
  }
  early_.clear();
  early_used_ = 0;
  wanted_ = out;
  given_ = 0;
  if (std::exchange(paused_, false)) curl_easy_pause(easy_of(handles_), CURLPAUSE_CONT);
  while (given_ == 0 && !done_) {
    perform();
    if (given_ == 0 && !done_) wait();
  }
  wanted_ = {};
  if (given_ == 0) throw_if_failed();
  return given_;
}

std::optional<size_t> Transfer::splice(int pipe, size_t limit) {
  if (early_used_ < early_.size() || (!socket_body_ && !take_socket())) return std::nullopt;
  return take_from_socket(limit, [&](int fd, size_t most) {
    return ::splice(fd, nullptr, pipe, nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  });
}

/// From here on libcurl does not run: every byte that it has received was handed out.
bool Transfer::take_socket() {
  if (done_ || paused_ || !head_done_ || !request_.url.starts_with("http://")) return false;
  curl_off_t length = -1;  // unknown for a chunked body
  curl_off_t received = 0;
  curl_easy_getinfo(easy_of(handles_), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  curl_easy_getinfo(easy_of(handles_), CURLINFO_SIZE_DOWNLOAD_T, &received);
  if (length - received < kSplicedBytesMin) return false;
  const int fd = handles_.socket();
  if (fd < 0) return false;
  socket_body_ = {fd, static_cast<uint64_t>(length - received)};
  return true;
}

template <typename Take>
size_t Transfer::take_from_socket(size_t limit, const Take& take) {
  SocketBody& body = *socket_body_;
  limit = static_cast<size_t>(std::min<uint64_t>(limit, body.left));
  if (limit == 0) return 0;
  while (true) {
    const ssize_t count = take(body.fd, limit);
    if (count > 0) {
      body.left -= static_cast<uint64_t>(count);
      return static_cast<size_t>(count);
    }
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      throw Error(ErrorCode::kUnavailable,
                  str_cat(subject(), ": the connection ended ", body.left, " bytes early"));
    }
    pollfd waited{.fd = body.fd, .events = POLLIN, .revents = 0};
    const WaitScope waits;
    if (::poll(&waited, 1, static_cast<int>(stall_timeout_.count())) == 0) {
      throw Error(ErrorCode::kUnavailable,
                  str_cat(subject(), ": no byte arrived for ", stall_timeout_.count(), " ms"));
    }
  }
}

int Transfer::status() const {
  long status = 0;
  curl_easy_getinfo(easy_of(handles_), CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

}  // namespace tarn::http
