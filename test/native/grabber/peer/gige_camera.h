// A GigE Vision camera of our own, for what the fake camera of Aravis does not have: packets that are resent,
// more pixel formats, binning, packet size and delay that matter, and faults at will. It shares nothing with
// the grabber.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gige_registers.h"

namespace surgiclaw::peer {

struct CameraFaults {
  /// Packets of these (frame, packet) numbers are not sent the first time. Frames count from 1 in each
  /// acquisition; packet 0 is the leader.
  std::set<std::pair<uint64_t, uint32_t>> dropped;
  double lossPermille = 0;      ///< of all packets, drawn evenly
  bool losesResentToo = false;  ///< `dropped` and loss apply to resent packets as well
  enum class Resend { answers, silent, unavailable } resend = Resend::answers;
  bool reversed = false;       ///< payload packets leave in reverse order
  bool doubled = false;        ///< every packet leaves twice
  std::set<uint64_t> skipped;  ///< frames that are counted but not sent at all
  bool stalled = false;        ///< no frame leaves, control answers
  bool frozen = false;         ///< the same picture in every frame
  bool mute = false;           ///< control does not answer
  /// What happens to one acknowledgement, counted from 1 over the camera's life; 0: to none.
  enum class Answer { lost, garbageBefore, cut, repeated, refused } answer = Answer::lost;
  uint64_t answerNumber = 0;
  bool otherFormat = false;    ///< frames say another pixel format than the register
  int64_t clockOffsetNs = 0;   ///< of the camera's clock against wall time
  uint32_t linkBytes = 65535;  ///< largest packet that the link carries
  uint32_t sizeHeldInstead =
      0;  ///< the packet size that the register takes whatever is written; 0: as written
};

class GigeCamera {
 public:
  /// Listens on `address`, an IPv4 address of the machine. @throws std::runtime_error
  GigeCamera(const std::string& address, const CameraModel& model, uint16_t firstBlock = 1);
  GigeCamera(const GigeCamera&) = delete;
  GigeCamera& operator=(const GigeCamera&) = delete;
  ~GigeCamera();

  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(faults_);
    woken_.notify_all();
  }
  /// The privilege to control is gone, as when another program took it.
  void revokeControl();
  void setModelName(const std::string& name);
  /// An edge at the input Line0.
  void pulseLine();
  uint32_t registerValue(uint32_t address) const;

  struct Tally {
    uint64_t frames = 0;
    uint64_t resendRequests = 0;
    uint64_t resentPackets = 0;
    uint64_t answers = 0;  ///< acknowledgements, lost ones included
  };
  Tally tally() const;

  /// Grey level, eight bits, that frame `number` shows at (x, y) of its own region.
  static uint8_t grey(uint32_t x, uint32_t y, uint64_t number) {
    return static_cast<uint8_t>(7 * x + 13 * y + number);
  }

 private:
  struct Frame {
    uint16_t block = 0;
    uint64_t number = 0;
    uint64_t timestampNs = 0;
    uint32_t format = 0;
    uint32_t width = 0, height = 0, offsetX = 0, offsetY = 0;
    size_t packetBytes = 0;
    std::vector<uint8_t> pixels;
    uint32_t payloadPackets() const {
      return static_cast<uint32_t>((pixels.size() + packetBytes - 1) / packetBytes);
    }
  };

  void serveControl();
  void serveStream();
  void answer(const std::vector<uint8_t>& request, const sockaddr_in& from);
  void sendAnswer(const std::vector<uint8_t>& reply, const sockaddr_in& to);
  Status obey(uint16_t command, const uint8_t* body, size_t size, const sockaddr_in& from,
              std::vector<uint8_t>& reply);
  Status writeRegister(uint32_t address, uint32_t value, const sockaddr_in& from);
  void resend(const uint8_t* body);
  void fireTestPacket(uint32_t size);
  Frame expose();
  void sendPacket(const Frame& frame, uint32_t packet, Status status);
  bool lost(const Frame& frame, uint32_t packet, bool again);
  sockaddr_in destination() const;
  bool triggered() const;

  mutable std::mutex mutex_;
  std::condition_variable woken_;
  GigeRegisters registers_;
  CameraFaults faults_;
  Tally tally_;
  std::deque<Frame> sent_;  ///< the newest few, for resending
  sockaddr_in controller_{};
  uint64_t controllerSeenNs_ = 0;
  uint64_t triggers_ = 0;
  uint64_t number_ = 0;  ///< of the last frame of this acquisition
  uint16_t block_;
  uint32_t random_ = 0x2545f491;
  bool ending_ = false;
  int controlSocket_ = -1;
  int streamSocket_ = -1;
  std::thread control_;
  std::thread stream_;
};

}  // namespace surgiclaw::peer
