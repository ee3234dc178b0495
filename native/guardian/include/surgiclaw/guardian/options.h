// What the guardian is told on its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surgiclaw::guardian {

/// An ARIES controller reached over TCP: the guardian is a client of its own.
struct AriesTcp {
  std::string host;
  int port = 0;
};

/// A duplicate of the daemon's descriptor of a serial ARIES controller.
struct AriesSerial {
  int fd = -1;
};

/// A duplicate of the daemon's only connection to an ARIES that dials the host itself, or asks for a login.
struct AriesConnection {
  int fd = -1;
};

/// A duplicate of the daemon's descriptor of a controller of the SC series.
struct ScSerial {
  int fd = -1;
  std::vector<int> axes;  ///< in the order in which they are stopped
};

/// A duplicate of the daemon's descriptor of a Zaber-ASCII needle drive.
struct NeedleSerial {
  int fd = -1;
  int device = 1;
  int axis = 1;
};

/// A duplicate of the daemon's descriptor of a Modbus RTU needle drive.
struct NeedleModbus {
  int fd = -1;
  int unit = 1;
};

struct Options {
  int beatFd = -1;
  int statusFd = 1;
  int silenceMs = 50;
  std::string logPath;
  std::vector<AriesTcp> ariesTcp;
  std::vector<AriesSerial> ariesSerial;
  std::vector<AriesConnection> ariesConnections;
  std::vector<ScSerial> scSerial;
  std::vector<NeedleSerial> needles;
  std::vector<NeedleModbus> modbusNeedles;
  bool help = false;
};

/// Reads the arguments (without the program's name). Empty on success, otherwise the first thing that is
/// wrong.
std::string parseOptions(const std::vector<std::string>& arguments, Options& options);

/// The text of --help.
const char* usage();

}  // namespace surgiclaw::guardian
