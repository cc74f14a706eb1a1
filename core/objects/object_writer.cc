#include "core/objects/object_writer.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

constexpr uint64_t kBufferBytesMax = 256 * 1024;
constexpr uint64_t kBufferBytesMin = 4 * 1024;

}  // namespace

std::optional<uint64_t> write_at(Engine& engine, const Repository& repository,
                                 const OwnAddress& address,
                                 const std::function<size_t(std::span<char>)>& read,
                                 std::optional<uint64_t> size_hint) {
  const blob::Located at =
      engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
  const auto writer = at.store->create(at.key, size_hint);
  const uint64_t size =
      std::clamp(size_hint.value_or(kBufferBytesMax) + 1, kBufferBytesMin, kBufferBytesMax);
  // Deliberately uninitialised: zeroing would touch every page once more.
  const std::unique_ptr<char[]> buffer(new char[size]);
  uint64_t written = 0;
  while (const size_t got = read(std::span<char>(buffer.get(), size))) {
    writer->write(std::string_view(buffer.get(), got));
    written += got;
  }
  if (!writer->finish()) return std::nullopt;
  return written;
}

WrittenObject write_object(Engine& engine, const Repository& repository,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint) {
  const OwnAddress address = new_own_address(engine.writer.address_time());
  const auto written = write_at(engine, repository, address, read, size_hint);
  if (!written) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressTaken,
                "storing the object: its fresh address was taken, try again");
  }
  return {address, *written};
}

}  // namespace tarn::versioning
