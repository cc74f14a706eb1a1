// The service manager that started tarnd (systemd): its sockets, and notifications to it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tarn::server {

/// The listening sockets that the manager passed, by their names (FileDescriptorName=); empty
/// without one. Removes the variables, so that programs that tarnd starts do not take the sockets
/// for theirs; call it once, before any thread starts. Throws invalid_argument for two sockets of
/// one name. Source: sd_listen_fds(3).
std::map<std::string, int> take_sockets();

/// Tells the manager about the state of the service, for example "READY=1"; does nothing without
/// one. Source: sd_notify(3). Safe from any thread.
class ServiceManager {
 public:
  /// Reads and removes NOTIFY_SOCKET; call it before any thread starts.
  ServiceManager();
  void tell(std::string_view state) const;

 private:
  std::string socket_;
};

/// Whether standard output goes to the system's journal, which others than tarnd's user may read.
bool output_is_journal();

}  // namespace tarn::server
