#include "core/objects/multipart.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/meta/part_lists.h"
#include "core/meta/references.h"
#include "core/meta/repositories.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/model/listing.h"
#include "core/objects/foreign_copy.h"
#include "core/objects/object_writer.h"
#include "core/objects/part_digests.h"
#include "core/objects/uploads.h"
#include "core/quotas/quotas.h"

namespace tarn::objects {
namespace {

constexpr size_t kMd5Bytes = 16;
constexpr std::string_view kNoSuchUpload = reason::kNoSuchUpload;

[[noreturn]] void throw_no_upload() {
  throw Error(ErrorCode::kNotFound, kNoSuchUpload,
              "the multipart upload does not exist or has ended");
}

[[noreturn]] void refuse_parts(std::string_view reason, std::string message) {
  throw Error(ErrorCode::kInvalidArgument, reason, std::move(message));
}

MultipartUpload upload_from(const UploadRow& row, const Repository& repository) {
  MultipartUpload upload;
  upload.upload_id = row.id;
  upload.repository = repository;
  upload.branch = row.branch_name;
  upload.key = row.key;
  upload.owner = row.owner;
  upload.created = row.created;
  upload.checksum_algorithm = row.checksum_algorithm;
  upload.checksum_type = row.checksum_type;
  return upload;
}

UploadedPart part_from(uint32_t number, const meta::StoredPart& stored) {
  return {number, stored.size_bytes, to_hex(stored.md5), stored.modified, stored.checksums};
}

void check_part_number(uint32_t number) {
  if (number < 1 || number > kPartNumberMax) {
    refuse_parts(reason::kInvalidPartNumber,
                 str_cat("part number ", number, ": must be between 1 and ", kPartNumberMax));
  }
}

void check_quota(branch::Engine& engine, const MultipartUpload& upload, uint64_t bytes) {
  engine.quotas.check(upload.repository.id, upload.branch.str(), upload.owner, bytes);
}

/// Stores the written bytes as a part of the upload. The quotas of its owner count bytes that were
/// stored for it (`fresh`), now and not at the completion, which adds none.
UploadedPart keep_part(branch::Engine& engine, const MultipartUpload& upload, uint32_t number,
                       meta::StoredPart part, bool fresh) {
  part.modified = engine.clock.now();
  meta::References references(engine.writer.fresh_since());
  references.add(part);
  Uploads::Within within;
  if (!references.empty()) {
    within = [&](db::Connection& connection) {
      references.rescue(connection, upload.repository.id);
    };
  }
  Charge charge;
  if (fresh) {
    charge = engine.quotas.charge(upload.repository.id, upload.branch.str(), upload.owner,
                                  part.address, part.size_bytes);
  }
  const auto keep = [&] {
    try {
      if (!engine.uploads.put_part(upload.upload_id, number, part, engine.writer.id(), within,
                                   charge))
        throw_no_upload();
    } catch (const db::DbError& error) {
      if (error.sqlstate() != quotas::kStateOverQuota) throw;
      engine.quotas.refuse(upload.repository.id, charge);
    }
  };
  if (fresh) {
    refer_or_remove(engine, upload.repository, part.address, keep);
  } else {
    keep();
  }
  engine.quotas.note(charge);
  return part_from(number, part);
}

/// The stored parts that the client lists, in its order, each checked against the client's
/// attributes.
meta::PartList chosen_parts(const std::vector<NumberedPart>& stored, const Completion& completion) {
  if (completion.parts.empty())
    refuse_parts(reason::kMalformedParts, "completing the upload: no parts were named");
  meta::PartList out;
  uint32_t previous = 0;
  for (const CompletedPart& wanted : completion.parts) {
    if (wanted.number <= previous) {
      refuse_parts(reason::kInvalidPartOrder,
                   "completing the upload: the parts are not in ascending order");
    }
    previous = wanted.number;
    const auto at = std::lower_bound(
        stored.begin(), stored.end(), wanted.number,
        [](const NumberedPart& part, uint32_t number) { return part.number < number; });
    if (at == stored.end() || at->number != wanted.number || to_hex(at->part.md5) != wanted.etag) {
      refuse_parts(reason::kInvalidPart,
                   str_cat("part ", wanted.number, ": was not uploaded or its ETag differs"));
    }
    for (const Checksum& sum : wanted.checksums) {
      const auto& have = at->part.checksums;
      const bool known = std::any_of(have.begin(), have.end(), [&](const Checksum& c) {
        return c.algorithm == sum.algorithm;
      });
      if (known && std::find(have.begin(), have.end(), sum) == have.end()) {
        refuse_parts(reason::kInvalidPart,
                     str_cat("part ", wanted.number, ": its ", sum.algorithm, " checksum differs"));
      }
    }
    out.push_back(at->part);
  }
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i].size_bytes < kPartBytesMin) {
      refuse_parts(reason::kEntityTooSmall,
                   str_cat("part ", completion.parts[i].number, ": is smaller than 5 MiB"));
    }
  }
  return out;
}

