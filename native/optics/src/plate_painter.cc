#include "plate_painter.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "edge_spread.h"

namespace surgiclaw::optics {
namespace {

/// Below this cosine the plate is seen from behind or edge-on, and shows its dark side.
constexpr double kFaces = 0.05;
constexpr int kBlock = 16;
constexpr double kSmoothPx = 16;
constexpr int kStep = 4;

/// The pattern along one coordinate, by square: whether there is one, and its sign. A square is dark where
/// the signs of both coordinates agree.
double present(int square, int squares) { return square >= 0 && square < squares ? 1 : 0; }
double sign(int square, int squares) {
  return square >= 0 && square < squares ? (square % 2 == 0 ? 1 : -1) : 0;
}

struct Means {
  double present, sign;
};

/// Means over a point spread with distribution function `below` (in units of `sigma` squares) about `at`.
template <typename Below>
Means meansOf(double at, double sigma, double reach, int squares, Below below) {
  const int first = static_cast<int>(std::floor(at - reach * sigma));
  const int last = static_cast<int>(std::floor(at + reach * sigma));
  Means means{0, 0};
  double before = 0;
  for (int square = first; square <= last; ++square) {
    const double after = square == last ? 1 : below((square + 1 - at) / sigma);
    means.present += (after - before) * present(square, squares);
    means.sign += (after - before) * sign(square, squares);
    before = after;
  }
  return means;
}

/// The same where the point spread reaches no further than the neighbouring squares.
template <typename Edge>
Means nearMeans(double at, double perSigma, int squares) {
  const double whole = std::floor(at), fraction = at - whole;
  const int square = static_cast<int>(whole);
  const auto left = static_cast<double>(Edge::at(static_cast<float>(fraction * perSigma)));
  const auto right = static_cast<double>(Edge::at(static_cast<float>((1 - fraction) * perSigma)));
  const double own = left + right - 1;
  return {own * present(square, squares) + (1 - left) * present(square - 1, squares) +
              (1 - right) * present(square + 1, squares),
          own * sign(square, squares) + (1 - left) * sign(square - 1, squares) +
              (1 - right) * sign(square + 1, squares)};
}

/// How much oftener than independent ones two correlated Gaussians are both below h and k: the integral of
/// their density over the correlation, from 0 (Drezner and Wesolowsky 1990), by Gauss and Legendre.
double together(double h, double k, double correlation) {
  constexpr double kNodes[3] = {0.1127016653792583, 0.5, 0.8872983346207417};
  constexpr double kWeights[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  constexpr double kPerTurn = 0.15915494309189535;
  double sum = 0;
  for (int n = 0; n < 3; ++n) {
    const double r = correlation * kNodes[n], rest = 1 - r * r;
    sum += kWeights[n] * std::exp(-(h * h - 2 * h * k * r + k * k) / (2 * rest)) / std::sqrt(rest);
  }
  return sum * correlation * kPerTurn;
}

/// What is left of a Gaussian along a chord: a Gaussian.
struct GaussianChord {
  static constexpr double kReach = 5;
  static double below(double z, double) {
    return static_cast<double>(GaussianEdge::at(static_cast<float>(z)));
  }
  /// Half length of the chord at t; of a Gaussian all chords are alike.
  static double half(double) { return 1; }
};

/// Of a disc of radius 2: a uniform distribution on the chord.
struct DiscChord {
  static constexpr double kReach = 1;
  static double below(double z, double) { return std::clamp(0.5 * (z + 1), 0.0, 1.0); }
  static double half(double t) { return std::sqrt(std::max(4 - t * t, 1e-9)); }
};

}  // namespace

bool PlatePainter::Coordinate::lineIn(double low, double high, double reach) const {
  if (low > high) std::swap(low, high);
  const double first = std::max(std::ceil(low - reach), 0.0);
  return first <= high + reach && first <= squares;
}

bool PlatePainter::Coordinate::outside(double a, double b, double reach) const {
  return std::max(a, b) < -reach || std::min(a, b) > squares + reach;
}

void PlatePainter::prepare(const Plate& plate, const View& view, double dofM) {
  const auto& [right, down, forward] = view.rows();
  const Vec3 normal = cross(plate.uAxis, plate.vAxis);
  white_ = plate.white;
  black_ = plate.black;
  depth_.reset();
  if (dot(normal, forward) > -kFaces) return;
  dofM_ = dofM;
  depth_.emplace(view, plate.origin, normal);
  // Pixels per metre of u and v, and the inverse: squares per pixel.
  const double s = view.metresPerPixel();
  const double xu = dot(right, plate.uAxis) / s, xv = dot(right, plate.vAxis) / s;
  const double yu = dot(down, plate.uAxis) / s, yv = dot(down, plate.vAxis) / s;
  const double determinant = (xu * yv - xv * yu) * plate.pitchM;
  const ImagePoint origin = view.project(plate.origin);
  const auto coordinate = [&](double perColumn, double perRow, int corners) {
    const int squares = corners + 1;
    return Coordinate{squares / 2.0 - perColumn * origin.x - perRow * origin.y, perColumn, perRow,
                      std::hypot(perColumn, perRow), squares};
  };
  u_ = coordinate(yv / determinant, -xv / determinant, plate.columns);
  v_ = coordinate(-yu / determinant, xu / determinant, plate.rows);
  along_ = (u_.perColumn * v_.perColumn + u_.perRow * v_.perRow) / (u_.slope * v_.slope);
}

/// Share of a pixel's point spread that lies on dark squares.
template <typename Edge, typename Chord>
double PlatePainter::dark(double u, double v, double sigmaPx) const {
  const auto reach = static_cast<double>(Edge::kReach);
  const auto below = [](double x) { return static_cast<double>(Edge::at(static_cast<float>(x))); };
  const double sigmaU = sigmaPx * u_.slope, sigmaV = sigmaPx * v_.slope;
  if (std::max(sigmaU, sigmaV) * reach >= 1 || std::abs(along_) > 0.6) {
    // Blurred beyond the neighbouring squares: nobody measures there, and both coordinates pass as
    // independent.
    const Means a = meansOf(u, sigmaU, reach, u_.squares, below);
    const Means b = meansOf(v, sigmaV, reach, v_.squares, below);
    return 0.5 * (a.present * b.present + a.sign * b.sign);
  }
  if (std::is_same_v<Edge, GaussianEdge>) {
    const Means a = nearMeans<Edge>(u, 1 / sigmaU, u_.squares),
                b = nearMeans<Edge>(v, 1 / sigmaV, v_.squares);
    double sum = a.present * b.present + a.sign * b.sign;
    // Where lines cross at another than a right angle, the two are not independent; only the nearest
    // crossings count.
    const double lineU = std::floor(u), lineV = std::floor(v);
    for (int i = 0; i < 2; ++i) {
      const double h = (u - lineU - i) / sigmaU;
      if (std::abs(h) > reach) continue;
      const int squareU = static_cast<int>(lineU) + i;
      const double stepPresentU = present(squareU, u_.squares) - present(squareU - 1, u_.squares);
      const double stepSignU = sign(squareU, u_.squares) - sign(squareU - 1, u_.squares);
      for (int j = 0; j < 2; ++j) {
        const double k = (v - lineV - j) / sigmaV;
        if (h * h + k * k > reach * reach) continue;
        const int squareV = static_cast<int>(lineV) + j;
        const double steps =
            stepPresentU * (present(squareV, v_.squares) - present(squareV - 1, v_.squares)) +
            stepSignU * (sign(squareV, v_.squares) - sign(squareV - 1, v_.squares));
        if (steps != 0) sum += steps * together(h, k, along_);
      }
    }
    return 0.5 * sum;
  }
  const bool nearU = u_.lineIn(u, u, reach * sigmaU), nearV = v_.lineIn(v, v, reach * sigmaV);
  if (!nearU || !nearV) {
    const Means a = nearMeans<Edge>(u, 1 / sigmaU, u_.squares),
                b = nearMeans<Edge>(v, 1 / sigmaV, v_.squares);
    return 0.5 * (a.present * b.present + a.sign * b.sign);
  }
  // Over chords along the first family of lines: there u is constant, and v runs over what is left of the
  // point spread.
  const double across = std::sqrt(std::max(1 - along_ * along_, 1e-6));
  double sum = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    const double from = reach * (2.0 * bin / kBins - 1), to = reach * (2.0 * (bin + 1) / kBins - 1);
    const double middle = 0.5 * (from + to);
    // Exact weights of the bin's parts on either side of a line.
    Means mine{0, 0};
    double low = bin == 0 ? 0 : below(from), edge = u + from * sigmaU;
    const double last = u + to * sigmaU;
    while (edge < last) {
      const int square = static_cast<int>(std::floor(edge));
      const double next = std::min<double>(square + 1, last);
      const double high = bin == kBins - 1 && next == last ? 1 : below((next - u) / sigmaU);
      mine.present += (high - low) * present(square, u_.squares);
      mine.sign += (high - low) * sign(square, u_.squares);
      low = high;
      edge = next;
    }
    const double half = Chord::half(middle);
    const Means other = meansOf(v + sigmaV * along_ * middle, sigmaV * across * half, Chord::kReach,
                                v_.squares, [half](double z) { return Chord::below(z, half); });
    sum += mine.present * other.present + mine.sign * other.sign;
  }
  return 0.5 * sum;
}

float PlatePainter::pixel(double u, double v, double sigmaPx) const {
  const double share = model_ == ImageModel::kDisc ? dark<DiscEdge, DiscChord>(u, v, sigmaPx)
                                                   : dark<GaussianEdge, GaussianChord>(u, v, sigmaPx);
  return static_cast<float>(white_ + share * (black_ - white_));
}

void PlatePainter::row(int y, int x, int count, float* reflectance) const {
  if (!depth_) {
    std::fill_n(reflectance, count, static_cast<float>(black_));
    return;
  }
  const double reach =
      static_cast<double>(model_ == ImageModel::kDisc ? DiscEdge::kReach : GaussianEdge::kReach);
  for (int begin = 0; begin < count; begin += kBlock) {
    const int end = std::min(count, begin + kBlock);
    const double sigma = blurSigmaPx(depth_->at(x + 0.5 * (begin + end - 1), y), dofM_);
    const double u0 = u_.at(x + begin, y), u1 = u_.at(x + end - 1, y);
    const double v0 = v_.at(x + begin, y), v1 = v_.at(x + end - 1, y);
    // Beyond the border the plate is plain, whichever line would go on there.
    if (u_.outside(u0, u1, reach * sigma * u_.slope) || v_.outside(v0, v1, reach * sigma * v_.slope)) {
      std::fill_n(reflectance + begin, end - begin, static_cast<float>(white_));
      continue;
    }
    if (!u_.lineIn(u0, u1, reach * sigma * u_.slope) && !v_.lineIn(v0, v1, reach * sigma * v_.slope)) {
      const int i = static_cast<int>(std::floor(u0)), j = static_cast<int>(std::floor(v0));
      const bool darkSquare = present(i, u_.squares) * present(j, v_.squares) > 0 && (i + j) % 2 == 0;
      std::fill_n(reflectance + begin, end - begin, static_cast<float>(darkSquare ? black_ : white_));
      continue;
    }
    const auto at = [&](int i) {
      return pixel(u_.at(x + i, y), v_.at(x + i, y), blurSigmaPx(depth_->at(x + i, y), dofM_));
    };
    if (sigma < kSmoothPx) {
      for (int i = begin; i < end; ++i) reflectance[i] = at(i);
      continue;
    }
    // So smooth that every fourth pixel tells the others to a part in five hundred.
    float before = at(begin);
    for (int i = begin; i < end; i += kStep) {
      const float after = at(i + kStep);
      for (int k = 0; k < std::min(kStep, end - i); ++k)
        reflectance[i + k] = before + (after - before) * static_cast<float>(k) / kStep;
      before = after;
    }
  }
}

}  // namespace surgiclaw::optics
