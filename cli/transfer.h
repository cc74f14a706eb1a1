// Transfer of one file in either direction, with verified checksums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cli/client.h"
#include "cli/uri.h"

namespace tarn::cli {

/// The path that the bytes take.
enum class Way {
  kServer,
  kPresigned  ///< directly between client and object store, by URLs that the server signs
};

/// The server replaces this type by that of the object's extension.
constexpr std::string_view kUnknownType = "application/octet-stream";

/// Attributes of a new object besides its bytes.
struct NewObject {
  std::string content_type{};  ///< "" = kUnknownType
  Pairs metadata{};
  bool no_clobber = false;  ///< fail with already_exists
};

/// Called with the size of each piece. An exception ends the transfer.
using Moved = std::function<void(uint64_t bytes)>;

/// Returns the server's record of the object. `local` may be "-": standard input, which goes
/// through the server and is sent once. Throws not_found for a missing file, data_loss if the
/// server received bytes with another MD5.
Json upload_file(Client& client, Way way, const std::string& local, const Uri& target,
                 const NewObject& facts, const Moved& moved);

/// Returns the number of bytes written; `target` may be "-": standard output. The file gets its
/// name only when it is complete. Throws data_loss if its MD5 differs from the server's.
uint64_t download_file(Client& client, Way way, const Uri& source,
                       const std::filesystem::path& target, const Moved& moved);

/// Whether the file has the same size and, unless `size_only`, the same MD5. A checksum that is no
/// MD5 (of multipart uploads, and of some stores) cannot be compared: false. `looked` is called
/// while the file is read.
bool is_same(const std::filesystem::path& file, uint64_t size_bytes, const std::string& checksum,
             bool size_only, const Moved& looked);

}  // namespace tarn::cli