std::string joined_etag(std::string_view part_md5s) {
  return str_cat(to_hex(md5(part_md5s)), "-", part_md5s.size() / kMd5Bytes);
}

std::string joined_digest(const meta::PartList& parts) {
  std::vector<PartDigest> digests;
  digests.reserve(parts.size());
  for (const meta::StoredPart& part : parts) digests.push_back({part.size_bytes, part.sha256});
  return content_digest(digests);
}

/// A single part needs no list: its bytes are the object.
Address join(branch::Engine& engine, const Repository& repository, meta::PartList parts) {
  if (parts.size() == 1) {
    const meta::StoredPart& part = parts[0];
    if (part.owner) return ForeignAddress{*part.owner, part.address};
    return part.address;
  }
  for (meta::StoredPart& part : parts) part.sha256.clear();
  return PartListAddress{engine.part_lists.insert(repository.id, parts)};
}

/// A whole object as a part that refers to its bytes; nullopt if they must be read, because a
/// part's etag is their MD5.
std::optional<meta::StoredPart> referenced_part(branch::Engine& engine,
                                                const MultipartUpload& upload,
                                                const FoundObject& source, blob::ByteRange range) {
  const Entry& entry = source.entry;
  if (entry.source_version()) return {};  // a part would not remember what its bytes must still be
  if (range.offset != 0 || range.length != entry.size_bytes || range.length == 0) return {};
  const std::optional<std::string> md5 = from_hex(entry.etag);
  if (!md5 || md5->size() != kMd5Bytes) return {};
  meta::StoredPart part;
  for (Checksum& checksum : entry.checksums()) {
    if (!checksum.composite) part.checksums.push_back(std::move(checksum));
  }
  const std::string& wanted = upload.checksum_algorithm;
  if (!wanted.empty() &&
      std::none_of(part.checksums.begin(), part.checksums.end(),
                   [&](const Checksum& checksum) { return checksum.algorithm == wanted; })) {
    return {};
  }
  const auto bytes = share_bytes(engine, source.repository, upload.repository, entry);
  if (!bytes) return {};
  part.size_bytes = range.length;
  part.md5 = *md5;
  part.sha256 = whole_sha256(entry);
  part.address = bytes->own;
  part.owner = bytes->owner;
  return part;
}

}  // namespace

void throw_too_many_uploads(const branch::Engine& engine, std::string_view user) {
  throw Error(ErrorCode::kResourceExhausted, reason::kTooManyUploads,
              str_cat("user \"", user, "\" has ", engine.uploads.open_max(),
                      " multipart uploads open, the most that upload.multipart_open_max allows: "
                      "complete or abort some of them first"));
}

std::function<void(db::Connection&)> upload_admission(branch::Engine& engine,
                                                      RepositoryId repository,
                                                      const BranchName& branch,
                                                      const std::string& user) {
  if (!engine.quotas.limits(repository, branch.str(), user, &QuotaLimits::uploads)) return {};
  return [&engine, repository, branch, user](db::Connection& connection) {
    engine.quotas.admit_upload(connection, repository, branch.str(), user);
  };
}

MultipartUpload create_multipart(branch::Engine& engine, const UploadTarget& target,
                                 const MultipartCreation& creation) {
  UploadRow row;
  row.repository = target.repository.id;
  row.branch = target.branch.id;
  row.branch_name = target.branch.name;
  row.key = target.key;
  row.entry = encode_entry(entry_with(creation.attributes));
  row.owner = creation.owner;
  row.checksum_algorithm = creation.checksum_algorithm;
  row.checksum_type = creation.checksum_type;
  const auto made = engine.uploads.create_multipart(
      std::move(row),
      upload_admission(engine, target.repository.id, target.branch.name, creation.owner));
  if (!made) throw_too_many_uploads(engine, creation.owner);
  return upload_from(*made, target.repository);
}

