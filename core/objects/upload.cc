#include "core/objects/upload.h"

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/hook_files.h"
#include "core/branch/hooks.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/objects/object_writer.h"
#include "core/objects/uploads.h"
#include "core/quotas/quotas.h"

namespace tarn::objects {
namespace {

constexpr std::string_view kLinkUsed = "link_address_used";

branch::StageTarget stage_target(const UploadTarget& target) {
  return {target.repository.name, target.branch.name, target.repository.id, target.branch.id,
          target.branch.settings_version};
}

/// A target with the charge of an object that was stored for it.
branch::StageTarget charged_target(branch::Engine& engine, const UploadTarget& target,
                                   const OwnAddress& address, uint64_t size_bytes) {
  branch::StageTarget out = stage_target(target);
  out.charge = engine.quotas.charge(target.repository.id, target.branch.name.str(),
                                    ActingUser::name(), address, size_bytes);
  return out;
}

/// The part of a URL below the repository's own namespace; nullopt if it lies elsewhere.
std::optional<std::string_view> inside_namespace(const Repository& repository,
                                                 std::string_view url) {
  if (!url.starts_with(repository.storage_namespace)) return std::nullopt;
  url.remove_prefix(repository.storage_namespace.size());
  if (!url.starts_with('/')) return std::nullopt;
  return url.substr(1);
}

/// The sizes make the input unambiguous, because the texts may contain line breaks.
std::string link_token(const branch::Engine& engine, RepositoryId repository,
                       std::string_view branch, std::string_view key, std::string_view relative,
                       std::string_view user) {
  return to_base64url(
      hmac_sha256(engine.link_key,
                  str_cat("link\n", static_cast<int32_t>(repository), "\n", branch, "\n",
                          key.size(), " ", key, "\n", user.size(), " ", user, "\n", relative)));
}

bool is_md5(std::string_view text) {
  const auto bytes = from_hex(text);
  return bytes && bytes->size() == 16;
}

[[noreturn]] void throw_differs(std::string_view what, std::string_view said,
                                std::string_view stored) {
  throw Error(ErrorCode::kInvalidArgument, reason::kLinkAddressDiffers,
              str_cat("link address: ", what, " is said to be ", said, ", and is ", stored));
}

[[noreturn]] void throw_link_invalid(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, reason::kLinkAddressInvalid,
              str_cat("link address invalid: ", why));
}

/// An object at an own address, from the store: clients' claims about it are compared, not stored.
class StoredObject {
 public:
  /// nullopt if the object is missing or incomplete.
  static std::optional<StoredObject> find(branch::Engine& engine, const Repository& repository,
                                          const OwnAddress& address) {
    blob::Located at =
        engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
    auto stat = at.store->stat(at.key);
    if (!stat) return std::nullopt;
    return StoredObject(std::move(at), *std::move(stat));
  }
  static StoredObject get(branch::Engine& engine, const Repository& repository,
                          const OwnAddress& address) {
    auto found = find(engine, repository, address);
    if (found) return *std::move(found);
    throw Error(ErrorCode::kInvalidArgument, reason::kLinkAddressEmpty,
                "link address: the store holds no object there; send its bytes first");
  }

  const blob::BlobStat& stat() const { return stat_; }
  /// Whether clients may write to the store, which then computes etags.
  bool is_direct() const { return at_.store->direct() != nullptr; }

  /// The URL of a client's upload stays valid after the object is staged, so reads compare with
  /// this version.
  ForeignBytes as_the_store_says() const {
    return {.size_bytes = stat_.size_bytes,
            .etag = stat_.etag,
            .sent = SourceVersion{stat_.etag, stat_.size_bytes, stat_.mtime_ns, stat_.version_id}};
  }

  /// Reads all bytes. `said`: kept if it is the etag of an upload in parts that has this one part.
  ForeignBytes read(std::string_view said) const {
    const auto reader =
        at_.store->open(at_.key, {0, stat_.size_bytes}, is_direct() ? stat_.etag : "");
    if (!reader) {
      throw Error(ErrorCode::kUnavailable, reason::kAddressBusy,
                  "reading the stored object: it was removed meanwhile, try again");
    }
    Digest digest(DigestAlgorithm::kMd5);
    PassedBytes passed =
        pass_bytes([&](std::span<char> out) { return reader->read(out); },
                   [&](std::string_view piece) { digest.update(piece); }, stat_.size_bytes);
    const std::string whole_md5 = digest.finish();
    ForeignBytes out = as_the_store_says();
    if (!is_direct()) out.sent.reset();
    out.size_bytes = passed.size_bytes;
    out.etag = to_hex(whole_md5);
    if (const std::string of_part = str_cat(to_hex(md5(whole_md5)), "-1"); said == of_part) {
      out.etag = of_part;
    }
    out.sha256 = std::move(passed.sha256);
    return out;
  }

