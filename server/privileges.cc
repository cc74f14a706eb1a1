#include "server/privileges.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <cap-ng.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

constexpr mode_t kPrivate = 0700;

[[noreturn]] void refuse(std::string_view why) {
  throw Error(ErrorCode::kPreconditionFailed, str_cat("giving up privileges: ", why));
}

/// Selects `kept`, as far as the process has them; capng_apply takes effect later.
void choose_capabilities(std::initializer_list<unsigned> kept) {
  if (capng_get_caps_process() != 0) refuse("the capabilities of the process cannot be read");
  std::vector<unsigned> held;
  for (const unsigned capability : kept) {
    if (capng_have_capability(CAPNG_PERMITTED, capability) != 0) held.push_back(capability);
  }
  capng_clear(CAPNG_SELECT_ALL);
  for (const unsigned capability : held) {
    capng_update(CAPNG_ADD, static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED),
                 capability);
  }
}

/// Does not change the owner of an existing directory: its content would need the same change.
void give_data_directory(const std::string& path, const passwd& account) {
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path());
  if (mkdir(path.c_str(), kPrivate) == 0) {
    if (chown(path.c_str(), account.pw_uid, account.pw_gid) == 0) return;
    refuse(str_cat("giving ", path, " to ", account.pw_name, ": ", std::strerror(errno)));
  }
  if (errno != EEXIST) refuse(str_cat("making ", path, ": ", std::strerror(errno)));
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0 || found.st_uid == account.pw_uid) return;
  refuse(str_cat("the data directory ", path,
                 " belongs to another account than run_as: stop "
                 "every tarnd that uses it, then: chown -R ",
                 account.pw_name, " ", path));
}

void become(const std::string& name, const std::string& data) {
  const passwd* account = getpwnam(name.c_str());
  if (!account)
    refuse(str_cat("run_as: there is no account \"", name, "\": useradd --system ", name));
  if (geteuid() == account->pw_uid) return choose_capabilities({CAP_NET_BIND_SERVICE});
  if (geteuid() != 0) {
    refuse(
        str_cat("run_as: only root can become \"", name, "\": start tarnd as root or as ", name));
  }
  give_data_directory(data, *account);
  choose_capabilities({CAP_NET_BIND_SERVICE});
  const int result = capng_change_id(static_cast<int>(account->pw_uid),
                                     static_cast<int>(account->pw_gid), CAPNG_INIT_SUPP_GRP);
  if (result != 0) {
    refuse(str_cat("becoming ", name, " needs CAP_SETUID and CAP_SETGID (error ", result, ")"));
  }
}

void warn_of_root() {
  log::warn("running_as_root",
            {{"message",
              "tarnd needs no privileges: set run_as to an account of its own, such as \"tarn\", "
              "or start it as that account (docs/operations.md)"}});
}

}  // namespace

void give_up_privileges(const Config& config) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) refuse("the kernel keeps no_new_privs off");
  if (!config.run_as.empty()) {
    become(config.run_as, config.data);
  } else if (geteuid() == 0) {
    choose_capabilities({CAP_NET_BIND_SERVICE, CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL,
                         CAP_SETGID, CAP_SETUID});
    warn_of_root();
  } else {
    choose_capabilities({CAP_NET_BIND_SERVICE});
  }
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) refuse("the capabilities of the process cannot be set");
}

}  // namespace tarn::server
