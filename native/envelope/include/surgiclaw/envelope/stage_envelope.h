// What may be written to a KOHZU controller. The judge reads the very line that goes out, so it does not
// matter by which way through the driver a number came into it. Lines: ARIES/LYNX manual Rev 1.43, pages 47
// to 112; the SC series as in src/cell/kohzu/sc-dialect.ts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "surgiclaw/envelope/refusal.h"

namespace surgiclaw::envelope {

/// How many parameters a drive takes, and where its target stands.
enum class StageFamily { kAries, kSc };

struct StageAxis {
  int number = 0;
  /// Inclusive, controller pulses.
  int32_t minPulses = 0;
  int32_t maxPulses = 0;
  /// The fastest the stage may be driven, pulses/s.
  int32_t maxPps = 0;
};

class StageEnvelope {
 public:
  StageEnvelope(StageFamily family, std::vector<StageAxis> axes) : family_(family), axes_(std::move(axes)) {}

  /// A target before anything is sent: whole pulses within the axis's range. `what` names it in the message.
  Refusal target(int axis, double pulses, const std::string& what) const;

  /// One line as it is about to be written, with its STX and its line end. A stop is never refused.
  Refusal line(std::string_view bytes) const;

 private:
  const StageAxis* find(double number) const;
  Refusal drive(const std::vector<int32_t>& parameters) const;
  Refusal origin(const std::vector<int32_t>& parameters) const;
  Refusal speed(const std::vector<int32_t>& parameters) const;

  StageFamily family_;
  std::vector<StageAxis> axes_;
};

}  // namespace surgiclaw::envelope
