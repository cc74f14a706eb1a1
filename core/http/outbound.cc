#include "core/http/outbound.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include <curl/curl.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/transfer.h"

namespace tarn::http {
namespace {

constexpr size_t kReadBytes = 16 << 10;

/// Headers of message framing and routing, which only we may set.
constexpr std::string_view kOurHeaders[] = {
    "Content-Length", "Transfer-Encoding", "Connection", "Expect",
    "Host",           "Upgrade",           "TE",         "Trailer"};

[[noreturn]] void refuse_url(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, reason::kInvalidUrl, str_cat("url: ", why));
}

struct Target {
  std::string host;
  uint16_t port = 0;
};

/// Parsed by libcurl, as the request will be: two parsers could find different hosts in one text.
Target target_of(const std::string& url) {
  if (url.size() > kOutboundUrlBytesMax) {
    refuse_url(str_cat("longer than ", kOutboundUrlBytesMax, " bytes"));
  }
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), &curl_url_cleanup);
  TARN_CHECK(parsed != nullptr);
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  if (url.find('\0') != std::string::npos || code == CURLUE_MALFORMED_INPUT) {
    refuse_url("it cannot be read");
  }
  if (code == CURLUE_UNSUPPORTED_SCHEME) refuse_url("only http and https are possible");
  if (code != CURLUE_OK) refuse_url(curl_url_strerror(code));
  const auto part = [&](CURLUPart which, unsigned flags = 0) -> std::string {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, flags) != CURLUE_OK) return "";
    const std::unique_ptr<char, void (*)(void*)> owned(text, &curl_free);
    return text;
  };
  const std::string scheme = part(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") refuse_url("only http and https are possible");
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()) {
    refuse_url("it holds a user or password; send them in a header");
  }
  if (!part(CURLUPART_ZONEID).empty()) refuse_url("an address with a zone is not possible");
  const std::string port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  Target target{.host = part(CURLUPART_HOST)};
  std::from_chars(port.data(), port.data() + port.size(), target.port);
  return target;
}

void check_head(const OutboundRequest& request) {
  if (!is_token(request.method)) {
    throw_invalid(str_cat("method \"", request.method, "\": not a method"));
  }
  for (const auto& [name, value] : request.headers.all()) {
    if (!is_token(name)) throw_invalid(str_cat("header \"", name, "\": not a header's name"));
    for (const std::string_view ours : kOurHeaders) {
      if (equal_ignoring_case(name, ours)) {
        throw_invalid(str_cat("header \"", name, "\" is not for the request to choose"));
      }
    }
  }
}

/// Checks each address against the rules.
TransferFence fence_for(const TargetRules& rules, const OutboundOptions& options,
                        const Target& target) {
  TransferFence fence;
  fence.known_names = options.known_names;
  fence.stop = cancellation_token();
  fence.judge = [&rules, target](const sockaddr& to) {
    const auto address = IpAddress::of(to);
    if (address && rules.permits(target.host, target.port, *address)) return;
    // Only the log names the address: users must not learn addresses of the server's network.
    log::warn("http_target_refused",
              {{"host", target.host}, {"address", address ? address->text() : "no IP"}});
    throw Error(ErrorCode::kInvalidArgument, reason::kTargetNotAllowed,
                str_cat("host \"", target.host,
                        "\" has no public address; an administrator can "
                        "permit it in hooks.allowed_targets"));
  };
  return fence;
}

}  // namespace

std::optional<std::chrono::milliseconds> retry_after(const OutboundAnswer& answer, Instant now,
                                                     std::chrono::milliseconds longest) {
  using std::chrono::milliseconds;
  if (answer.status != 429 && answer.status != 503) return std::nullopt;
  const std::string_view text = answer.headers.get("Retry-After");
  if (text.empty()) return std::nullopt;
  uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (end == text.data() + text.size()) {
    const auto most = static_cast<uint64_t>(longest.count());
    if (error != std::errc() || seconds > most / 1000) return longest;
    return milliseconds(static_cast<int64_t>(seconds) * 1000);
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::clamp(milliseconds(*date - now), milliseconds(0), longest);
}

Outbound::Outbound(OutboundOptions options)
    : options_(std::move(options)), rules_(options_.allowed_targets) {}

OutboundAnswer Outbound::send(const OutboundRequest& request) const {
  const Target target = target_of(request.url);
  check_head(request);
  const TransferFence fence = fence_for(rules_, options_, target);
  const ClientRequest sent{.method = request.method,
                           .url = request.url,
                           .headers = request.headers,
                           .body = request.body,
                           .deadline = request.timeout};
  // New handles for each request: a kept connection could lead to an address that is no longer
  // permitted.
  CurlHandles handles;
  Transfer transfer(handles, sent,
                    {.connect_timeout = std::min(options_.connect_timeout, request.timeout),
                     .stall_timeout = request.timeout},
                    &fence);
  transfer.run_to_head();
  OutboundAnswer answer{.status = transfer.status(), .headers = transfer.take_headers()};
  std::array<char, kReadBytes> piece;
  while (const size_t count = transfer.read(piece)) {
    const size_t room = request.answer_bytes_max - answer.body.size();
    answer.body.append(piece.data(), std::min(count, room));
    answer.cut = count > room;
    if (answer.cut) break;
  }
  return answer;
}

void Outbound::check(const std::string& url) const {
  TransferFence fence = fence_for(rules_, options_, target_of(url));
  fence.only_judge = true;
  const ClientRequest request{.url = url, .deadline = options_.connect_timeout};
  CurlHandles handles;
  Transfer transfer(handles, request, {.connect_timeout = options_.connect_timeout}, &fence);
  try {
    transfer.run_to_head();
  } catch (const Error& error) {
    // The caller reports connection errors and unknown names.
    if (error.code() != ErrorCode::kUnavailable) throw;
  }
}

}  // namespace tarn::http
