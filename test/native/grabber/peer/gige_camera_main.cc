// The GigE Vision camera of the tests as a program: `gige-peer ADDRESS [SERIAL [WIDTH HEIGHT]]`. Each line of
// its input switches something: `loss PERMILLE`, `resend answers|silent|unavailable`, `stall on|off`, `freeze
// on|off`, `mute on|off`, `model NAME`, `clock SECONDS`, `revoke`, `answer KIND NUMBER` with KIND lost,
// garbage-before, cut, repeated or refused (0: none). `answers` prints how many acknowledgements there were.
// Ends with its input.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "gige_camera.h"

using namespace surgiclaw::peer;

namespace {

bool obey(GigeCamera& camera, const std::string& line) {
  std::istringstream words(line);
  std::string what;
  std::string value;
  words >> what >> value;
  const bool on = value == "on";
  if (what == "loss") {
    camera.change([&](CameraFaults& f) { f.lossPermille = std::stod(value); });
  } else if (what == "resend") {
    using Resend = CameraFaults::Resend;
    camera.change([&](CameraFaults& f) {
      f.resend = value == "answers"  ? Resend::answers
                 : value == "silent" ? Resend::silent
                                     : Resend::unavailable;
    });
  } else if (what == "stall") {
    camera.change([&](CameraFaults& f) { f.stalled = on; });
  } else if (what == "freeze") {
    camera.change([&](CameraFaults& f) { f.frozen = on; });
  } else if (what == "mute") {
    camera.change([&](CameraFaults& f) { f.mute = on; });
  } else if (what == "model") {
    camera.setModelName(value);
  } else if (what == "clock") {
    camera.change([&](CameraFaults& f) { f.clockOffsetNs = static_cast<int64_t>(std::stod(value) * 1e9); });
  } else if (what == "revoke") {
    camera.revokeControl();
  } else if (what == "answer") {
    using Answer = CameraFaults::Answer;
    uint64_t number = 0;
    words >> number;
    camera.change([&](CameraFaults& f) {
      f.answerNumber = number;
      f.answer = value == "lost"             ? Answer::lost
                 : value == "garbage-before" ? Answer::garbageBefore
                 : value == "cut"            ? Answer::cut
                 : value == "repeated"       ? Answer::repeated
                                             : Answer::refused;
    });
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3 && argc != 5) {
    std::fprintf(stderr, "usage: gige-peer ADDRESS [SERIAL [WIDTH HEIGHT]]\n");
    return 2;
  }
  try {
    CameraModel model;
    if (argc > 2) model.serial = argv[2];
    if (argc > 4) {
      model.sensorWidth = static_cast<uint32_t>(std::stoul(argv[3]));
      model.sensorHeight = static_cast<uint32_t>(std::stoul(argv[4]));
    }
    GigeCamera camera(argv[1], model);
    std::printf("ready\n");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "answers")
        std::printf("%llu\n", static_cast<unsigned long long>(camera.tally().answers));
      else
        std::printf("%s\n", obey(camera, line) ? "done" : "unknown");
      std::fflush(stdout);
    }
    const GigeCamera::Tally tally = camera.tally();
    std::printf("frames %llu resend-requests %llu resent-packets %llu\n",
                static_cast<unsigned long long>(tally.frames),
                static_cast<unsigned long long>(tally.resendRequests),
                static_cast<unsigned long long>(tally.resentPackets));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
