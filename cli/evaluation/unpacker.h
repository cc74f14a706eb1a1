// Unpacks tar archives of a server into folders, up to a limit of bytes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "cli/client.h"

namespace tarn::cli {

/// The most files and folders of one archive.
constexpr uint64_t kUnpackedMembersMax = 5'000'000;

/// Downloads the archive and unpacks it into `folder`, which must not exist. `bytes_left` shrinks
/// by what was written. Throws resource_exhausted at a limit, data_loss for a member that is not
/// safe to unpack, interrupted when `stop` returns true, and the server's error.
void unpack(Client& client, const Request& request, const std::filesystem::path& folder,
            uint64_t& bytes_left, const std::function<bool()>& stop);

}  // namespace tarn::cli
