// Requests to one bucket of an S3-compatible server: addressing, signing, retries, error texts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/blob/direct_access.h"
#include "core/http/client.h"
#include "core/sigv4/sign.h"

namespace tarn::blob {

struct S3Options {
  std::string endpoint = {};  ///< "https://s3.eu-central-1.amazonaws.com", "http://127.0.0.1:9000"
  std::string presign_endpoint = {};  ///< as clients reach it; "" = endpoint
  std::string region = "us-east-1";
  sigv4::AccessKey key = {};
  std::string session_token = {};  ///< of temporary credentials; "" = none
  std::string bucket = {};
  std::string prefix = {};  ///< put before every key as it is: "" or "some/dir/"
  bool path_style = true;   ///< bucket in the path, else in the host name
  bool remove_versions =
      false;  ///< remove_all() removes every version of a key, for versioned buckets
  /// Objects of a known size up to here are one PUT, while memory for such lasts.
  uint64_t single_put_bytes_max = 64 * 1024 * 1024;
  /// Others of more than this are uploaded in parts of it, each held in memory.
  uint64_t part_size_bytes = 8 * 1024 * 1024;
  uint32_t parts_in_flight = 3;  ///< of one object
  uint32_t retries_max = 6;
  std::chrono::milliseconds backoff_first{100};
  std::chrono::milliseconds backoff_longest{5'000};
  std::chrono::milliseconds attempt_deadline{
      120'000};  ///< of one request, its body included; reads: see http::Client
  std::chrono::milliseconds total_deadline{300'000};  ///< of one request with its retries
  /// After an answer from the bucket no answer to HEAD is doubted for so long: a bucket may be
  /// removed, and then a missing object is no news of the object.
  std::chrono::milliseconds bucket_known_for{1'000};
};

/// S3's limits. Source: AWS S3 "Multipart upload limits", "Object key names".
constexpr size_t kS3KeyBytesMax = 1024;
constexpr uint32_t kS3PartsMax = 10'000;
constexpr uint64_t kS3PartBytesMin = 5 * 1024 * 1024;

struct S3Request {
  /// The operation in metrics and messages: "get", "put".
  std::string_view operation;
  std::string method = "GET";
  std::optional<std::string> key = {};  ///< whole, prefix included; nothing = the bucket
  std::vector<std::pair<std::string, std::string>> query = {};  ///< not encoded, sorted by name
  http::Headers headers = {};
  std::string_view body = {};                    ///< outlives the call; sent from where it is
  std::optional<uint64_t> expected_bytes = {};   ///< of the answer's body, if known; a hint
  const std::atomic<bool>* cancelled = nullptr;  ///< cuts the upload of the body when set
  std::optional<std::chrono::milliseconds> total_deadline = {};  ///< shorter than the options'
};

struct S3Answer {
  int status = 0;
  http::Headers headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
};

/// Safe from any thread.
class S3Bucket {
 public:
  /// `client` outlives the bucket. Throws invalid_argument for options that cannot work.
  S3Bucket(S3Options options, http::Client& client);

  const S3Options& options() const { return options_; }
  /// The key with the options' prefix. Throws invalid_argument for a key no bucket can hold.
  std::string whole_key(std::string_view key) const;
  /// Whether the other's objects can be named to this one's server with this one's access key.
  bool same_server(const S3Bucket& other) const;

  /// Retries transient failures (no connection, 5xx, throttling), then returns the server's answer.
  /// Throws unavailable when they last too long.
  S3Answer send(const S3Request& request);
  /// The same as send, with the body still to come when the status is 2xx; else it is in
  /// `failure.body`.
  struct Opened {
    S3Answer answer;
    std::unique_ptr<http::BodySource> body;
  };
  Opened open(const S3Request& request);
  /// A URL that permits everybody to send this request; its headers and body are not examined.
  std::string presigned_url(const S3Request& request, const UrlTerms& terms) const;

  /// Maps an answer that the caller cannot use to an error:
  /// permission_denied, not_found (reason "bucket_not_found"), invalid_argument, unavailable.
  [[noreturn]] void throw_answer(const S3Request& request, const S3Answer& answer) const;
  /// A 404 that names neither key nor bucket (HEAD has no body): throws not_found when the bucket
  /// is missing.
  void check_bucket_exists();

  /// False after the server has refused conditional creation.
  bool conditional_writes() const { return conditional_writes_; }
  void forget_conditional_writes();
  /// False after the server has refused an upload whose parts have checksums.
  bool part_checksums() const { return part_checksums_; }
  void forget_part_checksums();

 private:
  /// Where requests go to.
  struct Origin {
    std::string scheme;
    std::string host;
  };
  Origin origin_of(std::string_view endpoint) const;
  http::ClientRequest signed_request(const S3Request& request) const;
  std::string payload_hash(std::string_view body) const;
  std::string url_path(const S3Request& request) const;
  std::string subject(const S3Request& request) const;
  bool bucket_is_known() const;
  template <typename Attempt>
  auto retried(const S3Request& request, const Attempt& attempt);
  bool is_transient(const S3Answer& answer) const;

  // Constant after construction.
  const S3Options options_;
  http::Client& client_;
  Origin origin_;
  Origin presign_origin_;

  std::atomic<bool> conditional_writes_ = true;
  std::atomic<bool> part_checksums_ = true;
  using SteadyClock = std::chrono::steady_clock;
  static constexpr SteadyClock::rep kNever = SteadyClock::duration::min().count();
  std::atomic<SteadyClock::rep> bucket_seen_ = kNever;  ///< of its latest answer
};

}  // namespace tarn::blob
