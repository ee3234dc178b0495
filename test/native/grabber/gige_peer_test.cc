// The grabber against a GigE Vision camera that shares nothing with it and resends packets: what the fake
// camera of Aravis cannot show. That the peer itself speaks the protocol is proven by arv-tool and
// arv-camera-test (test/interop).
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gige_camera.h"
#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using namespace surgiclaw::grabber;
using surgiclaw::peer::CameraFaults;
using surgiclaw::peer::CameraModel;
using surgiclaw::peer::GigeCamera;
using surgiclaw::realtime::monotonicNs;
namespace feature = surgiclaw::peer::feature;
namespace bootstrap = surgiclaw::peer::bootstrap;

namespace {

constexpr const char* kAddress = "127.9.0.1";
constexpr const char* kOther = "127.9.0.2";

CameraOptions options(const char* address = kAddress) {
  CameraOptions options;
  options.name = "peer";
  options.address = address;
  options.width = 256;
  options.height = 192;
  options.frameRate = 50;
  options.packetSize = 1400;
  options.ringSize = 24;
  return options;
}

/// Every pixel is what the camera drew, of whatever frame it was: the first pixel tells which.
void expectPicture(const FrameInfo& info) {
  const uint8_t number = info.pixels[0];
  int wrong = 0;
  for (int y = 0; y < info.height; ++y) {
    for (int x = 0; x < info.width; ++x) {
      const uint8_t grey = GigeCamera::grey(static_cast<uint32_t>(x), static_cast<uint32_t>(y), number);
      wrong += info.pixels[y * info.stride + x] != grey;
    }
  }
  EXPECT_EQ(wrong, 0) << "pixels of frame " << static_cast<int>(number);
}

/// The next `count` frames, all of them as drawn; returns the last sequence.
uint64_t grab(Camera& camera, int count, uint64_t after = 0) {
  for (int i = 0; i < count; ++i) {
    const FrameLease lease = camera.waitNewer(after, 20s);
    if (!lease.valid()) {
      ADD_FAILURE() << "no frame came";
      return after;
    }
    expectPicture(lease.info());
    after = lease.info().sequence;
  }
  return after;
}

template <typename Passes>
bool within(std::chrono::seconds limit, const Passes& passes) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!passes()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

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

TEST(GigePeer, framesOfEveryPixelFormatArriveAsMono8) {
  GigeCamera peer(kAddress, CameraModel{});
  for (const PixelFormat format :
       {PixelFormat::mono8, PixelFormat::mono10, PixelFormat::mono10Packed, PixelFormat::mono10p,
        PixelFormat::mono12, PixelFormat::mono12Packed, PixelFormat::mono12p, PixelFormat::mono14,
        PixelFormat::mono16, PixelFormat::yuv422}) {
    SCOPED_TRACE(pixelFormatName(format));
    CameraOptions wanted = options();
    wanted.pixelFormat = format;
    const auto camera = makeCamera(wanted);
    EXPECT_EQ(camera->open().serial, "PEER1");
    camera->start();
    grab(*camera, 3);
    EXPECT_EQ(peer.registerValue(feature::kPixelFormat), pixelFormatCode(format));
    camera->close();
  }
}

TEST(GigePeer, regionAndBinningAreWrittenCheckedAndReadBack) {
  GigeCamera peer(kAddress, CameraModel{});
  CameraOptions wanted = options();
  wanted.binning = 2;
  wanted.width = 128;
  wanted.height = 96;
  wanted.offsetX = 64;
  wanted.offsetY = 32;
  const auto camera = makeCamera(wanted);
  camera->open();
  EXPECT_EQ(peer.registerValue(feature::kBinningHorizontal), 2U);
  EXPECT_EQ(peer.registerValue(feature::kBinningVertical), 2U);
  EXPECT_EQ(peer.registerValue(feature::kWidth), 128U);
  EXPECT_EQ(peer.registerValue(feature::kOffsetX), 64U);
  EXPECT_EQ(peer.registerValue(feature::kOffsetY), 32U);
  EXPECT_DOUBLE_EQ(camera->featureRange("OffsetX").max, 512 / 2 - 128);
  EXPECT_DOUBLE_EQ(camera->featureRange("Width").increment, 8);
  expectFault([&] { camera->setFeature("OffsetX", 136); }, GrabberFault::feature);
  expectFault([&] { camera->setFeature("Width", 100); }, GrabberFault::feature);
  EXPECT_EQ(peer.registerValue(feature::kWidth), 128U) << "nothing was written";
  camera->start();
  grab(*camera, 2);
  expectFault([&] { camera->setFeature("OffsetX", 0); }, GrabberFault::usage);
  camera->close();

  wanted.width = 512;  // not after binning
  expectFault([&] { makeCamera(wanted)->open(); }, GrabberFault::feature);
  wanted.width = 132;  // no multiple of 8
  expectFault([&] { makeCamera(wanted)->open(); }, GrabberFault::feature);
}

TEST(GigePeer, exposureAndGainMayBeFloatFeatures) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  EXPECT_NEAR(camera->setFeature("ExposureTime", 1234.5), 1234.5, 0.01);
  EXPECT_NEAR(camera->setFeature("Gain", 6.02), 6.02, 0.01);
  EXPECT_DOUBLE_EQ(camera->featureRange("Gain").max, 24);
  expectFault([&] { camera->setFeature("Gain", 24.1); }, GrabberFault::feature);
  expectFault([&] { camera->setFeature("ExposureTime", 10); }, GrabberFault::feature);
}

