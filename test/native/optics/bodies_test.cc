// Where segments appear, how wide and how blurred, against the projection and against closed formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "optics_fixture.h"

namespace surgiclaw::optics {
namespace {

using namespace testing;

Renderer& rendererOf(ImageModel model) {
  Scene scene = flatScene();
  scene.model = model;
  return sharedRenderer(scene);
}

class Bodies : public ::testing::TestWithParam<ImageModel> {
 protected:
  Renderer& renderer_ = rendererOf(GetParam());
  CameraScene camera_ = flatScene().cameras[0];

  /// A segment between two pixels at one depth; radius in px.
  [[nodiscard]] Segment between(double x0, double y0, double x1, double y1, double radiusPx, double depthM,
                                SegmentKind kind = SegmentKind::kNeedle) const {
    return {worldPoint(camera_, x0, y0, depthM),
            worldPoint(camera_, x1, y1, depthM),
            radiusPx * kScale,
            radiusPx * kScale,
            0.12,
            kind};
  }
};

TEST_P(Bodies, LieWhereTheyAreProjected) {
  // Capsules at odd places, slopes and depths: the centre of gravity is the middle of the axis.
  struct Case {
    double x0, y0, x1, y1, radius, depth;
  };
  for (const Case& c :
       {Case{700.31, 600.77, 705.93, 800.12, 17.1, 0}, Case{900.5, 500.25, 1011.25, 702.875, 5.3, 4e-5},
        Case{850.4, 700.6, 1050.2, 640.3, 3.4, -9e-5}, Case{1000.1, 600.9, 1009.4, 604.2, 2.6, 0},
        Case{1000.37, 601.21, 1000.37, 601.21, 9.0, 0}, Case{600.6, 700.1, 820.3, 900.8, 14.2, 3e-4}}) {
    SceneState state;
    state.segments.push_back(between(c.x0, c.y0, c.x1, c.y1, c.radius, c.depth));
    const Moments m = momentsOf(coverage(renderer_, state));
    EXPECT_NEAR(m.x, 0.5 * (c.x0 + c.x1), 0.02);
    EXPECT_NEAR(m.y, 0.5 * (c.y0 + c.y1), 0.02);
    // Blur moves light about and keeps its amount: the area of a capsule.
    const double length = std::hypot(c.x1 - c.x0, c.y1 - c.y0);
    const double area = 2 * c.radius * length + kPi * c.radius * c.radius;
    EXPECT_NEAR(m.mass / area, 1, 0.01) << "radius " << c.radius << " depth " << c.depth;
  }
}

TEST_P(Bodies, HaveTheirEdgesAtTheirRadius) {
  // A vertical shank in focus: its edges lie 17.25 px to either side of the axis.
  SceneState state;
  state.segments.push_back(between(900.37, 400, 900.37, 900, 17.25, 0));
  // What is covered left of a column inside the shank is the distance from the edge to that column's left
  // border.
  const double left = momentsOf(coverage(renderer_, state, {850, 650, 50, 1})).mass;
  const double right = momentsOf(coverage(renderer_, state, {900, 650, 50, 1})).mass;
  EXPECT_NEAR(899.5 - left, 900.37 - 17.25, 0.02);
  EXPECT_NEAR(899.5 + right, 900.37 + 17.25, 0.02);
}

TEST_P(Bodies, EndWhereTheBallAtTheirEndEnds) {
  // Along the axis: integral of coverage over a strip about the axis, for a tip of radius 5 px after a long
  // shank. The profile through the middle falls to one half where the ball ends.
  SceneState state;
  state.segments.push_back(between(900, 400, 900, 700.4, 30, 0));
  const Picture cover = coverage(renderer_, state, {900, 700, 1, 60});
  int y = 700;
  while (cover.at(900, y) > 0.5) ++y;
  const double at = y - (0.5 - cover.at(900, y)) / (cover.at(900, y - 1) - cover.at(900, y));
  // A blurred circle's half-height lies sigma^2 / (2 r) inside it.
  EXPECT_NEAR(at, 700.4 + 30 - 0.64 / 60, 0.05);
}

TEST_P(Bodies, BlurAsTheFormulaSays) {
  // Across a bar of half width w the variance is w^2 / 3 + sigma^2, sigma = sqrt(0.8^2 + (1.2 dz / 50 um)^2).
  for (const double depth : {0.0, 50e-6, -100e-6, 250e-6}) {
    SceneState state;
    state.segments.push_back(between(900.4, 200, 900.4, 1200, 4, depth, SegmentKind::kThread));
    const Picture row = coverage(renderer_, state, {800, 700, 200, 1});
    const Moments m = momentsOf(row);
    const double sigma2 = 0.64 + std::pow(1.2 * depth / 50e-6, 2);
    EXPECT_NEAR(m.x, 900.4, 0.02);
    EXPECT_NEAR(m.mass, 8, 0.02);
    EXPECT_NEAR(m.xx / (16.0 / 3 + sigma2), 1, 0.015) << "depth " << depth;
  }
}

TEST_P(Bodies, BlurEachPlaceByItsOwnDepth) {
  // A needle that stands on the tissue comes nearer to the camera as it rises: 1 / 0.819 of its length in the
  // image times 0.574.
  SceneState state;
  state.segments.push_back({{0, 0, 1.2e-3}, {0, 0, 3e-4}, 4e-6, 4e-6, 0.12, SegmentKind::kNeedle});
  for (const int y : {1000, 900, 700, 500}) {
    const Moments m = momentsOf(coverage(renderer_, state, {824, y, 400, 1}));
    const double depth = (1024 - y) * kScale / 0.819152 * 0.573576;
    const double w = 4e-6 / kScale;
    const double variance = w * w / 3 + 0.64 + std::pow(1.2 * depth / 50e-6, 2);
    EXPECT_NEAR(m.xx / variance, 1, 0.015) << "row " << y;
    EXPECT_NEAR(m.x, 1024, 0.02);
  }
}

TEST_P(Bodies, TaperAsTheyAreTold) {
  SceneState state;
  Segment taper = between(900.3, 500, 900.3, 700, 20, 0);
  taper.radiusB = 10 * kScale;
  state.segments.push_back(taper);
  EXPECT_NEAR(momentsOf(coverage(renderer_, state, {800, 550, 200, 1})).mass, 35, 0.05);
  EXPECT_NEAR(momentsOf(coverage(renderer_, state, {800, 600, 200, 1})).mass, 30, 0.05);
}

TEST_P(Bodies, AreTheSameInOnePieceOrInMany) {
  // A bar cut into parts must not show where, in focus or out of it.
  for (const double depth : {0.0, 3e-4}) {
    SceneState whole, parts;
    whole.segments.push_back(between(800, 500, 950, 800, 12, depth));
    for (int i = 0; i < 5; ++i)
      parts.segments.push_back(between(800 + 30 * i, 500 + 60 * i, 830 + 30 * i, 560 + 60 * i, 12, depth));
    const Region region{700, 400, 350, 500};
    const Picture a = reflectance(renderer_, whole, region), b = reflectance(renderer_, parts, region);
    double worst = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
      worst = std::max(worst, std::abs(a.values[i] - b.values[i]));
    EXPECT_LT(worst, 2e-3) << "depth " << depth;
  }
}

TEST_P(Bodies, CloseRings) {
  // A ring of 24 parts: area = circumference times wire, centre in the middle.
  SceneState state;
  for (int i = 0; i < 24; ++i) {
    const double a = 2 * kPi * i / 24, b = 2 * kPi * (i + 1) / 24;
    state.segments.push_back(between(900.3 + 25 * std::cos(a), 600.7 + 25 * std::sin(a),
                                     900.3 + 25 * std::cos(b), 600.7 + 25 * std::sin(b), 2.1, 2e-5,
                                     SegmentKind::kLoop));
  }
  const Picture cover = coverage(renderer_, state, {850, 550, 100, 100});
  const Moments m = momentsOf(cover);
  EXPECT_NEAR(m.x, 900.3, 0.02);
  EXPECT_NEAR(m.y, 600.7, 0.02);
  const double perimeter = 24 * 2 * 25 * std::sin(kPi / 24);
  EXPECT_NEAR(m.mass / (perimeter * 4.2), 1, 0.01);
  cover.each([](int, int, double v) { ASSERT_LT(v, 1.0005); });
}

TEST_P(Bodies, HideWhatLiesBehindThem) {
  // A long bar that comes toward the camera crosses another; at the crossing it is the nearer one although
  // its mean depth is greater.
  SceneState state;
  Segment slanted = between(600, 700, 1000, 700, 8, 0);
  slanted.a = worldPoint(camera_, 600, 700, 9e-4);
  slanted.b = worldPoint(camera_, 1000, 700, -1e-4);
  slanted.reflectance = 0.3;
  Segment level = between(950, 600, 950, 800, 8, 1e-4, SegmentKind::kThread);
  level.reflectance = 0.0;
  for (const bool first : {true, false}) {
    state.segments = first ? std::vector<Segment>{slanted, level} : std::vector<Segment>{level, slanted};
    EXPECT_GT(reflectance(renderer_, state, {950, 700, 1, 1}).values[0], 0.28);
  }
}

TEST_P(Bodies, AreNotSeenBelowTheSurface) {
  SceneState state;
  state.segments.push_back({{0, 0, -1e-5}, {2e-4, 0, -2e-4}, 2e-5, 2e-5, 0.1, SegmentKind::kNeedle});
  const Picture buried = reflectance(renderer_, state, {600, 600, 900, 900});
  buried.each([](int, int, double v) { ASSERT_NEAR(v, 0.5, 1e-3); });
}

TEST_P(Bodies, AreCutWhereTheyPierceTheSurface) {
  // The visible outline of a vertical shank that enters the tissue, by following rays: a pixel shows the
  // shank when the place where its ray meets the cylinder first is above the surface.
  const double surface = 12e-6;
  SceneState state;
  state.tissueShiftM = {0, 0, surface};
  const double radius = 20e-6;
  state.segments.push_back({{0, 0, 2e-3}, {0, 0, -5e-4}, radius, radius, 0.1, SegmentKind::kNeedle});
  // Focus on the place of entry, so that the outline is sharp.
  state.cameras[0].focusM = View(camera_, CameraState{}).project({0, 0, surface}).depthM;
  const View view(camera_, state.cameras[0]);
  const Region region{980, 1100, 90, 200};
  const Picture cover = coverage(renderer_, state, region);
  double traced = 0, drawn = 0;
  Moments tracedMoments;
  const auto& [right, down, forward] = view.rows();
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (int x = region.x; x < region.x + region.width; ++x) {
      drawn += cover.at(x, y);
      for (int sub = 0; sub < 16; ++sub) {
        const double px = x + (sub % 4 + 0.5) / 4 - 0.5, py = y + (sub / 4 + 0.5) / 4 - 0.5;
        const Vec3 start = add(view.focalPoint(),
                               add(scale(right, (px - 1024) * kScale), scale(down, (py - 1024) * kScale)));
        // |start_xy + t forward_xy| = radius, the nearer root.
        const double a = forward[0] * forward[0] + forward[1] * forward[1];
        const double b = start[0] * forward[0] + start[1] * forward[1];
        const double c = start[0] * start[0] + start[1] * start[1] - radius * radius;
        if (b * b < a * c) continue;
        const double t = (-b - std::sqrt(b * b - a * c)) / a;
        if (start[2] + t * forward[2] > surface) traced += 1.0 / 16;
      }
    }
  }
  EXPECT_NEAR(drawn / traced, 1, 0.01);
  // Nothing below the lowest point of the outline: axis at the surface, plus the radius seen under the
  // elevation.
  const double lowest = view.project({0, 0, surface}).y + radius / kScale * std::sin(35 * kPi / 180);
  for (int x = region.x; x < region.x + region.width; ++x)
    EXPECT_LT(cover.at(x, static_cast<int>(std::ceil(lowest + 4))), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Models, Bodies, ::testing::Values(ImageModel::kGaussian, ImageModel::kDisc),
                         [](const auto& each) {
                           return each.param == ImageModel::kDisc ? "Disc" : "Gaussian";
                         });

TEST(Models, DifferInTheirPointSpread) {
  // Three sigma from an edge a Gaussian still has something, a disc has nothing.
  SceneState state;
  const CameraScene camera = flatScene().cameras[0];
  state.segments.push_back({worldPoint(camera, 900, 400, 0), worldPoint(camera, 900, 900, 0), 20 * kScale,
                            20 * kScale, 0.1, SegmentKind::kNeedle});
  const Region region{922, 650, 1, 1};  // 2 px = 2.5 sigma outside
  EXPECT_GT(coverage(rendererOf(ImageModel::kGaussian), state, region).values[0], 4e-3);
  EXPECT_EQ(coverage(rendererOf(ImageModel::kDisc), state, region).values[0], 0);
}

}  // namespace
}  // namespace surgiclaw::optics
