#include "needle.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "surgiclaw/surgworld/mjcf.h"

namespace surgiclaw::surgworld {

Eigen::Vector3d Needle::onArc(double angle) {
  return {kRadius * (std::cos(angle) - 1), kRadius * std::sin(angle), 0};
}

std::string Needle::bodies() {
  constexpr int kPieces = 6;
  std::ostringstream out;
  out << "<body name='needle'>" << kSlenderJoint << "";
  for (int i = 0; i < kPieces; i++) {
    const Eigen::Vector3d a = onArc(-kHalfAngle + 2 * kHalfAngle * i / kPieces);
    const Eigen::Vector3d b = onArc(-kHalfAngle + 2 * kHalfAngle * (i + 1) / kPieces);
    out << "<geom type='capsule' fromto='" << a.x() << ' ' << a.y() << " 0 " << b.x() << ' ' << b.y()
        << " 0' size='" << kThickness << "' mass='0.004' material='"
        << (i == kPieces - 1 ? "yellow" : "steel") << "' condim='4' friction='1 0.02 0.001'" << kLoose
        << "/>";
  }
  out << "</body>";
  return out.str();
}

void Needle::lay(Physics& physics, double x, double y, double yaw) const {
  physics.place(body_, {x, y, kThickness},
                Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ())));
}

Eigen::Vector3d Needle::at(const Physics& physics, double share) const {
  return physics.position(body_) + physics.orientation(body_) * onArc(share * kHalfAngle);
}

double Needle::distance(const Physics& physics, const Eigen::Vector3d& from) const {
  const Eigen::Vector3d local = physics.orientation(body_).conjugate() * (from - physics.position(body_));
  const double angle = std::clamp(std::atan2(local.y(), local.x() + kRadius), -kHalfAngle, kHalfAngle);
  return (local - onArc(angle)).norm();
}

double Needle::clearance(const Physics& physics) const {
  double lowest = at(physics, -1).z();
  for (const double share : {-0.5, 0.0, 0.5, 1.0}) lowest = std::min(lowest, at(physics, share).z());
  return lowest - kThickness;
}

Eigen::Vector3d Needle::heading(const Physics& physics) const {
  return physics.orientation(body_) * Eigen::Vector3d(-std::sin(kHalfAngle), std::cos(kHalfAngle), 0);
}

}  // namespace surgiclaw::surgworld
