#include "core/blob/s3_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <exception>
#include <iterator>
#include <thread>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/backoff.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"
#include "core/blob/s3_reader.h"
#include "core/blob/s3_writer.h"
#include "core/xml/escape.h"

namespace tarn::blob {
namespace {

/// The store's error about the parts, as our own error.
std::string_view reason_of(std::string_view s3_code) {
  struct Reason {
    std::string_view s3_code;
    std::string_view reason;
  };
  constexpr std::array<Reason, 3> kReasons = {{{"InvalidPart", reason::kInvalidPart},
                                               {"InvalidPartOrder", reason::kInvalidPartOrder},
                                               {"EntityTooSmall", "entity_too_small"}}};
  for (const Reason& one : kReasons) {
    if (one.s3_code == s3_code) return one.reason;
  }
  return "";
}

[[noreturn]] void throw_no_upload(std::string_view key) {
  throw Error(ErrorCode::kNotFound, reason::kNoSuchUpload,
              str_cat("upload of object ", shown(key), ": does not exist or has ended"));
}

std::string completion_of(std::span<const SentPart> parts) {
  std::string body = "<CompleteMultipartUpload>";
  for (const SentPart& part : parts) {
    // Only what needs no escaping is an ETag that a store could have given.
    if (part.etag.find_first_of("<>&\"") != std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, reason::kInvalidPart,
                  str_cat("part ", part.number, ": its ETag is none of the store's"));
    }
    body += str_cat("<Part><PartNumber>", part.number, "</PartNumber><ETag>\"", part.etag,
                    "\"</ETag></Part>");
  }
  return body + "</CompleteMultipartUpload>";
}

BlobStat stat_from_headers(std::string_view key, const http::Headers& headers) {
  BlobStat stat{
      .key = std::string(key), .etag = unquoted_etag(headers.get("ETag")), .version_id = ""};
  const std::string_view length = headers.get("Content-Length");
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), stat.size_bytes);
  if (length.empty() || error != std::errc() || end != length.data() + length.size()) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("looking at object ", shown(key), ": the store told no size"));
  }
  if (const auto time = parse_http_date(headers.get("Last-Modified")))
    stat.mtime_ns = to_millis(*time) * 1'000'000;
  const std::string_view version = headers.get("x-amz-version-id");
  if (version != "null") stat.version_id = version;  // "null": the bucket has no versions
  return stat;
}

/// `versions` in the form of DeleteObjects, which then names only what it did not remove.
std::string deletion_of(std::span<const S3Version> versions) {
  std::string body = "<Delete><Quiet>true</Quiet>";
  for (const S3Version& one : versions) {
    body += str_cat("<Object><Key>", xml_escaped(one.key), "</Key>");
    if (!one.id.empty()) body += str_cat("<VersionId>", xml_escaped(one.id), "</VersionId>");
    body += "</Object>";
  }
  return body + "</Delete>";
}

/// Whether XML can hold the key.
bool is_xml_text(std::string_view text) {
  return is_utf8(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; });
}

/// Whether a repetition may remove an object that DeleteObjects did not.
bool is_for_the_moment(std::string_view code) {
  return code == "InternalError" || code == "SlowDown" || code == "ServiceUnavailable" ||
         code == "RequestTimeout" || code == "OperationAborted";
}

constexpr size_t kPagesAheadMax = 4;

/// Pages from one thread to another. Safe from both.
class PageQueue {
 public:
  /// Waits for room. false = no more pages are wanted.
  bool push(ListPage page) {
    MutexLock lock(mutex_);
    pages_.push_back(std::move(page));
    changed_.notify_all();
    // No deadline: the visit, which empties the queue, may be slow, and closes it in any case.
    while (pages_.size() > kPagesAheadMax && !closed_) changed_.wait(lock);
    return !closed_;
  }
  void end(std::exception_ptr error) {
    MutexLock lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }
  /// Nothing at the end. Throws what end() was given, after the pages before it.
  std::optional<ListPage> pop() {
    MutexLock lock(mutex_);
    while (pages_.empty() && !ended_) changed_.wait(lock);  // requests have deadlines
    if (pages_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    ListPage page = std::move(pages_.front());
    pages_.pop_front();
    changed_.notify_all();
    return page;
  }
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<ListPage> pages_ TARN_GUARDED_BY(mutex_);
  bool ended_ TARN_GUARDED_BY(mutex_) = false;
  bool closed_ TARN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TARN_GUARDED_BY(mutex_);
};

/// Closes the queue when the visit is over, so that the fetching thread can be joined.
class Closing {
 public:
  explicit Closing(PageQueue& queue) : queue_(queue) {}
  ~Closing() { queue_.close(); }
  Closing(const Closing&) = delete;

