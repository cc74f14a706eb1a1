// A sample repository for a first look at Tarn: data, three experiments and a gate.
#pragma once

#include <optional>
#include <string>

#include "core/auth/credentials.h"

namespace tarn::server {

/// The name of the repository.
constexpr std::string_view kSampleRepository = "quickstart";

/// The administrator's key of <data>/admin-credentials; nullopt if there is no such file.
std::optional<auth::NewKey> kept_admin_key(const std::string& data);

/// Makes the repository over the REST API of the server at `url`, unless it exists. Throws
/// unavailable, with the answer, if the server refuses a request.
void make_sample(const std::string& url, const auth::NewKey& key);

/// Lines to paste into a shell to look at it.
std::string sample_steps(const std::string& url, const auth::NewKey& key);

}  // namespace tarn::server
