// The V4L2 source against a driver that stands at the system calls: no machine of the project has a video
// device.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "peer/fake_v4l2.h"
#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using namespace surgiclaw::grabber;
using surgiclaw::peer::FakeV4l2;
using surgiclaw::realtime::monotonicNs;

namespace {

CameraOptions options() {
  CameraOptions options;
  options.name = "usb";
  options.device = "/dev/video7";
  options.width = 40;
  options.height = 30;
  options.frameRate = 25;
  options.ringSize = 8;
  return options;
}

class V4l2 : public ::testing::Test {
 protected:
  std::shared_ptr<Camera> make(const CameraOptions& wanted = options()) {
    camera_ = makeV4l2Camera(wanted, driver_);
    return camera_;
  }

  template <typename Call>
  static std::string fault(const Call& call, GrabberFault expected) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const GrabberError& error) {
      EXPECT_EQ(error.fault(), expected) << error.what();
      return error.what();
    }
    return "";
  }

  /// As drawn, whatever the number of the frame.
  static void expectPicture(const FrameInfo& info) {
    const uint8_t number = info.pixels[0];
    for (int y = 0; y < info.height; ++y) {
      for (int x = 0; x < info.width; ++x) {
        const auto grey = FakeV4l2::grey(static_cast<uint32_t>(x), static_cast<uint32_t>(y), number);
        ASSERT_EQ(info.pixels[y * info.stride + x], grey) << x << ", " << y;
      }
    }
  }

  template <typename Passes>
  static bool soon(const Passes& passes) {
    for (int i = 0; i < 2000 && !passes(); ++i) std::this_thread::sleep_for(5ms);
    return passes();
  }

  std::shared_ptr<FakeV4l2> driver_ = std::make_shared<FakeV4l2>();
  std::shared_ptr<Camera> camera_;
};

}  // namespace

TEST_F(V4l2, negotiatesMapsStreamsAndLetsGo) {
  const auto camera = make();
  const CameraIdentity identity = camera->open();
  EXPECT_EQ(identity.vendor, "fakecam");
  EXPECT_EQ(identity.model, "Fake Microscope");
  EXPECT_EQ(identity.serial, "usb-1.2");
  EXPECT_EQ(driver_->values[V4L2_CID_EXPOSURE_AUTO], V4L2_EXPOSURE_MANUAL);
  fault([&] { camera->open(); }, GrabberFault::usage);
  camera->start();
  fault([&] { camera->start(); }, GrabberFault::usage);
  EXPECT_EQ(driver_->mapped, static_cast<int>(driver_->allocated.load()));
  uint64_t after = 0;
  for (int i = 0; i < 12; ++i) {  // more than there are buffers: they go back to the driver
    const FrameLease lease = camera->waitNewer(after, 10s);
    ASSERT_TRUE(lease.valid());
    expectPicture(lease.info());
    after = lease.info().sequence;
  }
  camera->close();
  camera->close();
  EXPECT_EQ(driver_->opened, 0);
  EXPECT_EQ(driver_->mapped, 0);
  EXPECT_EQ(driver_->allocated, 0U);
  EXPECT_FALSE(driver_->streaming);
  EXPECT_FALSE(camera->waitNewer(0, 10s).valid());

  camera->open();
  camera->start();
  EXPECT_TRUE(camera->waitNewer(after, 10s).valid()) << "and over again";
}

TEST_F(V4l2, linesMayBePadded) {
  driver_->linePadding = 24;
  const auto camera = make();
  camera->open();
  camera->start();
  const FrameLease lease = camera->waitNewer(0, 10s);
  ASSERT_TRUE(lease.valid());
  expectPicture(lease.info());
}

TEST_F(V4l2, deeperFormatsArriveAsMono8) {
  const std::pair<PixelFormat, uint32_t> formats[] = {{PixelFormat::mono10, V4L2_PIX_FMT_Y10},
                                                      {PixelFormat::mono16, V4L2_PIX_FMT_Y16},
                                                      {PixelFormat::yuv422, V4L2_PIX_FMT_YUYV}};
  for (const auto& [format, fourcc] : formats) {
    SCOPED_TRACE(pixelFormatName(format));
    driver_->formats = {V4L2_PIX_FMT_GREY, fourcc};
    CameraOptions wanted = options();
    wanted.pixelFormat = format;
    const auto camera = make(wanted);
    camera->open();
    camera->start();
    const FrameLease lease = camera->waitNewer(0, 10s);
    ASSERT_TRUE(lease.valid());
    expectPicture(lease.info());
    camera->close();
  }
}

