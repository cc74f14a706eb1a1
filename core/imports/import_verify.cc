#include "core/imports/import_verify.h"

#include <chrono>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/objects/objects.h"

namespace tarn::imports {
namespace {

constexpr uint32_t kPageItems = 1000;
constexpr int64_t kSecondNs = 1'000'000'000;

}  // namespace

bool is_as_recorded(const Entry& entry, const blob::BlobStat& found) {
  if (found.size_bytes != entry.size_bytes) return false;
  const auto version = entry.source_version();
  if (!version) return true;  // linked without a version: must exist with this size
  const std::string& etag = version->etag.empty() ? entry.etag : version->etag;
  if (found.etag != etag) return false;
  if (found.mtime_ns % kSecondNs != 0 && version->mtime_ns % kSecondNs != 0)
    return found.mtime_ns == version->mtime_ns;
  return found.mtime_ns / kSecondNs == version->mtime_ns / kSecondNs;
}

namespace {

/// Not unavailable: a retry changes nothing.
[[noreturn]] void throw_source_closed(const std::string& url, const Error& error) {
  throw Error(ErrorCode::kPreconditionFailed, reason::kSourceNotReadable,
              str_cat("verifying the source ", url, ": ", error.message(),
                      "; the objects that were imported from there cannot be read until the "
                      "server can read it again"));
}

struct Question {
  const objects::ListItem* item;
  const std::string* url;
  std::optional<blob::BlobStat> answer;
};

std::optional<blob::BlobStat> ask_store(branch::Engine& engine, const std::string& url) {
  try {
    const blob::Located at = engine.stores.locate(url);
    return at.store->stat(at.key);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kInternal) throw;
    throw_source_closed(url, error);
  }
}

}  // namespace

Verification verify_import(branch::Engine& engine, const RepositoryName& repository,
                           std::string_view ref, const VerifyOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + kVerifyTime;
  Verification out;
  out.next = options.after;
  for (;;) {
    throw_if_cancelled();
    const Page<objects::ListItem> page = objects::list_objects(
        engine, repository, ref,
        {.prefix = options.prefix, .after = out.next, .delimiter = {}, .limit = kPageItems});
    std::vector<Question> questions;
    for (const objects::ListItem& item : page.items) {
      if (const auto* external = std::get_if<ExternalAddress>(&item.entry->address))
        questions.push_back({&item, &external->url, {}});
    }
    for_each_parallel(questions.size(), kVerifyThreads, [&](size_t i) {
      questions[i].answer = ask_store(engine, *questions[i].url);
    });
    auto question = questions.begin();
    for (const objects::ListItem& item : page.items) {
      if (out.changed.size() == options.limit) {
        out.has_more = true;
        return out;
      }
      ++out.objects;
      out.next = item.path;
      if (question == questions.end() || question->item != &item) continue;
      ++out.sources;
      if (!question->answer || !is_as_recorded(*item.entry, *question->answer)) {
        out.changed.push_back(
            {item.path, *item.entry, *question->url, std::move(question->answer)});
      }
      ++question;
    }
    out.has_more = page.has_more;
    if (page.has_more) out.next = page.next;
    if (!page.has_more || out.objects >= kVerifyObjectsPerRequest ||
        std::chrono::steady_clock::now() >= deadline) {
      return out;
    }
  }
}

}  // namespace tarn::imports
