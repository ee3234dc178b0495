#include "v4l2_device.h"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {

namespace {

constexpr uint32_t kBuffers = 4;
constexpr uint32_t kFewestBuffers = 2;
/// A driver takes the nearest rate that its hardware has.
constexpr double kRateTolerance = 0.02;

/// The fourcc for a format, 0 when V4L2 has none with the same layout.
uint32_t fourccOf(PixelFormat format) {
  switch (format) {
    case PixelFormat::mono8:
      return V4L2_PIX_FMT_GREY;
    case PixelFormat::mono10:
      return V4L2_PIX_FMT_Y10;
    case PixelFormat::mono12:
      return V4L2_PIX_FMT_Y12;
    case PixelFormat::mono14:
      return V4L2_PIX_FMT_Y14;
    case PixelFormat::mono16:
      return V4L2_PIX_FMT_Y16;
    case PixelFormat::yuv422:
      return V4L2_PIX_FMT_YUYV;
    default:
      return 0;
  }
}

std::string fourccText(uint32_t code) {
  std::string text;
  for (int i = 0; i < 4; ++i) text.push_back(static_cast<char>(code >> (8 * i) & 0x7f));
  return text;
}

/// A control under its GenICam name, and how many of the control's units make one of the feature's.
struct Control {
  const char* feature;
  uint32_t id;
  double unit;  ///< of the feature, per unit of the control
};

/// Exposure in V4L2 counts in 100 µs.
constexpr Control kControls[] = {{"ExposureTime", V4L2_CID_EXPOSURE_ABSOLUTE, 100},
                                 {"Gain", V4L2_CID_GAIN, 1}};

const Control* controlNamed(const std::string& name) {
  for (const Control& control : kControls) {
    if (name == control.feature) return &control;
  }
  return nullptr;
}

}  // namespace

void V4l2Device::fail(const std::string& what, int error) const {
  GrabberFault fault = GrabberFault::offline;
  switch (error) {
    case ENOENT:
    case ENXIO:
      fault = GrabberFault::missing;
      break;
    case EBUSY:
    case EACCES:
    case EPERM:
      fault = GrabberFault::refused;
      break;
    case EINVAL:
    case ENOTTY:
    case ERANGE:
      fault = GrabberFault::feature;
      break;
    default:
      break;
  }
  throw GrabberError(fault,
                     options_.name + ": " + options_.device + ": " + what + ": " + std::strerror(error));
}

V4l2Device::V4l2Device(const CameraOptions& options, std::shared_ptr<V4l2System> system)
    : options_(options), system_(std::move(system)) {
  fd_ = system_->open(options_.device);
  if (fd_ < 0) fail("opening", errno == ENODEV ? ENXIO : errno);
  try {
    requireCapture();
    negotiateFormat();
    negotiateRate(options_.frameRate);
    v4l2_queryctrl automatic{};
    if (queryControl(V4L2_CID_EXPOSURE_AUTO, automatic)) {
      v4l2_control control{};
      control.id = V4L2_CID_EXPOSURE_AUTO;
      control.value = V4L2_EXPOSURE_MANUAL;
      if (call(VIDIOC_S_CTRL, &control) < 0) fail("switching automatic exposure off", errno);
    }
  } catch (...) {
    system_->close(fd_);
    throw;
  }
}

V4l2Device::~V4l2Device() {
  stop();
  system_->close(fd_);
}

