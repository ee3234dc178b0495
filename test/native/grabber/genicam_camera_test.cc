// Against Aravis' own GigE Vision fake camera, in this process: a third party's device over the real
// protocol.
#include <arv.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using namespace surgiclaw::grabber;
using surgiclaw::realtime::monotonicNs;

namespace {

constexpr const char* kAddress = "127.0.0.1";

/// The port of GigE Vision is fixed, so only one such camera can live on an address: waits for another test's
/// to go.
class FakeCamera {
 public:
  FakeCamera() {
    for (int i = 0; i < 100 && camera_ == nullptr; ++i) {
      camera_ = arv_gv_fake_camera_new(kAddress, "SIM01");
      if (camera_ != nullptr && !arv_gv_fake_camera_is_running(camera_)) g_clear_object(&camera_);
      if (camera_ == nullptr) std::this_thread::sleep_for(100ms);
    }
  }
  ~FakeCamera() { g_clear_object(&camera_); }
  bool running() const { return camera_ != nullptr; }

 private:
  ArvGvFakeCamera* camera_ = nullptr;
};

CameraOptions options(int size = 256) {
  CameraOptions options;
  options.name = "fake";
  options.address = kAddress;
  options.width = size;
  options.height = size;
  options.frameRate = 50;
  options.packetSize = 9000;
  options.ringSize = 8;
  return options;
}

#define REQUIRE_FAKE_CAMERA(fake) \
  FakeCamera fake;                \
  if (!fake.running()) GTEST_SKIP() << "no fake camera on " << kAddress << ": port 3956 is taken by another"

template <typename Call>
void expectFault(const Call& call, GrabberFault fault) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), fault) << error.what();
  }
}

}  // namespace

TEST(GenicamCamera, grabsFramesWithTheHostTimeOfTheirExposure) {
  REQUIRE_FAKE_CAMERA(fake);
  const auto camera = makeCamera(options());
  const CameraIdentity identity = camera->open();
  EXPECT_EQ(identity.vendor, "Aravis");
  EXPECT_EQ(identity.model, "Fake");
  EXPECT_EQ(identity.serial, "SIM01");
  expectFault([&] { camera->open(); }, GrabberFault::usage);
  const uint64_t started = monotonicNs();
  camera->start();
  uint64_t after = 0;
  for (int i = 0; i < 10; ++i) {
    const FrameLease lease = camera->waitNewer(after, 20s);
    ASSERT_TRUE(lease.valid());
    EXPECT_GT(lease.info().sequence, after);
    EXPECT_EQ(lease.info().width, 256);
    EXPECT_EQ(lease.info().height, 256);
    EXPECT_EQ(lease.info().stride, 256);
    // The fake camera stamps wall time; the grabber must hand out the monotonic moment.
    EXPECT_GE(lease.info().hostMonotonicNs + 1'000'000, started);
    EXPECT_LE(lease.info().hostMonotonicNs, monotonicNs());
    after = lease.info().sequence;
  }
  const uint64_t moment = monotonicNs();
  const FrameLease next = camera->waitExposedAfter(moment, 20s);
  ASSERT_TRUE(next.valid());
  EXPECT_GT(next.info().hostMonotonicNs, moment);
  EXPECT_GE(camera->counters().received, 11U);
  camera->close();
  EXPECT_FALSE(camera->waitNewer(0, 10s).valid());
  camera->close();
}

