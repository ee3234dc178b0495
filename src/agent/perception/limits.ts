/** When an image counts as usable. Data of the cell's configuration; these are its defaults. */
export interface PerceptionLimits {
  /** Grey levels 0…255 of the mean of the frame. */
  readonly meanLow: number;
  readonly meanHigh: number;
  /** Largest share of pixels at full scale, and at black. */
  readonly maxClippedHigh: number;
  readonly maxClippedLow: number;
  /** Largest sigma of the needle's edge spread near the tip, px. */
  readonly maxEdgeSigmaPx: number;
  /** Smallest confidence at which a needle counts as seen. */
  readonly minConfidence: number;
  /** Largest sigma of the tip's position, px. */
  readonly maxTipSigmaPx: number;
}

export const defaultPerceptionLimits: PerceptionLimits = {
  meanLow: 60,
  meanHigh: 190,
  maxClippedHigh: 0.01,
  maxClippedLow: 0.05,
  // In focus 0.8 px; 1.44 px at the end of the depth of field (50 µm).
  maxEdgeSigmaPx: 2.5,
  minConfidence: 0.5,
  maxTipSigmaPx: 2,
};