TEST(GigePeer, lostPacketsAreAskedForAgain) {
  GigeCamera peer(kAddress, CameraModel{});
  // A leader, a packet in the middle, three in a row, and the last one with its trailer.
  peer.change([](CameraFaults& f) {
    f.dropped = {{2, 0}, {3, 5}, {4, 10}, {4, 11}, {4, 12}, {5, 36}, {5, 37}};
  });
  CameraOptions wanted = options();
  wanted.mode = RingMode::bounded;
  wanted.ringSize = 100;
  const auto camera = makeCamera(wanted);
  camera->open();
  camera->start();
  EXPECT_EQ(grab(*camera, 8), 8U) << "no frame is missing";
  const Counters counters = camera->counters();
  EXPECT_EQ(counters.incomplete, 0U);
  EXPECT_EQ(counters.gaps, 0U);
  EXPECT_EQ(counters.missingPackets, 0U);
  // A leader is learnt from the packets after it.
  EXPECT_GE(counters.resentPackets, 5U);
  EXPECT_GE(peer.tally().resendRequests, 3U);
  EXPECT_EQ(peer.tally().resentPackets, counters.resentPackets);
}

TEST(GigePeer, withoutResendAFrameIsIncompleteAndNeverDelivered) {
  for (const auto resend : {CameraFaults::Resend::silent, CameraFaults::Resend::unavailable}) {
    GigeCamera peer(kAddress, CameraModel{});
    peer.change([&](CameraFaults& f) {
      f.resend = resend;
      f.dropped = {{3, 5}};
    });
    const auto camera = makeCamera(options());
    camera->open();
    camera->start();
    const uint64_t after = grab(*camera, 6);
    EXPECT_GT(after, 6U) << "the sequence tells that one is missing";
    EXPECT_TRUE(within(10s, [&] { return camera->counters().incomplete == 1; }));
    EXPECT_GE(camera->counters().missingPackets, 1U);
    EXPECT_EQ(camera->counters().resentPackets, 0U);
    EXPECT_GE(peer.tally().resendRequests, 1U);
    EXPECT_FALSE(camera->lost());
    camera->close();
  }
}

TEST(GigePeer, reversedAndDoubledPacketsMakeTheSameFrames) {
  for (const bool reversed : {true, false}) {
    GigeCamera peer(kAddress, CameraModel{});
    peer.change([&](CameraFaults& f) {
      f.reversed = reversed;
      f.doubled = !reversed;
    });
    const auto camera = makeCamera(options());
    camera->open();
    camera->start();
    grab(*camera, 20);
    EXPECT_EQ(camera->counters().incomplete, 0U) << (reversed ? "reversed" : "doubled");
    camera->close();
  }
}

TEST(GigePeer, heavyLossIsCountedAndPasses) {
  GigeCamera peer(kAddress, CameraModel{});
  peer.change([](CameraFaults& f) {
    f.lossPermille = 20;
    f.losesResentToo = true;
    f.resend = CameraFaults::Resend::silent;
  });
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  EXPECT_TRUE(within(20s, [&] { return camera->counters().incomplete >= 3; }));
  peer.change([](CameraFaults& f) { f.lossPermille = 0; });
  const uint64_t after =
      camera->counters().received + camera->counters().incomplete + camera->counters().gaps;
  grab(*camera, 5, after);
  EXPECT_FALSE(camera->lost());
}

