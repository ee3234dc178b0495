// Aravis' GigE Vision fake camera as a program, for machines without the package that ships one
// (aravis-tools, which wants GTK). Nothing of ours but the command line: `fake-gv-camera -i ADDRESS -s
// SERIAL`, until a signal ends it.
#include <arv.h>
#include <signal.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const char* address = "127.0.0.1";
  const char* serial = "SIM01";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "-i") == 0) {
      address = argv[i + 1];
    } else if (std::strcmp(argv[i], "-s") == 0) {
      serial = argv[i + 1];
    } else {
      std::fprintf(stderr, "usage: fake-gv-camera [-i ADDRESS] [-s SERIAL]\n");
      return 2;
    }
  }
  // Before the camera's thread is made, so that it inherits the mask and this one gets the signal.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  ArvGvFakeCamera* const camera = arv_gv_fake_camera_new(address, serial);
  if (camera == nullptr || !arv_gv_fake_camera_is_running(camera)) {
    std::fprintf(stderr, "no camera on %s: port 3956 is taken, or the address is not of this machine\n",
                 address);
    return 1;
  }
  int signal = 0;
  sigwait(&ending, &signal);
  g_object_unref(camera);
  return 0;
}
