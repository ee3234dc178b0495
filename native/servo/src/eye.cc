#include "surgiclaw/servo/eye.h"

#include <exception>
#include <utility>

namespace surgiclaw::servo {
namespace {

class NeedleEye final : public Eye {
 public:
  NeedleEye(std::shared_ptr<grabber::FrameSource> source, const geometry::NeedleTrackOptions& options)
      : source_(std::move(source)), options_(options) {}

  Look look(uint64_t exposedAfterNs, std::chrono::nanoseconds timeout,
            const geometry::NeedleEstimate& prior) override {
    Look look;
    grabber::FrameLease frame;
    try {
      // The newest, when it is new enough: a loop slower than the camera must not work through old frames.
      frame = source_->latest(lastSequence_);
      if (!frame.valid() || frame.info().hostMonotonicNs <= exposedAfterNs) {
        frame.release();
        frame = source_->waitExposedAfter(exposedAfterNs, timeout);
      }
    } catch (const std::exception&) {
      return look;  // every slot of the ring is leased for the moment: as if no frame had come
    }
    if (!frame.valid() || frame.info().sequence <= lastSequence_) {
      if (source_->lost()) look.result = Look::Result::kLost;
      return look;
    }
    const grabber::FrameInfo& info = frame.info();
    lastSequence_ = info.sequence;
    look.frameNs = info.hostMonotonicNs;
    const geometry::ImageView image{info.pixels, info.width, info.height, info.stride};
    look.needle = prior.found ? geometry::trackNeedle(image, prior, options_)
                              : geometry::findNeedle(image, options_.search);
    look.result = look.needle.found ? Look::Result::kSeen : Look::Result::kNotFound;
    return look;
  }

 private:
  const std::shared_ptr<grabber::FrameSource> source_;
  const geometry::NeedleTrackOptions options_;
  uint64_t lastSequence_ = 0;
};

}  // namespace

std::unique_ptr<Eye> needleEye(std::shared_ptr<grabber::FrameSource> source,
                               const geometry::NeedleTrackOptions& options) {
  return std::make_unique<NeedleEye>(std::move(source), options);
}

}  // namespace surgiclaw::servo