 private:
  StoredObject(blob::Located at, blob::BlobStat stat)
      : at_(std::move(at)), stat_(std::move(stat)) {}

  blob::Located at_;
  blob::BlobStat stat_;
};

Entry entry_of(branch::Engine& engine, const ForeignBytes& bytes,
               const ObjectAttributes& attributes) {
  if (bytes.etag.size() > kEtagBytesMax)
    throw_invalid("argument checksum: is longer than 255 bytes");
  Entry entry = entry_with(attributes);
  entry.size_bytes = bytes.size_bytes;
  entry.mtime = bytes.mtime.value_or(engine.clock.now());
  entry.etag = bytes.etag;
  entry.extras.set(ExtraTag::kContentDigest, content_digest(bytes.sha256));
  if (bytes.sent) entry.set_source_version(*bytes.sent);
  return entry;
}

/// The object at the target if its bytes are at the address.
std::optional<Entry> shown_at(branch::Engine& engine, const UploadTarget& target,
                              const OwnAddress& address) {
  const auto seen =
      branch::lookup_branch(engine, target.repository.name, target.branch.name, target.key);
  std::optional<Entry> entry = branch::visible_entry(engine, seen, target.key);
  if (entry && entry->address != Address(address)) entry.reset();
  return entry;
}

void check_external(branch::Engine& engine, const std::string& url) {
  engine.stores.locate(url);  // a known scheme and a permitted location
  blob::check_no_dots(url);
  if (url.starts_with("local://") && !url.starts_with("local:///")) {
    throw_invalid(str_cat("physical address \"", url,
                          "\": is inside the object store but not of this repository"));
  }
  if (!engine.repositories.overlapping_namespaces(url + "/").empty()) {
    throw_invalid(
        str_cat("physical address \"", url, "\": lies in another repository's namespace"));
  }
}

}  // namespace

bool in_own_namespace(const Repository& repository, std::string_view url) {
  return inside_namespace(repository, url).has_value();
}

Entry entry_with(const ObjectAttributes& attributes) {
  Entry entry;
  entry.content_type = attributes.content_type;
  entry.extras = attributes.extras;
  entry.set_user_metadata(attributes.user_metadata);
  return entry;
}

UploadTarget check_upload(branch::Engine& engine, const RepositoryName& repository,
                          const BranchName& branch, const Key& key, const branch::WriteTerms& terms,
                          const branch::Condition& condition) {
  const meta::BranchLookup seen = branch::lookup_for_write(engine, repository, branch, key, terms);
  UploadTarget target{engine.repositories.get(seen.repository), seen.branch, key};
  if (!condition.none())
    branch::check_condition(condition, branch::visible_entry(engine, seen, key));
  return target;
}

StagedEntry put_object(branch::Engine& engine, const UploadTarget& target, UploadBody& body,
                       std::optional<uint64_t> size_hint, const ObjectAttributes& attributes,
                       const branch::Condition& condition) {
  engine.quotas.check(target.repository.id, target.branch.name.str(), ActingUser::name(),
                      size_hint.value_or(0));
  const meta::Writer::Operation operation(engine.writer);
  WrittenObject written = write_object(
      engine, target.repository, {target.branch.name.str(), ActingUser::name()},
      [&body](std::span<char> out) { return body.read(out); }, size_hint, !body.computes_sha256());
  UploadDigests digests = body.digests();
  if (body.computes_sha256()) written.sha256 = std::move(digests.sha256);
  Entry entry = entry_with(attributes);
  entry.size_bytes = written.size_bytes;
  entry.mtime = engine.clock.now();
  entry.etag = std::move(digests.etag);
  entry.address = written.address;
  entry.extras.set(ExtraTag::kContentDigest, content_digest(written.sha256));
  if (!digests.checksums.empty()) entry.set_checksums(digests.checksums);
  std::optional<VersionId> version;
  refer_or_remove(engine, target.repository, written.address, [&] {
    version = branch::stage_entry(
        engine, charged_target(engine, target, written.address, written.size_bytes), target.key,
        entry, condition);
  });
  return {std::move(entry), version};
}

