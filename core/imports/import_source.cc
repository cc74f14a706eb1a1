#include "core/imports/import_source.h"

#include <chrono>
#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/imports/import_job.h"
#include "core/model/content_type.h"

namespace tarn::imports {
namespace {

constexpr uint64_t kKeepAliveEvery = 10'000;

std::string url_before_key(const std::string& url, const std::string& key) {
  return url.substr(0, url.size() - key.size());
}

}  // namespace

ImportSource::ImportSource(branch::Engine& engine, const Repository& repository,
                           const ImportPath& path, std::string after, uint64_t limit,
                           std::function<void()> on_object)
    : repository_(repository),
      path_(path),
      at_(engine.stores.locate(path.url)),
      destination_(path.kind == ImportPath::Kind::kObject ? path.destination
                                                          : destination_prefix(path)),
      from_start_(after.empty()),
      limit_(limit),
      on_object_(std::move(on_object)) {
  const size_t slash = at_.key.rfind('/');
  relative_from_ = slash == std::string::npos ? 0 : slash + 1;
  url_root_ = url_before_key(path.url, at_.key);
  if (!url_root_.ends_with('/')) url_root_ += '/';  // the URL is the root itself, without its slash
  lister_ = std::thread([this, from = std::move(after)] {
    try {
      list(from);
      finish(nullptr);
    } catch (...) {
      finish(std::current_exception());
    }
  });
}

ImportSource::~ImportSource() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  lister_.join();
}

void ImportSource::list(const std::string& after) {
  Batch batch;
  if (path_.kind == ImportPath::Kind::kObject) {
    auto stat = at_.store->stat(at_.key);
    if (!stat) {
      throw Error(ErrorCode::kNotFound, reason::kImportSourceEmpty,
                  str_cat("error on ingest: ", path_.url, ": no such file or directory"));
    }
    if (after.empty()) batch.push_back(*std::move(stat));
  } else {
    at_.store->walk(at_.key, after, [&](const blob::BlobStat& stat) {
      batch.push_back(stat);
      return batch.size() < kBatchItems || hand_over(std::exchange(batch, {}));
    });
  }
  hand_over(std::move(batch));
}

bool ImportSource::hand_over(Batch batch) {
  MutexLock lock(mutex_);
  while (ready_.size() >= kBatchesMax && !stop_) changed_.wait(lock);
  if (stop_) return false;
  ready_.push_back(std::move(batch));
  changed_.notify_all();
  return true;
}

void ImportSource::finish(std::exception_ptr error) {
  MutexLock lock(mutex_);
  error_ = error;
  listed_ = true;
  changed_.notify_all();
}

bool ImportSource::next_batch() {
  MutexLock lock(mutex_);
  while (ready_.empty() && !listed_) changed_.wait(lock);
  if (ready_.empty()) {
    if (error_) std::rethrow_exception(error_);
    return false;
  }
  batch_ = std::move(ready_.front());
  ready_.pop_front();
  in_batch_ = 0;
  changed_.notify_all();
  return true;
}

std::optional<tree::Change> ImportSource::next() {
  if (returned_ == limit_) return std::nullopt;
  while (in_batch_ == batch_.size()) {
    if (!next_batch()) {
      exhausted_ = true;
      if (returned_ == 0 && from_start_) {
        // An empty source is an error: replacing the destination by nothing is never what a
        // mistyped URL meant.
        throw Error(ErrorCode::kNotFound, reason::kImportSourceEmpty,
                    str_cat("error on ingest: ", path_.url,
                            ": no such file or directory, or nothing below it"));
      }
      return std::nullopt;
    }
  }
  const blob::BlobStat& stat = batch_[in_batch_++];
  last_key_ = stat.key;
  ++returned_;
  on_object_();
  return edit_of(stat);
}

tree::Change ImportSource::edit_of(const blob::BlobStat& stat) const {
  Entry entry;
  entry.size_bytes = stat.size_bytes;
  entry.etag = stat.etag;
  entry.address = ExternalAddress{url_root_ + stat.key};
  entry.mtime = from_millis(stat.mtime_ns / 1'000'000);
  // "": the source's etag is the entry's own and not stored twice.
  entry.set_source_version({"", stat.size_bytes, stat.mtime_ns, stat.version_id});
  std::string key = destination_;
  if (path_.kind != ImportPath::Kind::kObject) key += stat.key.substr(relative_from_);
  branch::check_new_path(repository_, key);
  entry.content_type = content_type_of_new({}, key);
  return {parse_key(key).str(), std::move(entry)};
}

std::optional<tree::Change> ImportedRanges::next() {
  if (!cursor_.valid()) return std::nullopt;
  if (++returned_ % kKeepAliveEvery == 0) keep_alive_();
  tree::Change edit{cursor_.key(), cursor_.entry()};
  cursor_.next();
  return edit;
}

}  // namespace tarn::imports
