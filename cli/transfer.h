// Transfer of one file in either direction, with verified checksums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/client.h"
#include "cli/uri.h"

namespace tarn::cli {

/// Which way the bytes take.
enum class Way {
  kServer,
  kPresigned  ///< straight between here and the object store, by URLs that the server signs
};

/// Attributes of a new object besides its bytes.
struct NewObject {
  std::string content_type{};  ///< "" = application/octet-stream
  Pairs metadata{};
  bool no_clobber = false;  ///< fail with already_exists
};

/// Called for each piece, with its size. What it throws ends the transfer.
using Moved = std::function<void(uint64_t bytes)>;

/// Returns the server's record of the object. `local` may be "-": standard input, which goes
/// through the server and is sent once. Throws not_found for a file that is not there, and
/// data_loss when what the server received has another MD5.
Json upload_file(Client& client, Way way, const std::string& local, const Uri& target,
                 const NewObject& facts, const Moved& moved);

/// Returns the bytes written; `target` may be "-": standard output. It takes its name only when all
/// bytes are there. Throws data_loss when they have another MD5 than the server says.
uint64_t download_file(Client& client, Way way, const Uri& source,
                       const std::filesystem::path& target, const Moved& moved);

/// Whether the file has as many bytes and, unless `size_only`, their MD5. A checksum that is no MD5
/// (those of uploads in parts, and of some stores) says nothing about the bytes: false. `looked` is
/// called while the file is read.
bool is_same(const std::filesystem::path& file, uint64_t size_bytes, const std::string& checksum,
             bool size_only, const Moved& looked);

}  // namespace tarn::cli