 private:
  PageQueue& queue_;
};

}  // namespace

S3Request S3Direct::part_request(std::string_view operation, const DirectPart& part) const {
  return {.operation = operation,
          .method = "PUT",
          .key = bucket_.whole_key(part.key),
          .query = {{"partNumber", std::to_string(part.number)},
                    {"uploadId", std::string(part.upload_id)}}};
}

std::string S3Direct::url_to_read(const DirectRead& read, const UrlTerms& terms) const {
  S3Request request{.operation = "get", .key = bucket_.whole_key(read.key)};
  if (!read.content_type.empty())
    request.query.emplace_back("response-content-type", read.content_type);
  if (!read.version_id.empty()) request.query.emplace_back("versionId", read.version_id);
  return bucket_.presigned_url(request, terms);
}

std::string S3Direct::url_to_write(std::string_view key, const UrlTerms& terms) const {
  return bucket_.presigned_url({.operation = "put", .method = "PUT", .key = bucket_.whole_key(key)},
                               terms);
}

std::string S3Direct::url_to_write_part(const DirectPart& part, const UrlTerms& terms) const {
  return bucket_.presigned_url(part_request("upload_part", part), terms);
}

std::vector<StoredDigest> S3Direct::digests(std::string_view key, std::string_view if_etag) {
  S3Request request{.operation = "head", .method = "HEAD", .key = bucket_.whole_key(key)};
  request.headers.add("x-amz-checksum-mode", "ENABLED");
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok() || unquoted_etag(answer.headers.get("ETag")) != if_etag) return {};
  return stored_digests(answer.headers);
}

WholeRead S3Direct::open_whole(std::string_view key, uint64_t size_bytes,
                               std::string_view if_etag) {
  auto reader = S3Reader::open_whole(bucket_, bucket_.whole_key(key), size_bytes, if_etag);
  if (!reader) return {};
  std::vector<StoredDigest> digests = reader->digests();
  return {std::move(reader), std::move(digests)};
}

std::string S3Direct::begin_upload(std::string_view key) {
  const S3Request request{.operation = "create_upload",
                          .method = "POST",
                          .key = bucket_.whole_key(key),
                          .query = {{"uploads", ""}}};
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return parse_upload_id(answer.body);
}

std::string S3Direct::put_part(const DirectPart& part, std::string_view bytes) {
  S3Request request = part_request("upload_part", part);
  request.body = bytes;
  // The other parts come from clients, which choose their own checksums: this one suits all.
  request.headers.add("Content-MD5", to_base64(md5(bytes)));
  const S3Answer answer = bucket_.send(request);
  if (parse_failure(answer.body).code == "NoSuchUpload") throw_no_upload(part.key);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return unquoted_etag(answer.headers.get("ETag"));
}

std::optional<std::string> S3Direct::copy_part(const DirectPart& part, const DirectAccess& from,
                                               const DirectSource& source) {
  const auto* origin = dynamic_cast<const S3Direct*>(&from);
  if (origin == nullptr || !bucket_.same_server(origin->bucket_)) return std::nullopt;
  S3Request request = part_request("copy_part", part);
  request.headers.add(
      "x-amz-copy-source",
      str_cat("/", percent_encode(origin->bucket_.options().bucket), "/",
              percent_encode(origin->bucket_.whole_key(source.key), /*keep_slash=*/true)));
  request.headers.add(
      "x-amz-copy-source-range",
      str_cat("bytes=", source.range.offset, "-", source.range.offset + source.range.length - 1));
  if (!source.if_etag.empty())
    request.headers.add("x-amz-copy-source-if-match", quoted_etag(source.if_etag));
  S3Answer answer = bucket_.send(request);
  const S3Failure failure = parse_failure(answer.body);
  if (answer.status == 412) throw_source_changed(source.key, "its etag differs");
  if (failure.code == "NoSuchUpload") throw_no_upload(part.key);
  // The status was sent before the work was done. Source: AWS S3 UploadPartCopy.
  if (answer.ok() && !failure.code.empty()) answer.status = 500;
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return parse_copied_part(answer.body);
}

void S3Direct::complete_upload(std::string_view key, std::string_view upload_id,
                               std::span<const SentPart> parts) {
  const std::string body = completion_of(parts);
  S3Request request{.operation = "complete_upload",
                    .method = "POST",
                    .key = bucket_.whole_key(key),
                    .query = {{"uploadId", std::string(upload_id)}},
                    .body = body};
  request.headers.add("Content-Type", "application/xml");
  S3Answer answer = bucket_.send(request);
  const S3Failure failure = parse_failure(answer.body);
  if (failure.code == "NoSuchUpload") throw_no_upload(key);
  if (const std::string_view reason = reason_of(failure.code); !reason.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason,
                str_cat("completing the upload: ", failure.message));
  }
  // The status was sent before the work was done. Source: AWS S3 CompleteMultipartUpload.
  if (answer.ok() && !failure.code.empty()) answer.status = 500;
  if (!answer.ok()) bucket_.throw_answer(request, answer);
}

