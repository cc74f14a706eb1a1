// Answers of the web interface: its page and the files that the page loads.
#pragma once

#include <optional>

#include "core/http/message.h"
#include "server/web_bundle.h"

namespace tarn::server {

/// The answer to a GET or HEAD of a path that belongs to the web interface: "/", the routes that
/// the page handles itself, its assets. nullopt for every other path. Safe from any thread.
std::optional<http::Response> web_page(const WebBundle& bundle, const http::Request& request);

}  // namespace tarn::server
