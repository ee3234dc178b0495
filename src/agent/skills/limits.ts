/** Thresholds and working distances of the skills: the published success criteria (strictly less), and our own margins. */
export const published = {
  /** skill-agent.md 10. */
  treM: 0.5e-3,
  localisationM: 0.1e-3,
  alignAngleRad: (2 * Math.PI) / 180,
  alignErrorM: 5e-6,
  insertAngleRad: (5 * Math.PI) / 180,
  landingM: 30e-6,
} as const;

export const working = {
  /**
   * Share of the published alignment error up to which a measured one is accepted: the true error adds what tip and
   * resting site were measured off by, up to 2.5 µm together under load.
   */
  alignAcceptShare: 0.6,
  /**
   * Once registered, the views agree about a target to a micrometre or two. Where they differ by more than this, m, its two
   * picks are not of the same tissue, and it lies somewhere else than they say.
   */
  viewsAgreeM: 2e-5,
  /** Tip above the site along the planned axis when aligned, m. */
  standoffM: 0.3e-3,
  /** Height of the tip above the site for moves across and turns of the head, m. */
  clearanceM: 0.55e-3,
  /** Default depth of the electrode, m. */
  depthM: 0.6e-3,
  /** The arm turns the head by at most this in one step, rad. */
  turnStepRad: 0.06,
  /** Turning ends below this angle, rad. */
  turnDoneRad: 0.0035,
  /** Needle edges blurred less than this count as sharp, px. */
  sharpSigmaPx: 3.2,
  /** The tip is brought into focus again above this, px. */
  refocusSigmaPx: 2.0,
  /** Exposure: wanted mean, band around it, and share of clipped pixels, grey levels and 1. */
  meanTarget: 110,
  meanBand: [75, 150] as readonly [number, number],
  clippedShare: 0.01,
  blackLevel: 6,
  /** Tracking a site takes this long: three breaths at 1 Hz and a little. */
  siteTrackS: 3.2,
  consecutive: 3,
  arm: { speedMS: 0.02, accelerationMS2: 0.1, speedRadS: 0.5, accelerationRadS2: 1.0 },
  /** Stroke of the needle drive. */
  stroke: {
    speedMS: 0.05,
    accelerationMS2: 4,
    dwellS: 0.25,
    retractSpeedMS: 0.1,
    retractAccelerationMS2: 20,
  },
  /** What the needle's motions must show while they last; far slower than any of them, far quicker than a deadline. */
  needleProgress: { leastM: 20e-6, withinS: 1, arrivalM: 15e-6 },
} as const;