TEST_F(V4l2, anythingElseThanAskedForIsRefusedByName) {
  driver_->formats = {V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_YUYV};
  const std::string offers = fault([&] { make()->open(); }, GrabberFault::feature);
  EXPECT_NE(offers.find("it offers MJPG, YUYV"), std::string::npos) << offers;
  driver_->formats = {V4L2_PIX_FMT_GREY};
  driver_->width = 32;
  fault([&] { make()->open(); }, GrabberFault::feature);
  driver_->width = 40;
  driver_->field = V4L2_FIELD_INTERLACED;
  fault([&] { make()->open(); }, GrabberFault::feature);
  driver_->field = V4L2_FIELD_NONE;
  driver_->onlyRate = 15;
  const std::string rate = fault([&] { make()->open(); }, GrabberFault::feature);
  EXPECT_NE(rate.find("AcquisitionFrameRate"), std::string::npos) << rate;
  driver_->onlyRate = 0;
  driver_->formatError = EBUSY;
  fault([&] { make()->open(); }, GrabberFault::refused);
  driver_->formatError = 0;
  EXPECT_EQ(driver_->opened, 0) << "every refusal closes the device";
  driver_->ratesChoosable = false;
  EXPECT_NO_THROW(make()->open()) << "a device with one rate that it does not tell";
}

TEST_F(V4l2, whatIsNoCaptureDeviceIsSaidToBeNone) {
  driver_->capture = false;
  fault([&] { make()->open(); }, GrabberFault::feature);
  driver_->capture = true;
  driver_->capabilities =
      V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING;  // this node; the device captures elsewhere
  fault([&] { make()->open(); }, GrabberFault::feature);
  driver_->capabilities = V4L2_CAP_VIDEO_CAPTURE;
  fault([&] { make()->open(); }, GrabberFault::feature);
}

TEST_F(V4l2, openingTellsMissingFromRefused) {
  const std::pair<int, GrabberFault> errors[] = {{ENOENT, GrabberFault::missing},
                                                 {ENXIO, GrabberFault::missing},
                                                 {ENODEV, GrabberFault::missing},
                                                 {EBUSY, GrabberFault::refused},
                                                 {EACCES, GrabberFault::refused}};
  for (const auto& [error, expected] : errors) {
    driver_->openError = error;
    const std::string message = fault([&] { make()->open(); }, expected);
    EXPECT_NE(message.find("/dev/video7"), std::string::npos) << message;
  }
}

TEST_F(V4l2, aFailedStartLeavesNothingBehind) {
  driver_->streamError = ENOSPC;  // USB bandwidth
  const auto camera = make();
  camera->open();
  fault([&] { camera->start(); }, GrabberFault::offline);
  EXPECT_EQ(driver_->mapped, 0);
  EXPECT_EQ(driver_->allocated, 0U);
  driver_->streamError = 0;
  camera->start();
  EXPECT_TRUE(camera->waitNewer(0, 10s).valid());
  camera->close();
  driver_->mostBuffers = 1;
  camera->open();
  fault([&] { camera->start(); }, GrabberFault::offline);
}

TEST_F(V4l2, lostDamagedAndShortFramesAreCountedNotDelivered) {
  CameraOptions wanted = options();
  wanted.mode = RingMode::bounded;
  wanted.ringSize = 200;
  const auto camera = make(wanted);
  camera->open();
  camera->start();
  ASSERT_TRUE(camera->waitNewer(0, 10s).valid());
  driver_->skip = 3;
  EXPECT_TRUE(soon([&] { return camera->counters().gaps == 3; }));
  driver_->nextFlags = V4L2_BUF_FLAG_ERROR;
  EXPECT_TRUE(soon([&] { return camera->counters().incomplete == 1; }));
  driver_->missingBytes = 1;
  EXPECT_TRUE(soon([&] { return camera->counters().incomplete == 2; }));
  driver_->dequeueErrorTimes = 2;
  driver_->dequeueError = EIO;
  EXPECT_TRUE(soon([&] { return camera->counters().incomplete == 4; }));
  EXPECT_FALSE(camera->lost());
  const uint64_t received = camera->counters().received;
  EXPECT_TRUE(soon([&] { return camera->counters().received > received + 3; })) << "the stream goes on";
}

TEST_F(V4l2, frameNumbersWrapAt32Bits) {
  driver_->sequence = 0xffff'fffe;
  const auto camera = make();
  camera->open();
  camera->start();
  EXPECT_TRUE(soon([&] { return camera->counters().received >= 5; }));
  EXPECT_EQ(camera->counters().gaps, 0U);
}

