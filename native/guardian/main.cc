// The guardian process. See include/surgiclaw/guardian/guardian.h.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "surgiclaw/guardian/action_log.h"
#include "surgiclaw/guardian/guardian.h"
#include "surgiclaw/guardian/options.h"

namespace {

constexpr int kExitUsage = 2;

/// Nothing that ends the daemon may end the guardian before it has acted: it leaves the daemon's session, so
/// that a terminal's signals pass it by, and ignores those that a service manager sends to all processes of a
/// unit.
void outliveTheDaemon() {
  ::setsid();  // fails for a session leader, which is as good
  for (const int signal : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(signal, &ignore, nullptr);
  }
  // Last in line when memory runs out; lowering the score needs a privilege that may be missing.
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    if (::write(fd, "-900", 4) < 0) {
      // Not permitted: the ordinary score stays.
    }
    ::close(fd);
  }
}

int fail(const std::string& problem) {
  std::fprintf(stderr, "guardian: %s\n", problem.c_str());
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    using namespace surgiclaw::guardian;
    Options options;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (const std::string problem = parseOptions(arguments, options); !problem.empty()) return fail(problem);
    if (options.help) {
      std::fputs(usage(), stdout);
      return 0;
    }
    if (::fcntl(options.beatFd, F_GETFD) < 0) return fail("--beat-fd is not an open descriptor");
    outliveTheDaemon();
    ActionLog log;
    if (const std::string problem = log.open(options.logPath); !problem.empty()) return fail(problem);
    return Guardian(options, raisePrivileges(), log).run();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
