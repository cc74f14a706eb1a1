// tarn-lua: the process that runs one hook script. It reads the script from its standard input, a
// socket to tarnd, and drops all privileges that it does not need. Not meant for interactive use.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/actions/lua/interpreter.h"
#include "core/actions/lua/libraries.h"
#include "core/actions/lua/sandbox.h"

namespace {

constexpr int kSocket = 0;
constexpr unsigned kEveryOther = ~0u;

int run() {
  using tarn::actions::Channel;
  using tarn::actions::Message;
  struct stat about {};
  if (fstat(kSocket, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    std::fputs("tarn-lua: tarnd runs the scripts of hooks in it; it does nothing by itself\n",
               stderr);
    return EXIT_FAILURE;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_range(3, kEveryOther, 0);
  tarn::actions::lua::warm_up();
  if (tarn::actions::kSandboxWorks) tarn::actions::enter_sandbox({});
  Channel channel(kSocket);
  const auto start = channel.receive();
  if (!start || start->kind != Message::Kind::kStart) return EXIT_FAILURE;
  const std::string error = tarn::actions::lua::run_script(*start, channel);
  return channel.send({Message::Kind::kDone, "", error}) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    // The server sees the socket close.
    return EXIT_FAILURE;
  }
}