MultipartUpload get_multipart(branch::Engine& engine, const RepositoryName& repository,
                              const BranchName& branch, const Key& key,
                              std::string_view upload_id) {
  const auto row = engine.uploads.find_multipart(upload_id);
  if (!row || row->branch_name != branch || row->key != key) throw_no_upload();
  Repository repo = engine.repositories.get(row->repository);
  if (repo.name != repository) throw_no_upload();
  return upload_from(*row, repo);
}

UploadedPart put_part(branch::Engine& engine, const MultipartUpload& upload, uint32_t number,
                      UploadBody& body, std::optional<uint64_t> size_hint) {
  check_part_number(number);
  check_quota(engine, upload, size_hint.value_or(0));
  const meta::Writer::Operation operation(engine.writer);
  WrittenObject written = write_object(
      engine, upload.repository, {upload.branch.str(), upload.owner},
      [&body](std::span<char> out) { return body.read(out); }, size_hint, !body.computes_sha256());
  UploadDigests digests = body.digests();
  if (body.computes_sha256()) written.sha256 = std::move(digests.sha256);
  meta::StoredPart part;
  part.size_bytes = written.size_bytes;
  part.md5 = from_hex(digests.etag).value_or("");
  part.address = written.address;
  part.sha256 = std::move(written.sha256);
  part.checksums = digests.checksums;
  return keep_part(engine, upload, number, std::move(part), /*fresh=*/true);
}

UploadedPart copy_part(branch::Engine& engine, const MultipartUpload& upload, uint32_t number,
                       const FoundObject& source, blob::ByteRange range) {
  check_part_number(number);
  const meta::Writer::Operation operation(engine.writer);
  const CopiedWork copied(
      branch::makers_of_copy(engine, source.origin, upload.repository.id,
                             branch::get_branch(engine, upload.repository, upload.branch)));
  if (auto part = referenced_part(engine, upload, source, range)) {
    return keep_part(engine, upload, number, *std::move(part), /*fresh=*/false);
  }
  check_quota(engine, upload, range.length);
  meta::StoredPart part;
  part.size_bytes = range.length;
  const auto reader = open_object(engine, source.repository, source.entry, range);
  PartDigests digests(upload.checksum_algorithm);
  WrittenObject written = write_object(
      engine, upload.repository, {upload.branch.str(), upload.owner},
      [&](std::span<char> out) {
        const size_t got = reader->read(out);
        digests.update(std::string_view(out.data(), got));
        return got;
      },
      range.length);
  part.address = written.address;
  part.sha256 = std::move(written.sha256);
  part.md5 = digests.md5();
  part.checksums = {digests.checksum()};
  return keep_part(engine, upload, number, std::move(part), /*fresh=*/true);
}

std::optional<StagedEntry> completed_before(branch::Engine& engine,
                                            const RepositoryName& repository,
                                            const BranchName& branch, const Key& key,
                                            std::span<const CompletedPart> parts) {
  std::string md5s;
  for (const CompletedPart& part : parts) {
    const std::optional<std::string> md5 = from_hex(part.etag);
    if (!md5 || md5->size() != kMd5Bytes) return std::nullopt;
    md5s += *md5;
  }
  const auto seen = engine.staging.lookup(repository, branch, key);
  if (!seen) return std::nullopt;
  std::optional<Entry> entry = branch::visible_entry(engine, *seen, key);
  if (!entry || entry->etag != joined_etag(md5s)) return std::nullopt;
  const auto version = branch::version_shown(engine, seen->repository, seen->branch, key, *entry);
  return StagedEntry{*std::move(entry), version};
}