TEST(GenicamCamera, checksBoundsBeforeWritingAndReadsBack) {
  REQUIRE_FAKE_CAMERA(fake);
  const auto camera = makeCamera(options());
  expectFault([&] { camera->feature("Width"); }, GrabberFault::usage);
  camera->open();
  EXPECT_DOUBLE_EQ(camera->feature("Width"), 256);
  EXPECT_DOUBLE_EQ(camera->featureRange("Width").max, 2048);
  expectFault([&] { camera->setFeature("Width", 4096); }, GrabberFault::feature);
  EXPECT_DOUBLE_EQ(camera->feature("Width"), 256) << "nothing was written";
  expectFault([&] { camera->setFeature("Width", 100.5); }, GrabberFault::feature);
  EXPECT_DOUBLE_EQ(camera->setFeature("ExposureTimeAbs", 12'000), 12'000);
  EXPECT_DOUBLE_EQ(camera->feature("ExposureTimeAbs"), 12'000);
  expectFault([&] { camera->setFeature("ExposureTimeAbs", 5); }, GrabberFault::feature);
  expectFault([&] { camera->setFeature("ExposureTimeAbs", std::nan("")); }, GrabberFault::feature);
  EXPECT_DOUBLE_EQ(camera->setFeature("GainRaw", 7), 7);
  expectFault([&] { camera->setFeature("GainRaw", 11); }, GrabberFault::feature);
  EXPECT_NEAR(camera->setFeature("AcquisitionFrameRate", 20), 20, 0.01);
  expectFault([&] { camera->setFeature("Gain", 1); }, GrabberFault::feature);
  expectFault([&] { camera->setFeature("AcquisitionMode", 99); }, GrabberFault::feature);
  camera->start();
  expectFault([&] { camera->setFeature("Width", 128); }, GrabberFault::usage);
  EXPECT_DOUBLE_EQ(camera->setFeature("ExposureTimeAbs", 9'000), 9'000) << "light may change while streaming";
}

TEST(GenicamCamera, aSecondControllerIsRefusedAndTheNextFreeMomentTaken) {
  REQUIRE_FAKE_CAMERA(fake);
  const auto first = makeCamera(options());
  first->open();
  const auto second = makeCamera(options());
  std::thread leaves([&] {
    // Longer than the 2.5 s that Aravis asks for control in one attempt.
    std::this_thread::sleep_for(4s);
    first->close();
  });
  // The first attempt finds the camera controlled; one after the heartbeat's time succeeds.
  EXPECT_EQ(second->open().serial, "SIM01");
  leaves.join();
}

TEST(GenicamCamera, aMissingCameraIsNamed) {
  CameraOptions nowhere = options();
  nowhere.address = "Aravis-Fake-NOWHERE";
  nowhere.openAttempts = 1;
  const auto camera = makeCamera(nowhere);
  expectFault([&] { camera->open(); }, GrabberFault::missing);
}

TEST(GenicamCamera, aCameraThatDiesIsSilentThenLostAndComesBack) {
  auto fake = std::make_unique<FakeCamera>();
  if (!fake->running()) GTEST_SKIP() << "no fake camera on " << kAddress << ": port 3956 is taken by another";
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  ASSERT_TRUE(camera->waitNewer(0, 20s).valid());
  uint64_t last = camera->latest(0).info().sequence;
  fake.reset();
  const uint64_t died = monotonicNs();
  while (camera->silenceNs() < 500'000'000U && monotonicNs() - died < 20'000'000'000U)
    std::this_thread::sleep_for(10ms);
  EXPECT_GE(camera->silenceNs(), 500'000'000U) << "the own watchdog sees it first";
  for (int i = 0; i < 3000 && !camera->lost(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(camera->lost());
  last = std::max(last, camera->counters().received);
  EXPECT_FALSE(camera->waitNewer(0, 10s).valid());
  camera->close();
  EXPECT_FALSE(camera->lost());
  fake = std::make_unique<FakeCamera>();
  ASSERT_TRUE(fake->running());
  camera->open();
  camera->start();
  const FrameLease again = camera->waitNewer(last, 20s);
  ASSERT_TRUE(again.valid());
  EXPECT_GT(again.info().sequence, last) << "the sequence goes on";
}

// The way of a USB3 Vision camera: GenICam without GigE Vision. Aravis has no simulated USB device, but it
// has a simulated camera without a network; what is left to hardware is USB itself.
TEST(GenicamCamera, aCameraWithoutGigeVisionTakesTheSameWay) {
  arv_enable_interface("Fake");
  CameraOptions wanted = options(128);
  wanted.address = "Fake_1";
  const auto camera = makeCamera(wanted);
  const CameraIdentity identity = camera->open();
  EXPECT_EQ(identity.vendor, "Aravis");
  EXPECT_EQ(identity.model, "Fake");
  EXPECT_DOUBLE_EQ(camera->setFeature("ExposureTimeAbs", 8000), 8000);
  expectFault([&] { camera->setFeature("Width", 4096); }, GrabberFault::feature);
  camera->start();
  uint64_t after = 0;
  for (int i = 0; i < 5; ++i) {
    const FrameLease lease = camera->waitNewer(after, 20s);
    ASSERT_TRUE(lease.valid());
    EXPECT_EQ(lease.info().width, 128);
    after = lease.info().sequence;
  }
  EXPECT_EQ(camera->counters().resentPackets, 0U);
  camera->close();
  arv_disable_interface("Fake");
}

TEST(GenicamCamera, softwareTriggersOfTheFakeCamera) {
  REQUIRE_FAKE_CAMERA(fake);
  CameraOptions wanted = options(128);
  wanted.triggerSource = "Software";
  const auto camera = makeCamera(wanted);
  camera->open();
  camera->start();
  EXPECT_FALSE(camera->waitNewer(0, 300ms).valid());
  uint64_t after = 0;
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(camera->trigger(), i);
    const FrameLease lease = camera->waitNewer(after, 20s);
    ASSERT_TRUE(lease.valid());
    EXPECT_EQ(lease.info().trigger, i);
    after = lease.info().sequence;
  }
}