TEST(GigePeer, frameNumbersWrapFrom65535To1AndGapsAreCounted) {
  GigeCamera peer(kAddress, CameraModel{}, 65533);
  peer.change([](CameraFaults& f) { f.skipped = {2, 6, 7}; });  // 65534; 3 and 4 after the wrap
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  EXPECT_TRUE(within(20s, [&] { return camera->counters().received >= 10; }));
  const Counters counters = camera->counters();
  EXPECT_EQ(counters.gaps, 3U);
  EXPECT_EQ(counters.incomplete, 0U);
  const FrameLease lease = camera->latest(0);
  ASSERT_TRUE(lease.valid());
  EXPECT_EQ(static_cast<uint8_t>(lease.info().sequence), lease.info().pixels[0]) << "gaps included";
}

TEST(GigePeer, framesOfAnotherFormatThanSetAreNotDelivered) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  grab(*camera, 2);
  peer.change([](CameraFaults& f) { f.otherFormat = true; });
  EXPECT_TRUE(within(20s, [&] { return camera->counters().incomplete >= 3; }));
  const uint64_t received = camera->counters().received;
  EXPECT_TRUE(within(20s, [&] { return camera->counters().incomplete >= 6; }));
  EXPECT_EQ(camera->counters().received, received);
}

TEST(GigePeer, thePacketSizeIsNegotiatedOrHeldToTheWord) {
  GigeCamera peer(kAddress, CameraModel{});
  peer.change([](CameraFaults& f) { f.linkBytes = 3000; });
  CameraOptions wanted = options();
  wanted.packetSize = 0;
  const auto camera = makeCamera(wanted);
  camera->open();
  const uint32_t held = peer.registerValue(bootstrap::kStreamPacketSize) & 0xffff;
  EXPECT_LE(held, 3000U) << "larger ones do not come through";
  EXPECT_GE(held, 1400U);
  camera->start();
  grab(*camera, 3);
  camera->close();

  wanted.packetSize = 9000;
  peer.change([](CameraFaults& f) { f.sizeHeldInstead = 1500; });
  expectFault([&] { makeCamera(wanted)->open(); }, GrabberFault::feature);
}

TEST(GigePeer, aPacketDelayIsWrittenInTicks) {
  GigeCamera peer(kAddress, CameraModel{});
  CameraOptions wanted = options();
  wanted.packetDelayUs = 20;
  const auto camera = makeCamera(wanted);
  camera->open();
  EXPECT_EQ(peer.registerValue(bootstrap::kStreamPacketDelay), 20'000U) << "of 1 ns";
  camera->start();
  grab(*camera, 3);
}

TEST(GigePeer, eachSoftwareTriggerBringsOneFrame) {
  GigeCamera peer(kAddress, CameraModel{});
  CameraOptions wanted = options();
  wanted.triggerSource = "Software";
  const auto camera = makeCamera(wanted);
  camera->open();
  expectFault([&] { camera->trigger(); }, GrabberFault::usage);
  EXPECT_EQ(camera->silenceNs(), UINT64_MAX) << "not started";
  camera->start();
  EXPECT_FALSE(camera->waitNewer(0, 200ms).valid());
  EXPECT_EQ(camera->silenceNs(), 0U) << "nothing was asked of it";
  uint64_t after = 0;
  for (uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(camera->trigger(), i);
    const FrameLease lease = camera->waitNewer(after, 20s);
    ASSERT_TRUE(lease.valid());
    EXPECT_EQ(lease.info().trigger, i);
    after = lease.info().sequence;
  }
  // A lost frame takes its trigger with it.
  peer.change([](CameraFaults& f) { f.skipped = {6}; });
  camera->trigger();
  camera->trigger();
  const FrameLease lease = camera->waitNewer(after, 20s);
  ASSERT_TRUE(lease.valid());
  EXPECT_EQ(lease.info().trigger, 7U);
  EXPECT_EQ(camera->counters().unansweredTriggers, 1U);
  peer.change([](CameraFaults& f) { f.stalled = true; });
  camera->trigger();
  EXPECT_TRUE(within(10s, [&] { return camera->silenceNs() > 300'000'000U; }))
      << "a trigger that nothing answers";
  camera->close();
}

TEST(GigePeer, aHardwareTriggerGivesFramesWithoutANumber) {
  GigeCamera peer(kAddress, CameraModel{});
  CameraOptions wanted = options();
  wanted.triggerSource = "Line0";
  wanted.triggerActivation = "FallingEdge";
  const auto camera = makeCamera(wanted);
  camera->open();
  EXPECT_EQ(peer.registerValue(feature::kTriggerMode), 1U);
  EXPECT_EQ(peer.registerValue(feature::kTriggerActivation), 1U);
  camera->start();
  expectFault([&] { camera->trigger(); }, GrabberFault::usage);
  EXPECT_FALSE(camera->waitNewer(0, 200ms).valid());
  peer.pulseLine();
  const FrameLease lease = camera->waitNewer(0, 20s);
  ASSERT_TRUE(lease.valid());
  EXPECT_EQ(lease.info().trigger, 0U);
  camera->close();
  wanted.triggerSource = "Line7";
  expectFault([&] { makeCamera(wanted)->open(); }, GrabberFault::feature);
}

TEST(GigePeer, aLostPrivilegeIsALostCameraAndOpeningMendsIt) {
  GigeCamera peer(kAddress, CameraModel{});
  CameraOptions wanted = options();
  wanted.offsetX = 16;
  const auto camera = makeCamera(wanted);
  camera->open();
  camera->start();
  uint64_t last = grab(*camera, 2);
  peer.revokeControl();
  EXPECT_TRUE(within(20s, [&] { return camera->lost(); }));
  EXPECT_FALSE(camera->waitNewer(last, 10s).valid());
  expectFault([&] { camera->start(); }, GrabberFault::usage);
  last = camera->counters().received;
  camera->close();
  camera->open();
  EXPECT_EQ(peer.registerValue(feature::kOffsetX), 16U) << "set up anew";
  camera->start();
  EXPECT_GT(grab(*camera, 2, last), last);
}

TEST(GigePeer, aMuteControlChannelIsNoticedThoughFramesCome) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  grab(*camera, 2);
  peer.change([](CameraFaults& f) { f.mute = true; });
  EXPECT_TRUE(within(30s, [&] { return camera->lost(); }));
  peer.change([](CameraFaults& f) { f.mute = false; });
  camera->close();
  camera->open();
  camera->start();
  grab(*camera, 2);
}