void S3Direct::abort_upload(std::string_view key, std::string_view upload_id) {
  const S3Request request{.operation = "abort_upload",
                          .method = "DELETE",
                          .key = bucket_.whole_key(key),
                          .query = {{"uploadId", std::string(upload_id)}}};
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok() && answer.status != 404) bucket_.throw_answer(request, answer);
}

std::unique_ptr<BlobWriter> S3Store::create(std::string_view key,
                                            std::optional<uint64_t> size_hint) {
  return std::make_unique<S3Writer>(bucket_, bucket_.whole_key(key), size_hint);
}

std::optional<BlobStat> S3Store::stat(std::string_view key) {
  const S3Request request{.operation = "head", .method = "HEAD", .key = bucket_.whole_key(key)};
  const S3Answer answer = bucket_.send(request);
  if (answer.status == 404) {
    bucket_.check_bucket_exists();
    return std::nullopt;
  }
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return stat_from_headers(key, answer.headers);
}

std::unique_ptr<BlobReader> S3Store::open(std::string_view key, ByteRange range,
                                          std::string_view if_etag) {
  std::string whole = bucket_.whole_key(key);
  // An overflowing range cannot be written as a header, an empty one cannot be requested.
  if (range.length > 0 && range.offset <= ~uint64_t{0} - range.length) {
    try {
      return S3Reader::open(bucket_, std::move(whole), range, if_etag);
    } catch (const Error& error) {
      if (error.reason() != reason::kObjectCorrupt || if_etag.empty()) throw;
      // The range is past the end, either of the recorded object or of a changed one.
    }
  }
  const auto now = stat(key);
  if (!now) return nullptr;
  if (!if_etag.empty() && now->etag != if_etag) throw_source_changed(key, "its etag differs");
  check_range(key, range, now->size_bytes);
  return std::make_unique<EmptyReader>();
}

ListPage S3Store::list(std::string_view prefix, std::string_view after, uint32_t limit) {
  check_list_limit(limit);
  const std::string& own = bucket_.options().prefix;
  S3Request request{.operation = "list",
                    .query = {{"encoding-type", "url"},
                              {"list-type", "2"},
                              {"max-keys", std::to_string(limit)},
                              {"prefix", str_cat(own, prefix)}}};
  if (!after.empty()) request.query.emplace_back("start-after", str_cat(own, after));
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  ListPage page = parse_list_objects(answer.body);
  std::string_view last = after;
  for (BlobStat& item : page.items) {
    item.key.erase(0, own.size());
    // Imports and garbage collection rely on the order; some servers list directories differently.
    if (item.key <= last && !last.empty()) {
      throw Error(ErrorCode::kUnimplemented,
                  str_cat("listing bucket \"", bucket_.options().bucket, "\": the server sent ",
                          shown(item.key), " after ", shown(last), ", not in byte order"));
    }
    last = item.key;
  }
  return page;
}

void S3Store::remove(std::string_view key) {
  const S3Request request{.operation = "delete", .method = "DELETE", .key = bucket_.whole_key(key)};
  const S3Answer answer = bucket_.send(request);
  const bool absent = answer.status == 404 && parse_failure(answer.body).code != "NoSuchBucket";
  if (!answer.ok() && !absent) bucket_.throw_answer(request, answer);
}

std::vector<S3Version> S3Store::versions_of(const std::string& whole_key) {
  std::vector<S3Version> out;
  S3VersionPage page;
  do {
    S3Request listing{.operation = "list_versions",
                      .query = {{"encoding-type", "url"}, {"prefix", whole_key}}};
    if (!page.next_key.empty()) {
      listing.query.insert(listing.query.begin() + 1, {"key-marker", page.next_key});
      listing.query.emplace_back("version-id-marker", page.next_id);
    }
    listing.query.emplace_back("versions", "");
    const S3Answer answer = bucket_.send(listing);
    if (!answer.ok()) bucket_.throw_answer(listing, answer);
    page = parse_list_versions(answer.body);
    for (S3Version& one : page.items) {
      if (one.key == whole_key) out.push_back(std::move(one));
    }
  } while (page.has_more && page.next_key == whole_key);
  return out;
}

