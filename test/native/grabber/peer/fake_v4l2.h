// A V4L2 capture driver at the boundary of the system calls, as strict as the kernel's: what comes in the
// wrong order or with wrong arguments fails with the errno that the kernel documentation names.
#pragma once

#include <linux/videodev2.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "surgiclaw/grabber/v4l2_system.h"

namespace surgiclaw::peer {

class FakeV4l2 final : public grabber::V4l2System {
 public:
  // What the device is; set before it is opened.
  std::vector<uint32_t> formats{V4L2_PIX_FMT_GREY};
  uint32_t width = 40;
  uint32_t height = 30;
  uint32_t linePadding = 0;
  uint32_t field = V4L2_FIELD_NONE;
  uint32_t capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  bool capture = true;  ///< false: a file that is no V4L2 device
  bool ratesChoosable = true;
  double onlyRate = 0;  ///< the rate that it takes whatever is asked; 0: as asked
  uint32_t mostBuffers = 32;
  uint32_t timestampFlags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
  int openError = 0;
  int formatError = 0;
  int streamError = 0;
  std::map<uint32_t, v4l2_queryctrl> controls{
      {V4L2_CID_EXPOSURE_ABSOLUTE, control(1, 10'000, 1)},
      {V4L2_CID_GAIN, control(0, 100, 5)},
      {V4L2_CID_EXPOSURE_AUTO, control(0, 3, 1)},
  };
  bool controlsStick = true;  ///< false: a written control keeps its old value

  // What happens while it streams; any time.
  std::atomic<int> dequeueError{0};       ///< of every dequeueing from now on
  std::atomic<int> dequeueErrorTimes{0};  ///< how often; 0: for ever
  std::atomic<uint32_t> skip{0};          ///< frame numbers that the next frame skips
  std::atomic<uint32_t> nextFlags{0};     ///< added to those of the next frame
  std::atomic<uint32_t> missingBytes{0};  ///< of the next frame
  std::atomic<bool> hungUp{false};
  std::atomic<int64_t> stampOffsetUs{0};
  std::atomic<uint32_t> sequence{0};

  // What was done to it.
  std::atomic<int> opened{0};
  std::atomic<int> mapped{0};
  std::atomic<bool> streaming{false};
  std::atomic<uint32_t> allocated{0};
  std::map<uint32_t, int> values{{V4L2_CID_EXPOSURE_ABSOLUTE, 100},
                                 {V4L2_CID_GAIN, 0},
                                 {V4L2_CID_EXPOSURE_AUTO, V4L2_EXPOSURE_APERTURE_PRIORITY}};

  /// Of the line `y`; what lies in the padding is another value.
  static uint8_t grey(uint32_t x, uint32_t y, uint32_t frame) {
    return static_cast<uint8_t>(3 * x + 5 * y + frame);
  }

  int open(const std::string&) override {
    if (openError != 0) return refuse(openError);
    ++opened;
    return kFd;
  }
  int close(int fd) override {
    if (fd != kFd) return refuse(EBADF);
    --opened;
    return 0;
  }

  int ioctl(int fd, unsigned long request, void* argument) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fd != kFd || opened == 0) return refuse(EBADF);
    if (!capture) return refuse(ENOTTY);
    if (hungUp && request != VIDIOC_REQBUFS && request != VIDIOC_STREAMOFF) return refuse(ENODEV);
    switch (request) {
      case VIDIOC_QUERYCAP:
        return queryCapability(*static_cast<v4l2_capability*>(argument));
      case VIDIOC_ENUM_FMT: {
        auto& description = *static_cast<v4l2_fmtdesc*>(argument);
        if (description.index >= formats.size()) return refuse(EINVAL);
        description.pixelformat = formats[description.index];
        return 0;
      }
      case VIDIOC_S_FMT:
        return setFormat(static_cast<v4l2_format*>(argument)->fmt.pix);
      case VIDIOC_G_PARM:
      case VIDIOC_S_PARM:
        return rate(static_cast<v4l2_streamparm*>(argument)->parm.capture, request == VIDIOC_S_PARM);
      case VIDIOC_QUERYCTRL: {
        auto& query = *static_cast<v4l2_queryctrl*>(argument);
        const auto known = controls.find(query.id);
        if (known == controls.end()) return refuse(EINVAL);
        query = known->second;
        return 0;
      }
      case VIDIOC_G_CTRL:
      case VIDIOC_S_CTRL:
        return controlValue(*static_cast<v4l2_control*>(argument), request == VIDIOC_S_CTRL);
      case VIDIOC_REQBUFS:
        return requestBuffers(*static_cast<v4l2_requestbuffers*>(argument));
      case VIDIOC_QUERYBUF:
        return queryBuffer(*static_cast<v4l2_buffer*>(argument));
      case VIDIOC_QBUF:
        return queueBuffer(*static_cast<v4l2_buffer*>(argument));
      case VIDIOC_DQBUF:
        return dequeueBuffer(*static_cast<v4l2_buffer*>(argument));
      case VIDIOC_STREAMON:
        if (streamError != 0) return refuse(streamError);
        if (buffers_.empty()) return refuse(EINVAL);
        streaming = true;
        return 0;
      case VIDIOC_STREAMOFF:
        streaming = false;
        queue_.clear();
        return 0;
      default:
        return refuse(ENOTTY);
    }
  }

