#include "cli/answer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kGone = 410;
constexpr int kPreconditionFailed = 412;
constexpr int kContentTooLarge = 413;
constexpr int kUnprocessable = 422;
constexpr int kLocked = 423;
constexpr int kTooManyRequests = 429;
constexpr int kInternalError = 500;
constexpr int kNotImplemented = 501;
constexpr int kBadGateway = 502;
constexpr int kServiceUnavailable = 503;
constexpr int kGatewayTimeout = 504;
constexpr int kInsufficientStorage = 507;

/// Begins the server's message about a ref that names nothing.
constexpr std::string_view kByRef = "get commit by ref ";

/// Error requires reasons that live as long as the program.
std::string_view interned(const std::string& word) {
  static Mutex mutex;
  static std::set<std::string> words;
  const MutexLock lock(mutex);
  return *words.insert(word).first;
}

/// Servers without X-Tarn-Error distinguish the two 409s by their messages only.
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
    case kForbidden:  // stores say so when a quota is full
      return answer.reason() == reason::kQuotaExceeded ? ErrorCode::kResourceExhausted
                                                       : ErrorCode::kPermissionDenied;
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
    case kContentTooLarge:
    case kInsufficientStorage:
      return ErrorCode::kResourceExhausted;
    case kTooManyRequests:
      return answer.is_busy() ? ErrorCode::kUnavailable : ErrorCode::kResourceExhausted;
    default:
      return answer.is_busy() ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

std::string reason_of(const Answer& answer, const std::string& message) {
  const std::string reason = answer.reason();
  const bool hook =
      answer.status == kPreconditionFailed && message.find("hook") != std::string::npos;
  if (hook) return std::string(kReasonHookFailed);
  if (reason.empty() && answer.status == kUnprocessable) return std::string(kReasonMetricMissing);
  // "usage" is a reason of this program, not of the server.
  return reason == kReasonUsage ? "" : reason;
}

/// Messages of the format that Tarn serves end in words about how it is built.
std::string in_plain_words(std::string message) {
  if (message == "error creating repository: not unique") {
    return "a repository of this name exists already; --if-not-exists takes it as it is";
  }
  if (message.starts_with(kByRef)) message.replace(0, kByRef.size(), "ref ");
  for (const std::string_view inner : {": not unique", ": validation error"}) {
    if (message.ends_with(inner)) message.resize(message.size() - inner.size());
  }
  return message;
}

/// The text of the first element of this name in an S3 error; "" = there is none.
std::string element_of(std::string_view xml, std::string_view name) {
  const std::string open = str_cat('<', name, '>');
  const size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return "";
  const size_t end = xml.find(str_cat("</", name, '>'), begin);
  if (end == std::string_view::npos) return "";
  std::string text(xml.substr(begin + open.size(), end - begin - open.size()));
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
  for (const auto& [entity, letter] : kEntities) {
    for (size_t at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1)) {
      text.replace(at, entity.size(), 1, letter);
    }
  }
  return text;
}

bool is_xml(std::string_view body) { return body.starts_with('<'); }

/// "branch not found" says of which kind the missing thing is, not which one.
bool names_nothing(const std::string& message) {
  return message.ends_with("not found") && !message.starts_with(kByRef) &&
         message.find_first_of("'\"/@") == std::string::npos;
}

}  // namespace

bool Answer::is_busy() const {
  if (status == kTooManyRequests) return reason().empty();
  return status == kLocked || status == kBadGateway || status == kServiceUnavailable ||
         status == kGatewayTimeout;
}

bool Answer::may_have_been_done() const {
  return status == kBadGateway || status == kGatewayTimeout || reason() == reason::kInDoubt;
}

std::string Answer::header(std::string_view name) const {
  const auto equal = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const auto& [key, value] : headers) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), equal)) return value;
  }
  return "";
}

std::string Answer::reason() const {
  const std::string word = header("X-Tarn-Error");
  if (!word.empty() || !is_xml(body)) return word;
  const std::string code = element_of(body, "Code");
  // core/blob reads the same from stores.
  const bool full = code == "QuotaExceeded" || code == "XMinioStorageFull";
  return full ? std::string(reason::kQuotaExceeded) : "";
}

std::string Answer::message() const {
  if (is_xml(body)) {
    if (std::string text = element_of(body, "Message"); !text.empty()) {
      return str_cat("the object store: ", text);
    }
  }
  const nlohmann::json parsed = parse_json(body);
  // The detail says the same and more.
  for (const char* name : {"detail", "message"}) {
    if (!parsed.is_object() || !parsed.contains(name) || !parsed[name].is_string()) continue;
    return parsed[name].get<std::string>();
  }
  return str_cat("the server answered with status ", status);
}

Error error_from(const Answer& answer) {
  const std::string message = answer.message();
  const ErrorCode code = code_of(answer, message);
  std::string text = in_plain_words(message);
  if (answer.status == kNotFound && !answer.subject.empty() && names_nothing(message)) {
    text = str_cat(answer.subject, ": ", text);
  }
  const std::string request_id = answer.header("X-Request-Id");
  if (answer.status >= kInternalError && !request_id.empty())
    text += str_cat(" (request ", request_id, ")");
  const std::string reason = reason_of(answer, message);
  if (reason.empty()) return Error(code, text);
  return Error(code, interned(reason), text);
}

nlohmann::json json_of(const Answer& answer) {
  if (!answer.ok()) throw error_from(answer);
  if (answer.body.empty()) return nullptr;
  nlohmann::json parsed = parse_json(answer.body);
  if (parsed.is_discarded()) {
    throw Error(ErrorCode::kInternal,
                "reading the answer: it is not JSON; the endpoint, which `tarn config show` lists, "
                "must be a Tarn server");
  }
  return parsed;
}

bool says_no_changes(const Answer& answer) {
  if (answer.status != kBadRequest) return false;
  return answer.reason() == "no_changes" ||
         answer.message().find("no changes") != std::string::npos;
}

}  // namespace tarn::cli
