#include "core/objects/object_writer.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/quotas.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
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

}  // namespace

std::optional<uint64_t> write_at(Engine& engine, const Repository& repository,
                                 const OwnAddress& address, const Payer& payer,
                                 const std::function<size_t(std::span<char>)>& read,
                                 std::optional<uint64_t> size_hint) {
  const blob::Located at =
      engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
  meta::Quotas::Transfer transfer(engine.quotas, repository.id, payer.branch, payer.user);
  transfer.expect(size_hint.value_or(0));
  const auto writer = at.store->create(at.key, size_hint);
  const uint64_t size =
      std::clamp(size_hint.value_or(kBufferBytesMax) + 1, kBufferBytesMin, kBufferBytesMax);
  // Deliberately uninitialised: zeroing would touch every page once more.
  const std::unique_ptr<char[]> buffer(new char[size]);
  uint64_t written = 0;
  while (const size_t got = read(std::span<char>(buffer.get(), size))) {
    written += got;
    transfer.expect(written);
    writer->write(std::string_view(buffer.get(), got));
  }
  if (!writer->finish()) return std::nullopt;
  return written;
}

WrittenObject write_object(Engine& engine, const Repository& repository, const Payer& payer,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint) {
  const OwnAddress address = new_own_address(engine.writer.address_time());
  const auto written = write_at(engine, repository, address, payer, read, size_hint);
  if (!written) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressTaken,
                "storing the object: its fresh address was taken, try again");
  }
  return {address, *written};
}

void refer_or_remove(Engine& engine, const Repository& repository, const OwnAddress& address,
                     const std::function<void()>& refer) {
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

}  // namespace tarn::versioning
