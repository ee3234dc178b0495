// Candidate implantation sites: textured tissue away from vessels, dust and marks.
#pragma once

#include <vector>

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

struct SiteCandidate {
  double x = 0;
  double y = 0;
  double vesselDistancePx = 0;  ///< To the nearest vessel-like or foreign structure, px.
  double texture =
      0;  ///< Local texture for tracking, grey levels (RMS of the band-passed image): higher is better.
};

struct SiteOptions {
  int gridPx = 32;  ///< Spacing of the candidates.
  double vesselWidthPx =
      80;                  ///< Structures up to about this width count as vessels or dust; shading does not.
  double minContrast = 7;  ///< Least grey-level step that makes a structure.
  double minDistancePx = 0;  ///< Candidates nearer than this to a structure are left out.
};

/// Candidates on a grid inside the region (whole frame when empty), best first: by distance, then texture.
std::vector<SiteCandidate> findSites(const ImageView& image, const Roi& roi, const SiteOptions& options = {});

}  // namespace surgiclaw::geometry