StagedEntry stage_address(branch::Engine& engine, const UploadTarget& target,
                          const std::string& url, uint64_t size_bytes, const std::string& etag,
                          std::optional<Instant> mtime, const ObjectAttributes& attributes,
                          const branch::Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  ForeignBytes bytes{.size_bytes = size_bytes, .etag = etag, .mtime = mtime};
  Address address = ExternalAddress{url};
  Charge charge;
  if (const auto relative = inside_namespace(target.repository, url)) {
    const auto own = parse_relative_path(*relative);
    if (!own)
      throw_invalid(
          str_cat("physical address \"", url, "\": is not an object address of this repository"));
    const auto stored = StoredObject::get(engine, target.repository, *own);
    const bool of_the_store = stored.is_direct() && stored.stat().etag == etag;
    bytes = of_the_store ? stored.as_the_store_says() : stored.read(etag);
    bytes.mtime = mtime;
    address = *own;
    charge = charged_target(engine, target, *own, bytes.size_bytes).charge;
  } else {
    check_external(engine, url);
  }
  Entry entry = entry_of(engine, bytes, attributes);
  entry.address = std::move(address);
  const branch::StageTarget at = stage_target(target);
  if (charge.empty()) {
    const auto version = branch::stage_entry(engine, at, target.key, entry, condition);
    return {std::move(entry), version};
  }
  bool charged = false;
  try {
    const auto version = branch::stage_entry_within(
        engine, at, target.key, entry, condition, [&](db::Connection& connection) {
          charged = Uploads::charge_handed_out(connection, target.repository.id, target.branch.id,
                                               charge);
        });
    if (charged) engine.quotas.note(charge);
    return {std::move(entry), version};
  } catch (const Error& error) {
    if (error.reason() != reason::kQuotaExceeded) throw;
    engine.quotas.refuse(target.repository.id, charge);
  }
}

HandedOutAddress hand_out_address(branch::Engine& engine, const RepositoryName& repository,
                                  const BranchName& branch, const Key& key, std::string_view user) {
  branch::check_hook_file(engine, repository, key.str());
  const meta::BranchLookup seen = branch::lookup_branch(engine, repository, branch, key);
  const meta::Writer::Operation operation(engine.writer);
  HandedOutAddress out{
      engine.repositories.get(seen.repository), new_own_address(engine.writer.address_time()), {}};
  if (!engine.uploads.hand_out(seen.repository, seen.branch, key, out.own, user,
                               kHandedOutLifetime)) {
    throw Error(ErrorCode::kResourceExhausted, reason::kTooManyUploads,
                str_cat("user \"", user, "\" was given ", kHandedOutPerUserMax,
                        " addresses that are not linked, which is the most: link them, or wait "
                        "until they expire after ",
                        kHandedOutLifetime.count(), " hours"));
  }
  const std::string relative = relative_path(out.own);
  out.text = str_cat(out.repository.storage_namespace, "/", relative, ",",
                     link_token(engine, seen.repository, branch.str(), key.str(), relative, user));
  return out;
}

StagedEntry stage_handed_out(branch::Engine& engine, const UploadTarget& target,
                             const OwnAddress& address, const ForeignBytes& bytes,
                             const ObjectAttributes& attributes,
                             const branch::Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  Entry entry = entry_of(engine, bytes, attributes);
  entry.address = address;
  const Charge charge = charged_target(engine, target, address, bytes.size_bytes).charge;
  bool charged = false;
  try {
    const auto version = branch::stage_entry_within(
        engine, stage_target(target), target.key, entry, condition,
        [&](db::Connection& connection) {
          const auto taken = Uploads::take_links(connection, target.branch.id, target.key, address);
          if (!taken) {
            throw Error(ErrorCode::kConflict, kLinkUsed,
                        "link address was used already: ask for another one");
          }
          charged = *taken;
          if (!charged) Uploads::charge(connection, target.branch.id, charge);
        });
    if (!charged) engine.quotas.note(charge);
    return {std::move(entry), version};
  } catch (const Error& error) {
    if (error.reason() == reason::kQuotaExceeded) {
      engine.quotas.refuse(target.repository.id, charge);
    }
    // The condition may fail because this request, sent earlier, has already succeeded.
    if (error.reason() != kLinkUsed && error.code() != ErrorCode::kPreconditionFailed) throw;
    auto shown = shown_at(engine, target, address);
    if (!shown) throw;
    return {*std::move(shown), std::nullopt};
  }
}

