#include "surgiclaw/guardian/options.h"

#include <algorithm>
#include <cstdlib>

namespace surgiclaw::guardian {
namespace {

/// A whole decimal number within [low, high].
bool parseNumber(const std::string& text, int low, int high, int& value) {
  if (text.empty() || text.size() > 9) return false;
  int sum = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    sum = sum * 10 + (digit - '0');
  }
  if (sum < low || sum > high) return false;
  value = sum;
  return true;
}

/// HOST:PORT, the host possibly an IPv6 address in brackets.
bool parseEndpoint(const std::string& text, AriesTcp& endpoint) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  endpoint.host = host;
  return parseNumber(text.substr(colon + 1), 1, 65535, endpoint.port);
}

/// Axis numbers between commas, none twice.
bool parseAxes(const std::string& text, std::vector<int>& axes) {
  axes.clear();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int axis = 0;
    if (!parseNumber(text.substr(begin, end - begin), 1, 32, axis)) return false;
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return false;
    axes.push_back(axis);
    begin = end + 1;
  }
  return true;
}

}  // namespace

const char* usage() {
  return "guardian: stops devices without a watchdog of their own when the daemon falls silent.\n"
         "Started by the daemon, not by hand.\n\n"
         "  --beat-fd N          descriptor that heartbeats come from (required)\n"
         "  --status-fd N        where status lines go (default 1)\n"
         "  --silence-ms N       silence after which it acts, 5...10000 (default 50)\n"
         "  --log FILE           one JSON line for each thing it did, appended\n"
         "  --aries-tcp HOST:PORT  stage controller, as a client of its own; repeatable\n"
         "  --aries-fd N         stage controller on a serial descriptor; repeatable\n"
         "  --aries-connection-fd N  stage controller that takes no second client; repeatable\n"
         "  --sc-fd N            stage controller of the SC series on a serial descriptor; repeatable\n"
         "  --sc-axes N,N…       axes of the last one, in the order in which they are stopped\n"
         "  --needle-fd N        needle drive on a serial descriptor; repeatable\n"
         "  --needle-device N    device number of the last needle (default 1)\n"
         "  --needle-axis N      axis of the last needle (default 1)\n"
         "  --needle-modbus-fd N  needle drive with a Modbus RTU map; repeatable\n"
         "  --needle-unit N      unit of the last Modbus needle (default 1)\n\n"
         "Exit status: 0 told to end, 2 wrong arguments, 3 the daemon ended and the devices were stopped.\n"
         "Example: guardian --beat-fd 3 --log guardian.log --aries-tcp 127.0.0.1:12321 --needle-fd 4\n";
}

std::string parseOptions(const std::vector<std::string>& arguments, Options& options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& key = arguments[i];
    if (key == "--help") {
      options.help = true;
      return {};
    }
    if (i + 1 == arguments.size()) return key + ": a value is missing, or the option is unknown";
    const std::string& value = arguments[++i];
    bool good = true;
    int number = -1;
    if (key == "--beat-fd") {
      good = parseNumber(value, 0, 65535, options.beatFd);
    } else if (key == "--status-fd") {
      good = parseNumber(value, 0, 65535, options.statusFd);
    } else if (key == "--silence-ms") {
      good = parseNumber(value, 5, 10000, options.silenceMs);
    } else if (key == "--log") {
      options.logPath = value;
      good = !value.empty();
    } else if (key == "--aries-tcp") {
      AriesTcp endpoint;
      good = parseEndpoint(value, endpoint);
      options.ariesTcp.push_back(endpoint);
    } else if (key == "--aries-fd") {
      good = parseNumber(value, 0, 65535, number);
      options.ariesSerial.push_back({number});
    } else if (key == "--aries-connection-fd") {
      good = parseNumber(value, 0, 65535, number);
      options.ariesConnections.push_back({number});
    } else if (key == "--sc-fd") {
      good = parseNumber(value, 0, 65535, number);
      options.scSerial.push_back({number, {}});
    } else if (key == "--sc-axes") {
      if (options.scSerial.empty()) return key + " comes before any --sc-fd";
      good = parseAxes(value, options.scSerial.back().axes);
    } else if (key == "--needle-fd") {
      good = parseNumber(value, 0, 65535, number);
      options.needles.push_back({number});
    } else if (key == "--needle-device" || key == "--needle-axis") {
      if (options.needles.empty()) return key + " comes before any --needle-fd";
      NeedleSerial& needle = options.needles.back();
      good = parseNumber(value, 1, 99, key == "--needle-axis" ? needle.axis : needle.device);
    } else if (key == "--needle-modbus-fd") {
      good = parseNumber(value, 0, 65535, number);
      options.modbusNeedles.push_back({number});
    } else if (key == "--needle-unit") {
      if (options.modbusNeedles.empty()) return key + " comes before any --needle-modbus-fd";
      good = parseNumber(value, 1, 247, options.modbusNeedles.back().unit);
    } else {
      return "unknown option " + key;
    }
    if (!good) return key + ": '" + value + "' is not acceptable";
  }
  if (options.beatFd < 0) return "--beat-fd is missing";
  for (const ScSerial& port : options.scSerial) {
    if (port.axes.empty()) return "--sc-fd " + std::to_string(port.fd) + " without --sc-axes";
  }
  return {};
}

}  // namespace surgiclaw::guardian
