// A writer of bytes to the store at a new address.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::versioning {

struct WrittenObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
};

/// As write_object, to this address of the repository. nullopt: there is an object already, nothing
/// was changed. Needs no Operation: the address was handed out before, which protects it.
std::optional<uint64_t> write_at(Engine& engine, const Repository& repository,
                                 const OwnAddress& address,
                                 const std::function<size_t(std::span<char>)>& read,
                                 std::optional<uint64_t> size_hint);

/// Reads `read` to its end (0) in bounded memory; the bytes are durable when it returns. What
/// `read` throws abandons the object. Must run inside a meta::Writer::Operation.
WrittenObject write_object(Engine& engine, const Repository& repository,
                           const std::function<size_t(std::span<char>)>& read,
                           std::optional<uint64_t> size_hint);

}  // namespace tarn::versioning
