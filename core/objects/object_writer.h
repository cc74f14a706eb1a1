// A writer of bytes to the store at a new address.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::versioning {

struct WrittenObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
};

/// The branch and the user whose quotas count the bytes of an upload.
struct Payer {
  std::string_view branch;
  std::string_view user;
};

/// As write_object, to this address of the repository. nullopt: there is an object already, nothing
/// was changed. Needs no Operation: the address was handed out before, which protects it.
std::optional<uint64_t> write_at(Engine& engine, const Repository& repository,
                                 const OwnAddress& address, const Payer& payer,
                                 const std::function<size_t(std::span<char>)>& read,
                                 std::optional<uint64_t> size_hint);

/// Reads `read` to its end (0) in bounded memory; the bytes are durable when it returns. What
/// `read` throws abandons the object, as does a quota that they exceed on their way. Must run
/// inside a meta::Writer::Operation.
WrittenObject write_object(Engine& engine, const Repository& repository, const Payer& payer,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint);

/// Runs `refer`, which makes something refer to the bytes that were written at the address. If that
/// is refused for good, so that nothing refers to them, they are removed; otherwise an error leaves
/// them to garbage collection.
void refer_or_remove(Engine& engine, const Repository& repository, const OwnAddress& address,
                     const std::function<void()>& refer);

}  // namespace tarn::versioning
