#include "picture_watch.h"

#include <gtest/gtest.h>

#include <vector>

using surgiclaw::grabber::PictureWatch;

TEST(PictureWatch, equalPicturesRepeatAndOneChangedSampleDoesNot) {
  PictureWatch watch;
  std::vector<uint8_t> picture(4000, 90);
  EXPECT_FALSE(watch.repeats(picture.data(), picture.size())) << "the first";
  EXPECT_TRUE(watch.repeats(picture.data(), picture.size()));
  picture[1234] = 91;
  EXPECT_FALSE(watch.repeats(picture.data(), picture.size()));
  EXPECT_TRUE(watch.repeats(picture.data(), picture.size()));
  watch.forget();
  EXPECT_FALSE(watch.repeats(picture.data(), picture.size()));
}

TEST(PictureWatch, ofAnOverexposedOrBlackFrameNothingCanBeTold) {
  PictureWatch watch;
  for (const int grey : {0, 255}) {
    const std::vector<uint8_t> picture(100'000, static_cast<uint8_t>(grey));
    EXPECT_FALSE(watch.repeats(picture.data(), picture.size()));
    EXPECT_FALSE(watch.repeats(picture.data(), picture.size()));
  }
}
