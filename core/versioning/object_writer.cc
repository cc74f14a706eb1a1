#include "core/versioning/object_writer.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

constexpr uint64_t kBufferBytesMax = 256 * 1024;
constexpr uint64_t kBufferBytesMin = 4 * 1024;

}  // namespace

WrittenObject write_object(Engine& engine, const Repository& repository,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint) {
  WrittenObject written;
  written.address = new_own_address(engine.writer.address_time());
  const blob::Located at = engine.stores.locate(
      str_cat(repository.storage_namespace, "/", relative_path(written.address)));
  const auto writer = at.store->create(at.key, size_hint);
  const uint64_t size =
      std::clamp(size_hint.value_or(kBufferBytesMax) + 1, kBufferBytesMin, kBufferBytesMax);
  // Uninitialised on purpose: zeroing would touch every page once more than needed.
  const std::unique_ptr<char[]> buffer(new char[size]);
  while (const size_t got = read(std::span<char>(buffer.get(), size))) {
    writer->write(std::string_view(buffer.get(), got));
    written.size_bytes += got;
  }
  if (!writer->finish()) {
    throw Error(ErrorCode::kUnavailable, "address_taken",
                "storing the object: its fresh address was taken, try again");
  }
  return written;
}

}  // namespace tarn::versioning
