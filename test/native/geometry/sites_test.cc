#include "surgiclaw/geometry/sites.h"

#include <gtest/gtest.h>

#include <cmath>

#include "synthetic.h"

namespace surgiclaw::geometry {
namespace {

using namespace synthetic;  // NOLINT: the whole file is about synthetic frames.

// Textured tissue with one straight vessel along y = 300 + x/4, 60 px wide.
Frame withVessel(uint64_t seed) {
  Canvas canvas(800, 800, 120);
  addTexture(canvas, seed, {{6, 0.04}, {20, 0.04}, {300, 0.03}});
  drawBand(canvas, {{-100, 275}, {900, 525}}, 60, 5, 60, 0.8);
  return expose(canvas, seed);
}

double distanceToVessel(double x, double y) {
  // Of the line x/4 − y + 300 = 0, less half the width.
  return std::abs(0.25 * x - y + 300) / std::hypot(0.25, 1.0) - 30;
}

TEST(FindSites, DistancesAreThoseToTheVessel) {
  const std::vector<SiteCandidate> sites = findSites(withVessel(3).view(), {});
  ASSERT_GT(sites.size(), 200u);
  // A grain of texture may pass for dust and make a site look nearer to something than it is; never the other
  // way.
  int tooFar = 0;
  int tooNear = 0;
  for (const SiteCandidate& site : sites) {
    const double truth = distanceToVessel(site.x, site.y);
    if (site.vesselDistancePx > truth + 16) ++tooFar;
    if (site.vesselDistancePx < truth - 16) ++tooNear;
    EXPECT_GT(truth, -15) << "a site on the vessel at " << site.x << ", " << site.y;
  }
  EXPECT_EQ(tooFar, 0);
  EXPECT_LT(tooNear, static_cast<int>(sites.size() / 3));
  EXPECT_GE(sites.front().vesselDistancePx, sites.back().vesselDistancePx);
  EXPECT_GT(distanceToVessel(sites.front().x, sites.front().y), 150);
}

TEST(FindSites, AvoidsMarksDustAndNeedle) {
  Canvas canvas(800, 800, 120);
  addTexture(canvas, 4, {{6, 0.04}, {20, 0.04}});
  drawBand(canvas, {{400, -50}, {400, 500}}, 34, 2, 25);
  drawBand(canvas, {{200, 650}, {201, 650}}, 40, 1.5, 30);
  drawBand(canvas, {{600, 300}, {601, 300}}, 50, 8, 250);
  SiteOptions options;
  options.minDistancePx = 24;
  const std::vector<SiteCandidate> sites = findSites(expose(canvas, 4).view(), {}, options);
  ASSERT_GT(sites.size(), 150u);
  for (const SiteCandidate& site : sites) {
    EXPECT_GT(std::hypot(site.x - 200, site.y - 650), 35);
    EXPECT_GT(std::hypot(site.x - 600, site.y - 300), 35);
    EXPECT_FALSE(std::abs(site.x - 400) < 30 && site.y < 500);
  }
}

TEST(FindSites, TextureTellsTissueFromBlur) {
  Canvas canvas(800, 800, 120);
  const ValueNoise grain(9, 6, 800, 800);
  for (int y = 0; y < 800; ++y) {
    for (int x = 0; x < 400; ++x) canvas.at(x, y) += static_cast<float>(6 * grain.at(x, y));
  }
  const std::vector<SiteCandidate> sites = findSites(expose(canvas, 1).view(), {100, 100, 600, 600});
  ASSERT_FALSE(sites.empty());
  for (const SiteCandidate& site : sites) {
    EXPECT_TRUE(site.x >= 100 && site.x < 700 && site.y >= 100 && site.y < 700);
    if (site.x < 320) {
      EXPECT_GT(site.texture, 1.5);
    } else if (site.x > 480) {
      EXPECT_LT(site.texture, 1.0);
    }
  }
}

TEST(FindSites, SurvivesNothing) {
  EXPECT_TRUE(findSites(ImageView{}, {}).empty());
  const Frame frame = withVessel(5);
  EXPECT_TRUE(findSites(frame.view(), {2000, 2000, 50, 50}).empty());
}

}  // namespace
}  // namespace surgiclaw::geometry