namespace {

constexpr std::string_view kPartsChanged = "parts_changed";
/// Each round means that a part was uploaded during the completion.
constexpr int kRoundsMax = 10;

Entry joined_entry(branch::Engine& engine, const MultipartUpload& upload,
                   const Completion& completion, const UploadRow& row,
                   const meta::PartList& parts) {
  Entry entry =
      completion.attributes ? entry_with(*completion.attributes) : decode_entry(row.entry);
  entry.size_bytes = 0;
  std::string md5s;
  for (const meta::StoredPart& part : parts) {
    entry.size_bytes += part.size_bytes;
    md5s += part.md5;
  }
  if (completion.object_bytes && *completion.object_bytes != entry.size_bytes) {
    refuse_parts(reason::kSizeMismatch,
                 str_cat("completing the upload: the parts hold ", entry.size_bytes, " bytes, not ",
                         *completion.object_bytes));
  }
  entry.etag = joined_etag(md5s);
  entry.extras.set(ExtraTag::kContentDigest, joined_digest(parts));
  entry.mtime = engine.clock.now();
  if (completion.checksums) {
    std::vector<UploadedPart> chosen;
    for (size_t i = 0; i < parts.size(); ++i) {
      chosen.push_back(part_from(completion.parts[i].number, parts[i]));
    }
    const std::vector<Checksum> checksums = completion.checksums(chosen);
    if (!checksums.empty()) entry.set_checksums(checksums);
  }
  entry.address = join(engine, upload.repository, parts);
  return entry;
}

StagedEntry complete_once(branch::Engine& engine, const MultipartUpload& upload,
                          const Completion& completion) {
  // In this order: if the upload still exists afterwards, all its parts were read.
  const std::vector<NumberedPart> stored =
      engine.uploads.parts(upload.upload_id, 0, kPartNumberMax);
  const auto row = engine.uploads.find_multipart(upload.upload_id);
  if (!row) throw_no_upload();
  Entry entry = joined_entry(engine, upload, completion, *row, chosen_parts(stored, completion));
  const CopiedWork work(engine.uploads.makers(upload.upload_id));
  // Rules are asked only when there are some.
  const auto version = branch::stage_entry_within(
      engine, {upload.repository.name, upload.branch, upload.repository.id, row->branch},
      upload.key, entry, completion.condition, [&](db::Connection& connection) {
        switch (Uploads::take_multipart(connection, upload.upload_id, stored)) {
          case Uploads::Taken::kDone:
            return;
          case Uploads::Taken::kGone:
            throw_no_upload();
          case Uploads::Taken::kPartsChanged:
            throw Error(ErrorCode::kConflict, kPartsChanged,
                        "completing the upload: parts of it were sent at the same time");
        }
      });
  return {std::move(entry), version};
}

/// Whether another completion, or an abort, of the same upload may have caused the error.
bool may_have_ended(branch::Engine& engine, const MultipartUpload& upload, const Error& error) {
  if (error.reason() == kNoSuchUpload) return true;
  const bool condition_failed =
      error.code() == ErrorCode::kPreconditionFailed || error.reason() == reason::kNoObjectToMatch;
  return condition_failed && !engine.uploads.find_multipart(upload.upload_id);
}

}  // namespace

StagedEntry complete_multipart(branch::Engine& engine, const MultipartUpload& upload,
                               const Completion& completion) {
  const meta::Writer::Operation operation(engine.writer);
  for (int round = 1;; ++round) {
    try {
      return complete_once(engine, upload, completion);
    } catch (const Error& error) {
      if (error.reason() == kPartsChanged && round < kRoundsMax) continue;
      if (!may_have_ended(engine, upload, error)) throw;
    }
    const auto entry = completed_before(engine, upload.repository.name, upload.branch, upload.key,
                                        completion.parts);
    if (!entry) throw_no_upload();
    return *entry;
  }
}

void abort_multipart(branch::Engine& engine, const MultipartUpload& upload) {
  if (!engine.uploads.remove(upload.upload_id)) throw_no_upload();
}

Page<UploadedPart> list_parts(branch::Engine& engine, const MultipartUpload& upload, uint32_t after,
                              uint32_t limit) {
  const std::vector<NumberedPart> rows = engine.uploads.parts(upload.upload_id, after, limit + 1);
  return page_of<UploadedPart>(
      rows, limit,
      [](const auto& all, size_t row) { return part_from(all[row].number, all[row].part); },
      [](const UploadedPart& last) { return std::to_string(last.number); });
}

Page<MultipartUpload> list_multiparts(branch::Engine& engine, const RepositoryName& repository,
                                      std::string_view prefix, const UploadMarker& after,
                                      uint32_t limit) {
  const Repository repo = branch::get_repository(engine, repository);
  const std::vector<UploadRow> rows =
      engine.uploads.list(repo.id, prefix, after.key, after.upload_id, limit + 1);
  return page_of<MultipartUpload>(
      rows, limit, [&](const auto& all, size_t row) { return upload_from(all[row], repo); },
      &MultipartUpload::upload_id);
}

std::vector<UploadedPart> parts_of(branch::Engine& engine, const Entry& entry) {
  const auto* list = std::get_if<PartListAddress>(&entry.address);
  if (!list) return {};
  std::vector<UploadedPart> out;
  const auto parts = engine.part_lists.get(list->id);
  for (const meta::StoredPart& part : *parts) {
    out.push_back(part_from(static_cast<uint32_t>(out.size() + 1), part));
  }
  return out;
}

}  // namespace tarn::objects