TEST_F(V4l2, aDeviceThatIsGoneIsLostAndComesBackByOpening) {
  const std::pair<int, int> errors[] = {{ENODEV, 0}, {EIO, 0}, {EINVAL, 0}};
  for (const auto& [error, times] : errors) {
    SCOPED_TRACE(error);
    const auto camera = make();
    camera->open();
    camera->start();
    ASSERT_TRUE(camera->waitNewer(0, 10s).valid());
    driver_->dequeueErrorTimes = times;
    driver_->dequeueError = error;
    EXPECT_TRUE(soon([&] { return camera->lost(); }));
    EXPECT_FALSE(camera->waitNewer(1000, 10s).valid()) << "nobody waits for it";
    driver_->dequeueError = 0;
    const uint64_t before = camera->counters().received;
    camera->close();
    EXPECT_FALSE(camera->lost());
    camera->open();
    camera->start();
    EXPECT_TRUE(camera->waitNewer(before, 10s).valid());
    camera->close();
  }
}

TEST_F(V4l2, aPulledPlugHangsUp) {
  const auto camera = make();
  camera->open();
  camera->start();
  ASSERT_TRUE(camera->waitNewer(0, 10s).valid());
  driver_->hungUp = true;
  EXPECT_TRUE(soon([&] { return camera->lost(); }));
  fault([&] { camera->setFeature("Gain", 5); }, GrabberFault::offline);
  camera->close();
  EXPECT_EQ(driver_->mapped, 0);
}

TEST_F(V4l2, theMomentOfExposureIsNeverLaterThanItWas) {
  driver_->values[V4L2_CID_EXPOSURE_ABSOLUTE] = 200;  // 20 ms; at 25 Hz 60 ms in all
  struct Case {
    uint32_t flags;
    int64_t offsetUs;
    bool exact;  ///< the stamp itself is the beginning of exposure
  };
  const Case cases[] = {
      {V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE, -3000, true},
      {V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_EOF, 0, false},
      {V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN, -3000, false},
      {V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE, 5'000'000, false},
      {V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE, -60'000'000, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.offsetUs);
    driver_->timestampFlags = c.flags;
    driver_->stampOffsetUs = c.offsetUs;
    const auto camera = make();
    camera->open();
    camera->start();
    const FrameLease lease = camera->waitNewer(0, 10s);
    const uint64_t now = monotonicNs();
    ASSERT_TRUE(lease.valid());
    const FrameInfo& info = lease.info();
    if (c.exact) {
      EXPECT_EQ(info.hostMonotonicNs, info.deviceTimestampNs);
    } else {
      EXPECT_LE(info.hostMonotonicNs + 60'000'000U, now);
    }
    camera->close();
  }
}

TEST_F(V4l2, controlsHaveGenicamNamesUnitsAndBounds) {
  const auto camera = make();
  fault([&] { camera->feature("Gain"); }, GrabberFault::usage);
  camera->open();
  EXPECT_DOUBLE_EQ(camera->feature("ExposureTime"), 10'000) << "100 units of 100 us";
  const FeatureRange exposure = camera->featureRange("ExposureTime");
  EXPECT_DOUBLE_EQ(exposure.min, 100);
  EXPECT_DOUBLE_EQ(exposure.max, 1'000'000);
  EXPECT_DOUBLE_EQ(exposure.increment, 100);
  EXPECT_DOUBLE_EQ(camera->setFeature("ExposureTime", 5000), 5000);
  EXPECT_EQ(driver_->values[V4L2_CID_EXPOSURE_ABSOLUTE], 50);
  fault([&] { camera->setFeature("ExposureTime", 5050); }, GrabberFault::feature);
  fault([&] { camera->setFeature("Gain", 101); }, GrabberFault::feature);
  fault([&] { camera->setFeature("Gain", 7); }, GrabberFault::feature);
  EXPECT_EQ(driver_->values[V4L2_CID_GAIN], 0) << "nothing was written";
  EXPECT_DOUBLE_EQ(camera->setFeature("Gain", 15), 15);
  driver_->controlsStick = false;
  fault([&] { camera->setFeature("Gain", 20); }, GrabberFault::feature);
  EXPECT_DOUBLE_EQ(camera->feature("Width"), 40);
  fault([&] { camera->setFeature("Width", 20); }, GrabberFault::feature);
  EXPECT_NEAR(camera->feature("AcquisitionFrameRate"), 25, 0.01);
  fault([&] { camera->feature("TriggerMode"); }, GrabberFault::feature);
  fault([&] { camera->trigger(); }, GrabberFault::usage);
  driver_->controls.erase(V4L2_CID_GAIN);
  fault([&] { camera->featureRange("Gain"); }, GrabberFault::feature);
}

TEST(V4l2Device, aMachineWithoutTheDeviceSaysSo) {
  CameraOptions wanted = options();
  wanted.device = "/dev/video-of-nobody";
  const auto camera = makeCamera(wanted);  // the kernel's own calls
  try {
    camera->open();
    FAIL();
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), GrabberFault::missing);
  }
  wanted.device = "/dev/null";
  try {
    makeCamera(wanted)->open();
    FAIL();
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), GrabberFault::feature) << "no V4L2 device: ENOTTY";
  }
}
