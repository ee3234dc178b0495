// pty-bridge LINK: a pseudo-terminal under LINK, bridged to standard input and output; ends with standard
// input. Says "ready TERMINAL" on standard error once clients may open the link.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "surgiclaw/pty/pty_bridge.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: pty-bridge LINK\n");
    return 64;
  }
  std::signal(SIGPIPE, SIG_IGN);
  // Ctrl-C in a terminal reaches the whole group; the emulator closes standard input when it ends.
  std::signal(SIGINT, SIG_IGN);
  try {
    surgiclaw::pty::PtyBridge bridge(argv[1]);
    std::fprintf(stderr, "ready %s\n", bridge.terminalPath().c_str());
    bridge.run(STDIN_FILENO, STDOUT_FILENO);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pty-bridge: %s\n", error.what());
    return 1;
  }
  return 0;
}