  void* map(int, size_t length, size_t offset) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t index = offset / kOffsetStep;
    if (offset % kOffsetStep != 0 || index >= buffers_.size() || length != bufferBytes()) {
      errno = EINVAL;
      return MAP_FAILED;
    }
    ++mapped;
    return buffers_[index].data();
  }
  int unmap(void*, size_t) override {
    --mapped;
    return 0;
  }

  int poll(int, int timeoutMs) override {
    if (hungUp) return POLLERR | POLLHUP;
    if (dequeueError != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return POLLERR;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(timeoutMs, 5)));
    const std::lock_guard<std::mutex> lock(mutex_);
    return streaming && !queue_.empty() ? POLLIN : 0;
  }

 private:
  static constexpr int kFd = 77;
  static constexpr size_t kOffsetStep = 0x100000;

  static v4l2_queryctrl control(int low, int high, int step) {
    v4l2_queryctrl query{};
    query.minimum = low;
    query.maximum = high;
    query.step = step;
    return query;
  }
  static int refuse(int error) {
    errno = error;
    return -1;
  }
  uint32_t bytesPerPixel() const { return format_ == V4L2_PIX_FMT_GREY ? 1 : 2; }
  uint32_t bytesPerLine() const { return width * bytesPerPixel() + linePadding; }
  size_t bufferBytes() const { return static_cast<size_t>(bytesPerLine()) * height; }

  int queryCapability(v4l2_capability& capability) const {
    std::memcpy(capability.driver, "fakecam", 8);
    std::memcpy(capability.card, "Fake Microscope", 16);
    std::memcpy(capability.bus_info, "usb-1.2", 8);
    // The whole device can more than this node of it.
    capability.capabilities =
        V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING | V4L2_CAP_READWRITE;
    capability.device_caps = capabilities;
    return 0;
  }

  int setFormat(v4l2_pix_format& pix) {
    if (formatError != 0) return refuse(formatError);
    if (!buffers_.empty()) return refuse(EBUSY);
    if (std::find(formats.begin(), formats.end(), pix.pixelformat) == formats.end())
      pix.pixelformat = formats[0];
    format_ = pix.pixelformat;
    pix.width = width;
    pix.height = height;
    pix.field = field;
    pix.bytesperline = bytesPerLine();
    pix.sizeimage = static_cast<uint32_t>(bufferBytes());
    return 0;
  }

  int rate(v4l2_captureparm& parameters, bool set) {
    if (!ratesChoosable) return refuse(ENOTTY);
    if (set && onlyRate == 0) period_ = parameters.timeperframe;
    if (onlyRate != 0) period_ = {1000, static_cast<uint32_t>(onlyRate * 1000)};
    parameters.capability = V4L2_CAP_TIMEPERFRAME;
    parameters.timeperframe = period_;
    return 0;
  }

  int controlValue(v4l2_control& wanted, bool set) {
    const auto known = controls.find(wanted.id);
    if (known == controls.end()) return refuse(EINVAL);
    if (set) {
      if (wanted.value < known->second.minimum || wanted.value > known->second.maximum) return refuse(ERANGE);
      if (controlsStick) values[wanted.id] = wanted.value;
    }
    wanted.value = values[wanted.id];
    return 0;
  }

  int requestBuffers(v4l2_requestbuffers& request) {
    if (request.memory != V4L2_MEMORY_MMAP) return refuse(EINVAL);
    if (mapped > 0) return refuse(EBUSY);
    request.count = std::min(request.count, mostBuffers);
    buffers_.assign(request.count, std::vector<uint8_t>(bufferBytes(), 0));
    queue_.clear();
    allocated = request.count;
    return 0;
  }

  int queryBuffer(v4l2_buffer& buffer) const {
    if (buffer.index >= buffers_.size()) return refuse(EINVAL);
    buffer.length = static_cast<uint32_t>(bufferBytes());
    buffer.m.offset = static_cast<uint32_t>(buffer.index * kOffsetStep);
    return 0;
  }

  int queueBuffer(v4l2_buffer& buffer) {
    if (buffer.index >= buffers_.size() || buffer.memory != V4L2_MEMORY_MMAP) return refuse(EINVAL);
    if (std::find(queue_.begin(), queue_.end(), buffer.index) != queue_.end()) return refuse(EINVAL);
    queue_.push_back(buffer.index);
    return 0;
  }

  int dequeueBuffer(v4l2_buffer& buffer) {
    if (!streaming) return refuse(EINVAL);
    if (const int error = dequeueError; error != 0) {
      if (dequeueErrorTimes > 0 && --dequeueErrorTimes == 0) dequeueError = 0;
      return refuse(error);
    }
    if (queue_.empty()) return refuse(EAGAIN);
    buffer.index = queue_.front();
    queue_.pop_front();
    const uint32_t number = sequence.fetch_add(1 + skip.load()) + skip.exchange(0);
    auto& bytes = buffers_[buffer.index];
    std::fill(bytes.begin(), bytes.end(), static_cast<uint8_t>(0xee));
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        uint8_t* const at = bytes.data() + y * bytesPerLine() + x * bytesPerPixel();
        const uint8_t value = grey(x, y, number);
        switch (format_) {
          case V4L2_PIX_FMT_Y10:
            at[0] = static_cast<uint8_t>(value << 2 | 3);
            at[1] = static_cast<uint8_t>(value >> 6);
            break;
          case V4L2_PIX_FMT_Y16:
            at[0] = 0xff;
            at[1] = value;
            break;
          case V4L2_PIX_FMT_YUYV:
            at[0] = value;
            at[1] = 128;
            break;
          default:
            at[0] = value;
        }
      }
    }
    buffer.sequence = number;
    buffer.bytesused = static_cast<uint32_t>(bufferBytes()) - missingBytes.exchange(0);
    buffer.flags = timestampFlags | nextFlags.exchange(0);
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000 + stampOffsetUs;
    buffer.timestamp.tv_sec = us / 1'000'000;
    buffer.timestamp.tv_usec = us % 1'000'000;
    return 0;
  }

  std::mutex mutex_;
  uint32_t format_ = V4L2_PIX_FMT_GREY;
  v4l2_fract period_{1, 30};
  std::vector<std::vector<uint8_t>> buffers_;
  std::deque<uint32_t> queue_;
};

}  // namespace surgiclaw::peer
