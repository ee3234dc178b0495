// camera-server --scene FILE --state FILE [--stats SECONDS]
//
// Serves every microscope of a scene as a GigE Vision camera. Prints one JSON object a line on standard
// output: {"ready":true} once the cameras that are switched on serve, {"camera":"MIC1","online":false} on
// changes, and with --stats how long drawing takes. A line `NUMBER FAULT VALUE` on standard input gives
// camera 1, 2, … a fault (CameraService::fault); it is answered by {"camera":"MIC1","fault":"lose"}, or by
// {"refused":LINE}. Ends on SIGTERM, SIGINT or when standard input closes, so that it never outlives the
// program that started it. Exit codes: 0 ended as asked, 1 could not serve, 2 wrong arguments.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/core/utility.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "camera_service.h"
#include "loopback_addresses.h"
#include "surgiclaw/optics/renderer.h"
#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"

namespace {

using namespace surgiclaw::optics;

struct Arguments {
  std::string scene;
  std::string state;
  double statsS = 0;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    if (i + 1 >= count) throw UsageError(name + " needs a value");
    if (name == "--scene")
      arguments.scene = words[i + 1];
    else if (name == "--state")
      arguments.state = words[i + 1];
    else if (name == "--stats")
      arguments.statsS = std::strtod(words[i + 1], nullptr);
    else
      throw UsageError("unknown argument " + name);
  }
  if (arguments.scene.empty() || arguments.state.empty())
    throw UsageError("--scene and --state are required");
  return arguments;
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::string onlineLine(const CameraService& service) {
  return "{\"camera\":\"" + service.serial() + "\",\"online\":" + (service.online() ? "true" : "false") + "}";
}

/// Waits up to `milliseconds`; true when the program has to end. What came on standard input is added to
/// `heard`.
bool askedToEnd(int signals, int milliseconds, std::string& heard) {
  std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}}};
  if (poll(watched.data(), watched.size(), milliseconds) <= 0) return false;
  if (watched[1].revents != 0) return true;
  if (watched[0].revents != 0) {
    std::array<char, 256> bytes;
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return true;
    heard.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return false;
}

/// Gives the cameras the faults of every whole line that was heard.
void obey(std::string& heard, const std::vector<std::unique_ptr<CameraService>>& services) {
  for (std::size_t end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
    const std::string line = heard.substr(0, end);
    heard.erase(0, end + 1);
    std::istringstream words(line);
    std::size_t number = 0;
    std::string fault;
    std::string value;
    words >> number >> fault;
    std::getline(words >> std::ws, value);
    if (number >= 1 && number <= services.size() && services[number - 1]->fault(fault, value)) {
      say("{\"camera\":\"" + services[number - 1]->serial() + "\",\"fault\":\"" + fault + "\"}");
    } else {
      say("{\"refused\":" + nlohmann::json(line).dump() + "}");
    }
  }
}

void serve(const Arguments& arguments, int signals) {
  const Scene scene = loadScene(arguments.scene);
  std::vector<std::string> addresses;
  for (const CameraScene& camera : scene.cameras) addresses.push_back(camera.address);
  setLoopbackAddresses(addresses);

  // The tissue of each view takes seconds to draw and blur: all at once.
  const std::shared_ptr<const NoiseTile> noise = makeNoiseTile(scene);
  std::vector<std::future<std::unique_ptr<CameraService>>> made;
  for (std::size_t i = 0; i < scene.cameras.size(); ++i) {
    made.push_back(std::async(std::launch::async, [&, i] {
      return std::make_unique<CameraService>(scene, i, arguments.state, noise);
    }));
  }
  std::vector<std::unique_ptr<CameraService>> services;
  for (auto& each : made) services.push_back(each.get());

  StateReader reader(arguments.state);
  SceneState state;
  std::uint64_t version = reader.version();
  const auto follow = [&](bool announce) {
    try {
      reader.read(state);
    } catch (const StateError& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    for (std::size_t i = 0; i < services.size(); ++i) {
      CameraService& service = *services[i];
      if (state.cameras[i].online == service.online()) continue;
      if (state.cameras[i].online)
        service.powerUp();
      else
        service.powerDown();
      if (announce) say(onlineLine(service));
    }
  };
  follow(false);
  say("{\"ready\":true}");

  using Clock = std::chrono::steady_clock;
  auto reported = Clock::now();
  std::string heard;
  while (!askedToEnd(signals, 20, heard)) {
    obey(heard, services);
    const std::uint64_t newest = reader.version();
    if (newest != version) {
      version = newest;
      follow(true);
    }
    const std::chrono::duration<double> since = Clock::now() - reported;
    if (arguments.statsS > 0 && since.count() >= arguments.statsS) {
      reported = Clock::now();
      for (const auto& service : services) {
        const RenderTimes times = service->takeTimes();
        std::array<char, 160> line;
        std::snprintf(line.data(), line.size(),
                      R"({"camera":"%s","fps":%.2f,"renderMsMedian":%.2f,"renderMsP99":%.2f})",
                      service->serial().c_str(), static_cast<double>(times.frames) / since.count(),
                      times.medianMs, times.p99Ms);
        say(line.data());
      }
    }
  }
}

}  // namespace

int main(int count, char** words) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  // Blocked before the first thread starts, so that all of them leave the signals to the descriptor.
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const int signals = signalfd(-1, &ending, SFD_CLOEXEC);
  cv::setNumThreads(1);
  try {
    serve(parse(count, words), signals);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\nusage: camera-server --scene FILE --state FILE [--stats SECONDS]\n",
                 error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
