// A writer of bytes to the store at a new address.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// Computed from bytes while they passed.
struct PassedBytes {
  uint64_t size_bytes = 0;
  std::string sha256;  ///< raw; "" unless it was wanted
  bool taken = false;  ///< of write_at: there was an object already, nothing was changed
};

struct WrittenObject : PassedBytes {
  OwnAddress address;
};

/// The branch and the user whose quotas count the bytes of an upload.
struct Payer {
  std::string_view branch;
  std::string_view user;
};

/// Hands everything of `read`, to its end (0), to `write` in bounded memory.
PassedBytes pass_bytes(const std::function<size_t(std::span<char>)>& read,
                       const std::function<void(std::string_view)>& write,
                       std::optional<uint64_t> size_hint, bool with_sha256 = true);

/// Writes an object like write_object, at the given address. Needs no Operation: the address was
/// handed out before, which protects it.
PassedBytes write_at(branch::Engine& engine, const Repository& repository,
                     const OwnAddress& address, const Payer& payer,
                     const std::function<size_t(std::span<char>)>& read,
                     std::optional<uint64_t> size_hint, bool with_sha256 = true);

/// Reads `read` to its end (0) in bounded memory; the bytes are durable when it returns. What
/// `read` throws abandons the object, as does a quota that they exceed on their way. Must run
/// inside a meta::Writer::Operation.
WrittenObject write_object(branch::Engine& engine, const Repository& repository, const Payer& payer,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint, bool with_sha256 = true);

/// Runs `refer`, which makes something refer to the bytes that were written at the address. If that
/// is refused for good, so that nothing refers to them, they are removed; otherwise an error leaves
/// them to garbage collection.
void refer_or_remove(branch::Engine& engine, const Repository& repository,
                     const OwnAddress& address, const std::function<void()>& refer);

}  // namespace tarn::objects