std::optional<std::vector<S3Undeleted>> S3Store::delete_objects(
    std::span<const S3Version> versions) {
  const std::string body = deletion_of(versions);
  S3Request request{
      .operation = "delete_objects", .method = "POST", .query = {{"delete", ""}}, .body = body};
  request.headers.add("Content-MD5", to_base64(md5(body)));
  request.headers.add("Content-Type", "application/xml");
  const S3Answer answer = bucket_.send(request);
  if (answer.status == 501 || answer.status == 405) return std::nullopt;
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return parse_undeleted(answer.body);
}

std::vector<RemovalFailure> S3Store::remove_all(std::span<const std::string> keys) {
  if (!std::all_of(keys.begin(), keys.end(), is_xml_text)) return BlobStore::remove_all(keys);
  std::vector<S3Version> waiting;
  for (const std::string& key : keys) {
    std::string whole = bucket_.whole_key(key);
    if (!bucket_.options().remove_versions) {
      waiting.push_back({std::move(whole), ""});
      continue;
    }
    std::vector<S3Version> versions = versions_of(whole);
    waiting.insert(waiting.end(), std::make_move_iterator(versions.begin()),
                   std::make_move_iterator(versions.end()));
  }
  const size_t own = bucket_.options().prefix.size();
  const auto give_up = std::chrono::steady_clock::now() + bucket_.options().total_deadline;
  Backoff backoff(bucket_.options().backoff_first, bucket_.options().backoff_longest);
  std::vector<RemovalFailure> failures;
  for (uint32_t retries = 0; !waiting.empty(); ++retries) {
    std::vector<S3Version> again;
    for (size_t at = 0; at < waiting.size(); at += kRemovedAtOnceMax) {
      const auto batch =
          std::span(waiting).subspan(at, std::min(kRemovedAtOnceMax, waiting.size() - at));
      auto undeleted = delete_objects(batch);
      if (!undeleted) return BlobStore::remove_all(keys);
      for (S3Undeleted& one : *undeleted) {
        if (one.failure.code == "NoSuchKey" || one.failure.code == "NoSuchVersion") continue;
        if (is_for_the_moment(one.failure.code) && retries < bucket_.options().retries_max) {
          again.push_back({std::move(one.key), std::move(one.version_id)});
        } else {
          failures.push_back(
              {one.key.substr(own), str_cat(one.failure.code, ": ", one.failure.message)});
        }
      }
    }
    waiting = std::move(again);
    if (!waiting.empty() && !backoff.wait(give_up)) {
      for (const S3Version& one : waiting) {
        failures.push_back(
            {one.key.substr(own), "the store was too busy for longer than the limit"});
      }
      break;
    }
  }
  return failures;
}

uint64_t S3Store::remove_unfinished(std::string_view prefix, Instant begun_before) {
  uint64_t removed = 0;
  S3UploadPage page;
  do {
    S3Request listing{
        .operation = "list_uploads",
        .query = {{"encoding-type", "url"}, {"prefix", str_cat(bucket_.options().prefix, prefix)}}};
    if (!page.next_key.empty()) {
      listing.query.insert(listing.query.begin() + 1, {"key-marker", page.next_key});
      listing.query.emplace_back("upload-id-marker", page.next_id);
    }
    listing.query.emplace_back("uploads", "");
    const S3Answer answer = bucket_.send(listing);
    if (!answer.ok()) bucket_.throw_answer(listing, answer);
    page = parse_list_uploads(answer.body);
    for (const S3Upload& upload : page.items) {
      if (upload.begun >= begun_before) continue;
      const S3Request abort{.operation = "abort_upload",
                            .method = "DELETE",
                            .key = upload.key,
                            .query = {{"uploadId", upload.id}}};
      const S3Answer aborted = bucket_.send(abort);
      if (!aborted.ok() && aborted.status != 404) bucket_.throw_answer(abort, aborted);
      ++removed;
    }
  } while (page.has_more && !page.next_key.empty());
  return removed;
}

void S3Store::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  PageQueue queue;
  const std::jthread fetching([&] {
    std::string position(after);
    try {
      while (true) {
        ListPage page = list(prefix, position, kListItemsMax);
        const bool has_more = page.has_more && !page.items.empty();
        if (has_more) position = page.items.back().key;
        if (!queue.push(std::move(page)) || !has_more) break;
      }
      queue.end(nullptr);
    } catch (...) {
      queue.end(std::current_exception());
    }
  });
  const Closing closing(queue);
  while (const auto page = queue.pop()) {
    for (const BlobStat& item : page->items) {
      if (!visit(item)) return;
    }
  }
}

}  // namespace tarn::blob
