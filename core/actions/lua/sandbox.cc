#include "core/actions/lua/sandbox.h"

#include <cerrno>
#include <cstring>
#include <iterator>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name the architecture for the filter of system calls"
#endif

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::kInternal,
              str_cat("confining a script: ", what, ": ", std::strerror(errno)));
}

void limit(__rlimit_resource_t resource, rlim_t value) {
  const rlimit both{value, value};
  if (setrlimit(resource, &both) != 0) fail("setrlimit");
}

#define TARN_PERMIT(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/// Permits the system calls for computing, memory, the clock and the open socket; all others fail
/// with EPERM.
void filter_system_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      TARN_PERMIT(SYS_read),
      TARN_PERMIT(SYS_write),
      TARN_PERMIT(SYS_recvfrom),
      TARN_PERMIT(SYS_sendto),
      TARN_PERMIT(SYS_brk),
      TARN_PERMIT(SYS_mmap),
      TARN_PERMIT(SYS_munmap),
      TARN_PERMIT(SYS_mremap),
      TARN_PERMIT(SYS_madvise),
      TARN_PERMIT(SYS_futex),
      TARN_PERMIT(SYS_clock_gettime),
      TARN_PERMIT(SYS_clock_nanosleep),
      TARN_PERMIT(SYS_nanosleep),
      TARN_PERMIT(SYS_getrandom),
      TARN_PERMIT(SYS_getpid),
      TARN_PERMIT(SYS_gettid),
      TARN_PERMIT(SYS_rt_sigreturn),
      TARN_PERMIT(SYS_rt_sigprocmask),
      TARN_PERMIT(SYS_exit),
      TARN_PERMIT(SYS_exit_group),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no new privileges");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) fail("filter of system calls");
}

#undef TARN_PERMIT

}  // namespace

void enter_sandbox(const SandboxLimits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_AS, limits.memory_bytes);
  filter_system_calls();
}

}  // namespace tarn::actions