void V4l2Device::requireCapture() {
  if (call(VIDIOC_QUERYCAP, &capability_) < 0) fail("asking what it is", errno);
  const uint32_t can = (capability_.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? capability_.device_caps
                                                                              : capability_.capabilities;
  if ((can & V4L2_CAP_VIDEO_CAPTURE) == 0 || (can & V4L2_CAP_STREAMING) == 0) {
    throw GrabberError(GrabberFault::feature,
                       options_.name + ": " + options_.device + " captures no streams of frames");
  }
}

std::string V4l2Device::offeredFormats() {
  std::string offered;
  v4l2_fmtdesc description{};
  description.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  for (; call(VIDIOC_ENUM_FMT, &description) == 0; ++description.index) {
    offered += (offered.empty() ? "" : ", ") + fourccText(description.pixelformat);
  }
  return offered.empty() ? "none" : offered;
}

void V4l2Device::negotiateFormat() {
  const uint32_t fourcc = fourccOf(options_.pixelFormat);
  const auto refuse = [&](const std::string& got) {
    throw GrabberError(GrabberFault::feature, options_.name + ": " + options_.device + " gives " + got +
                                                  " instead of " + std::to_string(options_.width) + " × " +
                                                  std::to_string(options_.height) + " " + fourccText(fourcc) +
                                                  "; it offers " + offeredFormats());
  };
  v4l2_format format{};
  format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  format.fmt.pix.width = static_cast<uint32_t>(options_.width);
  format.fmt.pix.height = static_cast<uint32_t>(options_.height);
  format.fmt.pix.pixelformat = fourcc;
  format.fmt.pix.field = V4L2_FIELD_NONE;
  if (call(VIDIOC_S_FMT, &format) < 0) fail("setting the format", errno);
  // A driver answers with the nearest that it has, and calls it a success.
  const v4l2_pix_format& held = format.fmt.pix;
  if (held.width != static_cast<uint32_t>(options_.width) ||
      held.height != static_cast<uint32_t>(options_.height) || held.pixelformat != fourcc) {
    refuse(std::to_string(held.width) + " × " + std::to_string(held.height) + " " +
           fourccText(held.pixelformat));
  }
  if (held.field != V4L2_FIELD_NONE) refuse("interlaced fields");
  const auto least = static_cast<uint32_t>(pixelFormatBytes(options_.pixelFormat, held.width));
  bytesPerLine_ = std::max(held.bytesperline, least);
}

void V4l2Device::negotiateRate(double rate) {
  constexpr uint32_t kDenominator = 10'000;
  v4l2_streamparm parameters{};
  parameters.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  frameRate_ = rate;
  // Not every device lets its rate be chosen.
  if (call(VIDIOC_G_PARM, &parameters) < 0) return;
  if ((parameters.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0) {
    parameters.parm.capture.timeperframe = {static_cast<uint32_t>(std::lround(kDenominator / rate)),
                                            kDenominator};
    if (call(VIDIOC_S_PARM, &parameters) < 0) fail("setting the frame rate", errno);
  }
  const v4l2_fract& held = parameters.parm.capture.timeperframe;
  if (held.numerator == 0 || held.denominator == 0) return;
  frameRate_ = static_cast<double>(held.denominator) / held.numerator;
  if (std::abs(frameRate_ - rate) > kRateTolerance * rate) {
    throw GrabberError(GrabberFault::feature, options_.name + ": AcquisitionFrameRate was set to " +
                                                  std::to_string(rate) + " and reads back " +
                                                  std::to_string(frameRate_));
  }
}

CameraIdentity V4l2Device::identity() const {
  const auto text = [](const __u8* bytes, size_t size) {
    const char* const begin = reinterpret_cast<const char*>(bytes);
    return std::string(begin, strnlen(begin, size));
  };
  return {text(capability_.driver, sizeof(capability_.driver)),
          text(capability_.card, sizeof(capability_.card)),
          text(capability_.bus_info, sizeof(capability_.bus_info))};
}

bool V4l2Device::queryControl(uint32_t id, v4l2_queryctrl& control) {
  control = {};
  control.id = id;
  if (call(VIDIOC_QUERYCTRL, &control) < 0) {
    // Unknown to the driver, or a driver without controls.
    if (errno == EINVAL || errno == ENOTTY) return false;
    fail("asking for a control", errno);
  }
  return (control.flags & V4L2_CTRL_FLAG_DISABLED) == 0;
}

FeatureRange V4l2Device::featureRange(const std::string& name) {
  if (name == "Width") return {static_cast<double>(options_.width), static_cast<double>(options_.width), 1};
  if (name == "Height")
    return {static_cast<double>(options_.height), static_cast<double>(options_.height), 1};
  if (name == "AcquisitionFrameRate") return {frameRate_, frameRate_, 0};
  const Control* const control = controlNamed(name);
  v4l2_queryctrl range{};
  if (control == nullptr || !queryControl(control->id, range)) {
    throw GrabberError(GrabberFault::feature,
                       options_.name + ": " + options_.device + " has no feature " + name);
  }
  return {range.minimum * control->unit, range.maximum * control->unit,
          std::max(1, range.step) * control->unit};
}

double V4l2Device::feature(const std::string& name) {
  const Control* const control = controlNamed(name);
  if (control == nullptr) return featureRange(name).min;
  v4l2_control held{};
  held.id = control->id;
  if (call(VIDIOC_G_CTRL, &held) < 0) fail("reading " + name, errno);
  return held.value * control->unit;
}

double V4l2Device::setFeature(const std::string& name, double value) {
  const FeatureRange range = featureRange(name);
  const double steps = range.increment > 0 ? (value - range.min) / range.increment : 0;
  if (!(value >= range.min && value <= range.max) || std::abs(steps - std::round(steps)) > 1e-6) {
    throw GrabberError(GrabberFault::feature, options_.name + ": " + name + " = " + std::to_string(value) +
                                                  " is not " + std::to_string(range.min) + "…" +
                                                  std::to_string(range.max) + " in steps of " +
                                                  std::to_string(range.increment));
  }
  const Control* const control = controlNamed(name);
  if (control == nullptr) return value;  // the one value that it can have
  v4l2_control wanted{};
  wanted.id = control->id;
  wanted.value = static_cast<int32_t>(std::lround(value / control->unit));
  if (call(VIDIOC_S_CTRL, &wanted) < 0) fail("writing " + name, errno);
  const double held = feature(name);
  if (std::abs(held - value) > 0.5 * control->unit) {
    throw GrabberError(GrabberFault::feature, options_.name + ": " + name + " was set to " +
                                                  std::to_string(value) + " and reads back " +
                                                  std::to_string(held));
  }
  return held;
}

double V4l2Device::exposureUs() {
  v4l2_control held{};
  held.id = V4L2_CID_EXPOSURE_ABSOLUTE;
  return call(VIDIOC_G_CTRL, &held) == 0 ? held.value * 100.0 : 0;
}

size_t V4l2Device::frameBytes() const {
  return static_cast<size_t>(bytesPerLine_) * static_cast<size_t>(options_.height - 1) +
         pixelFormatBytes(options_.pixelFormat, static_cast<size_t>(options_.width));
}

void V4l2Device::start() {
  try {
    v4l2_requestbuffers request{};
    request.count = kBuffers;
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    request.memory = V4L2_MEMORY_MMAP;
    if (call(VIDIOC_REQBUFS, &request) < 0) fail("requesting buffers", errno);
    if (request.count < kFewestBuffers) fail("requesting buffers", ENOMEM);
    for (uint32_t i = 0; i < request.count; ++i) {
      v4l2_buffer buffer{};
      buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
      buffer.memory = V4L2_MEMORY_MMAP;
      buffer.index = i;
      if (call(VIDIOC_QUERYBUF, &buffer) < 0) fail("asking for a buffer", errno);
      if (buffer.length < frameBytes()) {
        throw GrabberError(GrabberFault::feature,
                           options_.name + ": buffers of " + std::to_string(buffer.length) +
                               " bytes hold no frame of " + std::to_string(frameBytes()));
      }
      void* const memory = system_->map(fd_, buffer.length, buffer.m.offset);
      if (memory == MAP_FAILED) fail("mapping a buffer", errno);
      mappings_.push_back({static_cast<uint8_t*>(memory), buffer.length});
      if (call(VIDIOC_QBUF, &buffer) < 0) fail("queueing a buffer", errno);
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (call(VIDIOC_STREAMON, &type) < 0) fail("starting the stream", errno);
  } catch (...) {
    stop();
    throw;
  }
}

void V4l2Device::stop() noexcept {
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  call(VIDIOC_STREAMOFF, &type);
  for (const Mapping& mapping : mappings_) system_->unmap(mapping.memory, mapping.length);
  mappings_.clear();
  v4l2_requestbuffers none{};
  none.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  none.memory = V4L2_MEMORY_MMAP;
  call(VIDIOC_REQBUFS, &none);
}

V4l2Device::Dequeued V4l2Device::dequeue(v4l2_buffer& buffer, int timeoutMs) noexcept {
  const int events = system_->poll(fd_, timeoutMs);
  if (events == 0) return Dequeued::nothing;
  if (events < 0 || (events & (POLLHUP | POLLNVAL)) != 0) return Dequeued::gone;
  // POLLERR alone says only that something is wrong; the dequeueing says what.
  buffer = {};
  buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  buffer.memory = V4L2_MEMORY_MMAP;
  if (call(VIDIOC_DQBUF, &buffer) == 0) {
    return buffer.index < mappings_.size() ? Dequeued::frame : Dequeued::gone;
  }
  switch (errno) {
    case EAGAIN:
      return Dequeued::nothing;
    case EIO:
      return Dequeued::bad;
    default:
      return Dequeued::gone;
  }
}

bool V4l2Device::enqueue(v4l2_buffer& buffer) noexcept { return call(VIDIOC_QBUF, &buffer) == 0; }

}  // namespace surgiclaw::grabber