TEST(GigePeer, aStalledStreamIsSilentButNotLost) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  const uint64_t last = grab(*camera, 2);
  peer.change([](CameraFaults& f) { f.stalled = true; });
  EXPECT_TRUE(within(10s, [&] { return camera->silenceNs() > 500'000'000U; }));
  EXPECT_FALSE(camera->lost());
  peer.change([](CameraFaults& f) { f.stalled = false; });
  EXPECT_GT(grab(*camera, 2, last), last);
}

TEST(GigePeer, aCameraThatFreezesOnOnePictureIsSilent) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  grab(*camera, 5);
  EXPECT_EQ(camera->counters().repeated, 0U);
  peer.change([](CameraFaults& f) { f.frozen = true; });
  EXPECT_TRUE(within(10s, [&] { return camera->silenceNs() > 500'000'000U; }));
  EXPECT_TRUE(camera->waitNewer(camera->counters().received, 10s).valid()) << "frames come all the same";
  EXPECT_GE(camera->counters().repeated, 10U);
  EXPECT_FALSE(camera->lost());
  peer.change([](CameraFaults& f) { f.frozen = false; });
  EXPECT_TRUE(within(10s, [&] { return camera->silenceNs() < 200'000'000U; }));
}

TEST(GigePeer, aStepOfTheCamerasClockNeverMakesAFrameYounger) {
  GigeCamera peer(kAddress, CameraModel{});
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  grab(*camera, 2);
  for (const int64_t stepNs : {3'600'000'000'000LL, -3'600'000'000'000LL, 500'000'000LL}) {
    peer.change([&](CameraFaults& f) { f.clockOffsetNs = stepNs; });
    std::this_thread::sleep_for(100ms);
    const uint64_t asked = monotonicNs();
    const FrameLease lease = camera->waitExposedAfter(asked, 20s);
    ASSERT_TRUE(lease.valid()) << stepNs;
    EXPECT_GT(lease.info().hostMonotonicNs, asked);
    EXPECT_LE(lease.info().hostMonotonicNs, monotonicNs()) << "not in the future";
  }
}

TEST(GigePeer, twoCamerasStreamAtOnce) {
  CameraModel second;
  second.serial = "PEER2";
  GigeCamera peer1(kAddress, CameraModel{});
  GigeCamera peer2(kOther, second);
  const auto camera1 = makeCamera(options());
  const auto camera2 = makeCamera(options(kOther));
  std::thread other([&] { EXPECT_EQ(camera2->open().serial, "PEER2"); });
  EXPECT_EQ(camera1->open().serial, "PEER1");
  other.join();
  camera1->start();
  camera2->start();
  uint64_t last1 = 0;
  uint64_t last2 = 0;
  for (int i = 0; i < 10; ++i) {
    last1 = grab(*camera1, 1, last1);
    last2 = grab(*camera2, 1, last2);
  }
  EXPECT_EQ(camera1->counters().incomplete + camera2->counters().incomplete, 0U);
}
