#include "core/objects/object_writer.h"

#include <algorithm>
#include <array>
#include <memory>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/writer.h"
#include "core/objects/side_digest.h"
#include "core/quotas/quotas.h"

namespace tarn::objects {
namespace {

constexpr uint64_t kBufferBytesMax = 256 * 1024;
constexpr uint64_t kBufferBytesMin = 4 * 1024;

/// Whether the database has said that it refers to nothing new, and never will because of this
/// request.
bool refused_for_good(const Error& error) {
  if (error.reason() == reason::kInDoubt) return false;
  switch (error.code()) {
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kPreconditionFailed:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kInvalidArgument:
      return true;
    default:
      return false;
  }
}

/// Fills `out` unless the end comes first.
std::string_view fill(const std::function<size_t(std::span<char>)>& read, std::span<char> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const size_t got = read(out.subspan(filled));
    if (got == 0) break;
    filled += got;
  }
  return {out.data(), filled};
}

}  // namespace

PassedBytes pass_bytes(const std::function<size_t(std::span<char>)>& read,
                       const std::function<void(std::string_view)>& write,
                       std::optional<uint64_t> size_hint, bool with_sha256) {
  const uint64_t size =
      std::clamp(size_hint.value_or(kBufferBytesMax) + 1, kBufferBytesMin, kBufferBytesMax);
  // Two buffers, because one is read into while the other is digested. Deliberately uninitialised:
  // zeroing would touch every page once more.
  std::array<std::unique_ptr<char[]>, 2> buffers;
  std::optional<SideDigest> digest;
  if (with_sha256) digest.emplace(DigestAlgorithm::kSha256);
  PassedBytes out;
  for (size_t turn = 0, got = size; got == size; turn ^= 1) {
    if (!buffers[turn]) buffers[turn].reset(new char[size]);
    const std::string_view piece = fill(read, {buffers[turn].get(), size});
    got = piece.size();
    if (digest) digest->update(piece, /*last=*/got < size);
    if (got > 0) write(piece);
    out.size_bytes += got;
  }
  if (digest) out.sha256 = digest->finish();
  return out;
}

PassedBytes write_at(branch::Engine& engine, const Repository& repository,
                     const OwnAddress& address, const Payer& payer,
                     const std::function<size_t(std::span<char>)>& read,
                     std::optional<uint64_t> size_hint, bool with_sha256) {
  const blob::Located at =
      engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
  quotas::Quotas::Transfer transfer(engine.quotas, repository.id, payer.branch, payer.user);
  transfer.expect(size_hint.value_or(0));
  const auto writer = at.store->create(at.key, size_hint);
  uint64_t expected = 0;
  PassedBytes out = pass_bytes(
      read,
      [&](std::string_view piece) {
        expected += piece.size();
        transfer.expect(expected);
        writer->write(piece);
      },
      size_hint, with_sha256);
  out.taken = !writer->finish();
  return out;
}

WrittenObject write_object(branch::Engine& engine, const Repository& repository, const Payer& payer,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint, bool with_sha256) {
  const OwnAddress address = new_own_address(engine.writer.address_time());
  PassedBytes written = write_at(engine, repository, address, payer, read, size_hint, with_sha256);
  if (written.taken) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressTaken,
                "storing the object: its fresh address was taken, try again");
  }
  return {std::move(written), address};
}

void refer_or_remove(branch::Engine& engine, const Repository& repository,
                     const OwnAddress& address, const std::function<void()>& refer) {
  try {
    refer();
  } catch (const Error& error) {
    if (!refused_for_good(error)) throw;
    try {
      const blob::Located at =
          engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
      at.store->remove(at.key);
    } catch (const std::exception& why) {
      log::warn("refused_upload_kept", {{"repository", repository.name.str()},
                                        {"address", relative_path(address)},
                                        {"message", why.what()}});
    }
    throw;
  }
}

}  // namespace tarn::objects
