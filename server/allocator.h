// jemalloc, the allocator of tarnd.
#pragma once

namespace tarn::server {

/// Starts a thread of jemalloc's that gives freed memory back to the system while no request comes.
/// Call it after give_up_privileges(), since a thread keeps the privileges that it started with.
/// Logs a failure. Without jemalloc (sanitizers have an allocator of their own) it does nothing.
void give_freed_memory_back();

}  // namespace tarn::server
