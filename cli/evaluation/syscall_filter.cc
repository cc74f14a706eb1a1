#include "cli/evaluation/syscall_filter.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace tarn::cli {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "no filter of system calls for this architecture"
#endif

constexpr uint32_t kRefused[] = {
    // Mounts and roots.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    // Namespaces; clone is below.
    SYS_unshare,
    SYS_setns,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    // Keyrings are not in a namespace.
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Large parts of the kernel that programs of evaluations do not need.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_fanotify_init,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    // The machine.
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};

constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr uint32_t kNumberAt = offsetof(seccomp_data, nr);
constexpr uint32_t kArchitectureAt = offsetof(seccomp_data, arch);
/// The lower half of the first argument; both architectures are little-endian.
constexpr uint32_t kFirstArgumentAt = offsetof(seccomp_data, args);

constexpr uint32_t failing(uint32_t error) { return SECCOMP_RET_ERRNO | error; }

class Filter {
 public:
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void answer(uint32_t action) { add(BPF_RET | BPF_K, action); }
  /// The next `skipped` instructions run only if `comparison` of the loaded word holds, or only if
  /// it does not.
  void when(uint32_t comparison, uint32_t value, uint8_t skipped = 1) {
    add(BPF_JMP | BPF_K | comparison, value, 0, skipped);
  }
  void unless(uint32_t comparison, uint32_t value, uint8_t skipped = 1) {
    add(BPF_JMP | BPF_K | comparison, value, skipped, 0);
  }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(code_.data()), code_.size() * sizeof(sock_filter)};
  }

 private:
  void add(uint32_t operation, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0) {
    code_.push_back({static_cast<uint16_t>(operation), if_true, if_false, value});
  }

  std::vector<sock_filter> code_;
};

}  // namespace

std::string syscall_filter() {
  Filter filter;
  filter.load(kArchitectureAt);
  filter.unless(BPF_JEQ, kArchitecture);
  filter.answer(SECCOMP_RET_KILL_PROCESS);
  filter.load(kNumberAt);
#if defined(__x86_64__)
  constexpr uint32_t kX32 = 0x40000000;
  filter.when(BPF_JGE, kX32);
  filter.answer(SECCOMP_RET_KILL_PROCESS);
#endif
  for (const uint32_t number : kRefused) {
    filter.when(BPF_JEQ, number);
    filter.answer(failing(EPERM));
  }
  // The flags of clone3 are in memory, where a filter cannot look; the C library falls back to
  // clone.
  filter.when(BPF_JEQ, SYS_clone3);
  filter.answer(failing(ENOSYS));
  filter.when(BPF_JEQ, SYS_clone, 4);
  filter.load(kFirstArgumentAt);
  filter.when(BPF_JSET, kNewNamespaces);
  filter.answer(failing(EPERM));
  filter.answer(SECCOMP_RET_ALLOW);
  filter.when(BPF_JEQ, SYS_socket, 4);
  filter.load(kFirstArgumentAt);
  filter.unless(BPF_JEQ, AF_UNIX);
  filter.answer(failing(EPERM));
  filter.answer(SECCOMP_RET_ALLOW);
  filter.answer(SECCOMP_RET_ALLOW);
  return filter.bytes();
}

}  // namespace tarn::cli
