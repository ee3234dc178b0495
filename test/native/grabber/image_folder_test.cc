#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using namespace surgiclaw::grabber;
namespace fs = std::filesystem;

namespace {

class ImageFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("surgiclaw-images-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A PGM written by hand: the decoder is not asked whether the encoder agrees with it.
  void writePgm(const std::string& file, int width, int height, uint8_t value) {
    std::ofstream out(folder_ / file, std::ios::binary);
    out << "P5\n"
        << width << " " << height << "\n255\n"
        << std::string(static_cast<size_t>(width * height), static_cast<char>(value));
  }

  CameraOptions options() const {
    CameraOptions options;
    options.name = "folder";
    options.folder = folder_.string();
    options.width = 40;
    options.height = 30;
    options.frameRate = 100;
    options.ringSize = 8;
    options.mode = RingMode::bounded;
    return options;
  }

  fs::path folder_;
};

}  // namespace

TEST_F(ImageFolder, playsInNameOrderAsMono8AndOverAgain) {
  writePgm("b.pgm", 40, 30, 20);
  writePgm("a.pgm", 40, 30, 10);
  // Red alone: the luma of ITU-R BT.601 is 0.299 R.
  cv::imwrite((folder_ / "c.png").string(), cv::Mat(30, 40, CV_8UC3, cv::Scalar(0, 0, 200)));
  std::ofstream(folder_ / "notes.txt") << "not an image";
  const auto camera = makeCamera(options());
  camera->open();
  const uint64_t before = surgiclaw::realtime::monotonicNs();
  camera->start();
  uint64_t after = 0;
  uint64_t exposed = before;
  for (const int expected : {10, 20, 60, 10, 20, 60}) {
    const FrameLease lease = camera->waitNewer(after, 10s);
    ASSERT_TRUE(lease.valid());
    EXPECT_EQ(lease.info().sequence, after + 1);
    EXPECT_EQ(lease.info().width, 40);
    EXPECT_EQ(lease.info().height, 30);
    EXPECT_NEAR(lease.info().pixels[0], expected, 1);  // decoders round differently
    EXPECT_NEAR(lease.info().pixels[30 * 40 - 1], expected, 1);
    EXPECT_GT(lease.info().hostMonotonicNs, exposed);
    exposed = lease.info().hostMonotonicNs;
    after = lease.info().sequence;
  }
  EXPECT_LT(camera->silenceNs(), 60'000'000'000U);
  camera->close();
  EXPECT_FALSE(camera->latest(0).valid());
}

TEST_F(ImageFolder, refusesWhatCannotBePlayed) {
  EXPECT_THROW(makeCamera(options())->open(), GrabberError) << "no image";
  writePgm("a.pgm", 41, 30, 10);
  EXPECT_THROW(makeCamera(options())->open(), GrabberError) << "wrong size";
  CameraOptions missing = options();
  missing.folder = (folder_ / "nowhere").string();
  try {
    makeCamera(missing)->open();
    FAIL();
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), GrabberFault::missing);
  }
  EXPECT_THROW(makeCamera(options())->start(), GrabberError) << "not open";
}

TEST_F(ImageFolder, aBrokenFileCountsAndDoesNotStopTheOthers) {
  writePgm("a.pgm", 40, 30, 10);
  std::ofstream(folder_ / "b.png") << "no PNG at all";
  writePgm("c.pgm", 40, 30, 30);
  const auto camera = makeCamera(options());
  camera->open();
  camera->start();
  EXPECT_EQ(camera->waitNewer(0, 10s).info().pixels[0], 10);
  const FrameLease third = camera->waitNewer(1, 10s);
  EXPECT_EQ(third.info().pixels[0], 30);
  EXPECT_EQ(third.info().sequence, 3U);
  EXPECT_GE(camera->counters().incomplete, 1U);
}

TEST(MakeCamera, refusesSenselessOptions) {
  CameraOptions good;
  good.name = "x";
  good.folder = "/nowhere";
  good.width = 10;
  good.height = 10;
  EXPECT_NO_THROW(makeCamera(good));
  const auto bad = [&](auto change) {
    CameraOptions options = good;
    change(options);
    EXPECT_THROW(makeCamera(options), GrabberError);
  };
  bad([](CameraOptions& o) { o.name.clear(); });
  bad([](CameraOptions& o) { o.folder.clear(); });
  bad([](CameraOptions& o) { o.address = "127.0.0.1"; });
  bad([](CameraOptions& o) { o.width = 0; });
  bad([](CameraOptions& o) { o.frameRate = 0; });
  bad([](CameraOptions& o) { o.ringSize = kMinRing - 1; });
  bad([](CameraOptions& o) { o.packetSize = 100; });
  bad([](CameraOptions& o) { o.device = "/dev/video0"; });
  bad([](CameraOptions& o) { o.binning = 2; });
  bad([](CameraOptions& o) { o.triggerSource = "Software"; });
  bad([](CameraOptions& o) { o.pixelFormat = PixelFormat::mono12; });
}
