#include "core/verify/object_check.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/cancellation.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/blob/cached_store.h"
#include "core/blob/store_metrics.h"
#include "core/blob/stores.h"
#include "core/imports/import_verify.h"
#include "core/meta/part_lists.h"
#include "core/objects/content_check.h"
#include "core/objects/objects.h"
#include "core/objects/stored_bytes.h"
#include "core/tree/leaf_node.h"

namespace tarn::verify {
namespace {

constexpr size_t kQuestionsPerBatch = 1024;
constexpr size_t kListsPerQuery = 256;
constexpr size_t kReadBytes = 256 * 1024;
constexpr char kPartList = 1;  // first byte of encode_address

/// The finalizer of MurmurHash3: every bit of the result depends on every bit of `value`.
uint64_t scattered(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

/// Hash of the location of an object and of what is compared with it.
uint64_t hash_of(uint64_t seed, const tree::EntryFields& fields) {
  const std::hash<std::string_view> hash;
  uint64_t sum = scattered(seed ^ hash(fields.address_tail));
  sum = scattered(sum ^ hash(fields.address_head));
  sum = scattered(sum ^ hash(fields.etag));
  return scattered(sum ^ fields.size_bytes);
}

bool is_unreachable(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kInternal ||
         error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kResourceExhausted;
}

bool is_external(const Entry& entry) {
  return std::holds_alternative<ExternalAddress>(entry.address);
}

std::string size_text(uint64_t bytes) { return str_cat(bytes, " bytes"); }

std::string stat_text(const blob::BlobStat& stat) {
  return str_cat(stat.size_bytes, " bytes, etag ", stat.etag);
}

}  // namespace

ObjectCheck::ObjectCheck(branch::Engine& engine, const Repository& repository, VerifyStore& store,
                         const ObjectCheckOptions& options, Collected& findings,
                         std::function<void()> alive)
    : engine_(engine),
      repository_(repository),
      store_(store),
      options_(options),
      findings_(findings),
      alive_(std::move(alive)),
      pace_(options.bytes_per_second),
      seed_(random_u64()) {}

void ObjectCheck::see(const tree::LeafNode& range, uint32_t origin) {
  for (uint32_t i = 0; i < range.count(); ++i) {
    const tree::EntryFields fields = range.fields(i);
    const bool is_list = !fields.external && fields.address_tail[0] == kPartList;
    if (!is_list && options_.mode == ObjectMode::kNone) continue;
    const uint64_t hash = hash_of(seed_, fields);
    const auto question = [&] { return Question{range.key(i), to_entry(fields), {origin, {}}}; };
    if (is_list) {
      WireReader in(fields.address_tail.substr(1), "address");
      see_list(static_cast<int64_t>(in.varint()), hash, question);
    } else if (wants(hash)) {
      take(hash, question());
    }
  }
}

void ObjectCheck::see(const std::string& path, const Entry& entry, const Origin& origin) {
  tree::EntryBytes bytes;
  bytes.assign(entry);
  const uint64_t hash = hash_of(seed_, bytes.fields());
  const auto question = [&] { return Question{path, entry, origin}; };
  if (const auto* list = std::get_if<PartListAddress>(&entry.address)) {
    see_list(list->id, hash, question);
  } else if (options_.mode != ObjectMode::kNone && wants(hash)) {
    take(hash, question());
  }
}

/// Whether the object was not seen before and, of a sample, belongs to it so far.
bool ObjectCheck::wants(uint64_t hash) {
  const bool full = options_.mode == ObjectMode::kSample && sample_.size() == kSampledObjectsMax;
  if (full && hash >= sample_.front().hash) return false;
  return seen_.insert(hash).second;
}

void ObjectCheck::take(uint64_t hash, Question question) {
  if (options_.mode == ObjectMode::kAll) {
    waiting_.push_back(std::move(question));
    if (waiting_.size() >= kQuestionsPerBatch) ask(waiting_);
    return;
  }
  const auto greatest_first = [](const Sampled& a, const Sampled& b) { return a.hash < b.hash; };
  if (sample_.size() == kSampledObjectsMax) {
    std::pop_heap(sample_.begin(), sample_.end(), greatest_first);
    seen_.erase(sample_.back().hash);
    sample_.pop_back();
  }
  sample_.push_back({hash, std::move(question)});
  std::push_heap(sample_.begin(), sample_.end(), greatest_first);
}

void ObjectCheck::see_list(int64_t id, uint64_t hash, const MakeQuestion& question) {
  if (!lists_seen_.insert(hash).second) return;
  lists_waiting_.emplace_back(id, question());
  if (lists_waiting_.size() >= kListsPerQuery) ask_lists();
}

void ObjectCheck::ask_lists() {
  std::vector<int64_t> ids;
  for (const auto& [id, question] : lists_waiting_) ids.push_back(id);
  const std::map<int64_t, std::string> bodies = store_.part_lists(ids);
  for (const auto& [id, question] : std::exchange(lists_waiting_, {})) {
    const auto at = bodies.find(id);
    check_list(question, id, at == bodies.end() ? nullptr : &at->second);
  }
}

void ObjectCheck::check_list(const Question& question, int64_t id, const std::string* body) {
  ++part_lists_;
  const std::string address = str_cat("part list ", id);
  if (body == nullptr) {
    report(FindingKind::kPartsMissing, question, address, size_text(question.entry.size_bytes),
           "no row");
    return;
  }
  meta::PartList parts;
  try {
    parts = meta::decode_parts(*body);
  } catch (const Error& error) {
    report(FindingKind::kPartsUnreadable, question, address, size_text(question.entry.size_bytes),
           error.message());
    return;
  }
  uint64_t sum = 0;
  for (const meta::StoredPart& part : parts) sum += part.size_bytes;
  if (sum != question.entry.size_bytes) {
    report(FindingKind::kPartsSize, question, address, size_text(question.entry.size_bytes),
           str_cat(parts.size(), " parts of ", sum, " bytes"));
  }
  if (options_.mode == ObjectMode::kNone) return;
  for (const meta::StoredPart& part : parts) {
    Entry entry;
    entry.size_bytes = part.size_bytes;
    entry.etag = to_hex(part.md5);
    entry.address =
        part.owner ? Address(ForeignAddress{*part.owner, part.address}) : Address(part.address);
    tree::EntryBytes bytes;
    bytes.assign(entry);
    const uint64_t hash = hash_of(seed_, bytes.fields());
    if (!wants(hash)) continue;
    take(hash, {question.path, std::move(entry), question.origin,
                encode_address(question.entry.address)});
  }
}

void ObjectCheck::finish() {
  ask_lists();
  for (Sampled& sampled : sample_) {
    waiting_.push_back(std::move(sampled.question));
    if (waiting_.size() >= kQuestionsPerBatch) ask(waiting_);
  }
  ask(waiting_);
}

/// Asks several at a time, and empties `questions`.
void ObjectCheck::ask(std::vector<Question>& questions) {
  for_each_parallel(questions.size(), kVerifyStoreThreads, [&](size_t i) {
    throw_if_cancelled();
    alive_();
    ask_one(questions[i]);
  });
  questions.clear();
}

void ObjectCheck::ask_one(const Question& question) {
  const Entry& entry = question.entry;
  std::string url;
  try {
    url = objects::physical_address(engine_, repository_, entry);
    const blob::Located at = engine_.stores.locate(url);
    const std::optional<blob::BlobStat> stat = at.store->stat(at.key);
    ++checked_;
    if (options_.deep) check_copy(question, at);
    if (!stat) {
      report(is_external(entry) ? FindingKind::kSourceMissing : FindingKind::kObjectMissing,
             question, url, size_text(entry.size_bytes), "no object");
    } else if (is_external(entry) || entry.source_version()) {
      if (imports::is_as_recorded(entry, *stat)) return;
      const auto version = entry.source_version();
      report(FindingKind::kSourceChanged, question, url,
             str_cat(entry.size_bytes, " bytes, etag ",
                     version && !version->etag.empty() ? version->etag : entry.etag),
             stat_text(*stat));
    } else if (stat->size_bytes != entry.size_bytes) {
      report(FindingKind::kObjectSize, question, url, size_text(entry.size_bytes),
             size_text(stat->size_bytes));
    } else if (options_.deep) {
      compare(question, url);
    }
  } catch (const Error& error) {
    if (is_unreachable(error)) throw;
    report(FindingKind::kObjectUnreadable, question, url, "an object that the server can read",
           error.message());
  }
}

/// Removes a copy that this server keeps (store.cache) of other bytes; the next read asks the
/// store.
void ObjectCheck::check_copy(const Question& question, const blob::Located& at) {
  auto* const cached = dynamic_cast<blob::CachedStore*>(at.store);
  if (cached == nullptr) return;
  for (const objects::StoredBytes& bytes :
       objects::stored_bytes(engine_, repository_, question.entry)) {
    if (cached->check_copy(at.key, bytes.recorded())) continue;
    blob::corruptions().add();
    log::error("object_corrupt",
               {{"path", question.path}, {"address", bytes.url}, {"copy", "removed"}});
  }
}

/// Reads from the store itself, not from copies of its bytes.
void ObjectCheck::compare(const Question& question, const std::string& url) {
  auto check = objects::ContentCheck::of(question.entry, objects::DigestChoice::kStrongest);
  if (!check) return;
  const blob::Located at = engine_.stores.locate(url);
  const auto reader = at.store->open(at.key, {0, question.entry.size_bytes});
  std::vector<char> buffer(kReadBytes);
  while (const size_t got = reader ? reader->read(buffer) : 0) {
    check->update({buffer.data(), got});
    bytes_read_ += got;
    throw_if_cancelled();
    alive_();
    pace_.wait(got);
  }
  ++compared_;
  if (check->matches()) return;
  report(FindingKind::kObjectContent, question, url, check->expected(), check->found());
}

void ObjectCheck::count_into(VerifyReport& report) const {
  report.part_lists = part_lists_;
  report.objects_checked = checked_;
  report.objects_compared = compared_;
  report.bytes_read = bytes_read_;
  report.objects = seen_.size();
  if (options_.mode != ObjectMode::kSample || sample_.size() < kSampledObjectsMax) return;
  // The sample holds the smallest of evenly spread hashes: the greatest of them shows how dense all
  // are.
  const double share = static_cast<double>(sample_.front().hash) / std::pow(2.0, 64);
  report.objects = static_cast<uint64_t>(static_cast<double>(kSampledObjectsMax - 1) / share);
}

void ObjectCheck::report(FindingKind kind, const Question& question, std::string address,
                         std::string expected, std::string found) {
  findings_.add(
      {.finding = {.kind = kind,
                   .path = question.path,
                   .after = {},
                   .address = std::move(address),
                   .expected = std::move(expected),
                   .found = std::move(found)},
       .origin = question.origin,
       .address = question.part.empty() ? encode_address(question.entry.address) : question.part});
}

}  // namespace tarn::verify