StagedEntry link_address(branch::Engine& engine, const UploadTarget& target,
                         const std::string& address, std::string_view user,
                         const ForeignBytes& said, const ObjectAttributes& attributes,
                         const branch::Condition& condition) {
  const OwnAddress own = own_handed_out_address(engine, target, address, user);
  const auto stored = StoredObject::get(engine, target.repository, own);
  if (stored.stat().size_bytes != said.size_bytes) {
    throw_differs("its size", str_cat(said.size_bytes), str_cat(stored.stat().size_bytes));
  }
  ForeignBytes bytes = stored.is_direct() ? stored.as_the_store_says() : stored.read(said.etag);
  if (is_md5(said.etag) && is_md5(bytes.etag) && said.etag != bytes.etag) {
    throw_differs("its checksum", said.etag, bytes.etag);
  }
  bytes.mtime = said.mtime;
  return stage_handed_out(engine, target, own, bytes, attributes, condition);
}

OwnAddress own_handed_out_address(branch::Engine& engine, const UploadTarget& target,
                                  const std::string& address, std::string_view user) {
  const size_t comma = address.rfind(',');
  const std::string url = address.substr(0, comma);
  const auto relative = inside_namespace(target.repository, url);
  if (!relative) throw_link_invalid("is not an address of this repository");
  if (comma == std::string::npos) throw_link_invalid("address is not signed");
  const std::string expected = link_token(engine, target.repository.id, target.branch.name.str(),
                                          target.key.str(), *relative, user);
  if (!constant_time_equal(address.substr(comma + 1), expected))
    throw_link_invalid("invalid address signature");
  const auto own = parse_relative_path(*relative);
  if (!own) throw_link_invalid("malformed address");
  if (created_at(*own) + kHandedOutLifetime < engine.clock.now()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kLinkAddressExpired, "link address expired");
  }
  return *own;
}

UploadDigests fill_address(branch::Engine& engine, const Repository& repository,
                           const Uploads::Link& link, UploadBody& body,
                           std::optional<uint64_t> size_hint) {
  const OwnAddress& address = link.address;
  engine.quotas.check(repository.id, link.branch.str(), ActingUser::name(), size_hint.value_or(0));
  const meta::Writer::Operation operation(engine.writer);
  // An address that is linked has its bytes: a repeated request finds them below.
  const bool is_open = engine.uploads.is_handed_out(link);
  if (!is_open && !StoredObject::find(engine, repository, address)) {
    throw Error(ErrorCode::kInvalidArgument, reason::kLinkAddressExpired,
                "storing the object: its address has expired; ask for a new one");
  }
  const PassedBytes written = write_at(
      engine, repository, address, {link.branch.str(), ActingUser::name()},
      [&body](std::span<char> out) { return body.read(out); }, size_hint);
  UploadDigests digests = body.digests();
  if (!written.taken) {
    const Charge charge = engine.quotas.charge(repository.id, link.branch.str(), ActingUser::name(),
                                               address, written.size_bytes);
    refer_or_remove(engine, repository, address, [&] {
      try {
        engine.uploads.charge_link(link, charge);
      } catch (const db::DbError& error) {
        if (error.sqlstate() != quotas::kStateOverQuota) throw;
        // One that was linked since has been counted, and keeps its bytes.
        if (engine.uploads.take_back(link)) engine.quotas.refuse(repository.id, charge);
      }
    });
    engine.quotas.note(charge);
    return digests;
  }
  const auto stored = StoredObject::find(engine, repository, address);
  if (!stored) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressBusy,
                "storing the object: its address is being written by another request, try again");
  }
  if (stored->read("").sha256 != written.sha256) {
    throw Error(ErrorCode::kAlreadyExists, reason::kAddressTaken,
                "storing the object: its address holds other bytes already; ask for a new one");
  }
  return digests;
}

}  // namespace tarn::objects
