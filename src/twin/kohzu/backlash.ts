/**
 * Backlash correction as the controller does it (system settings 11 and 12). Types 1 and 2 put out extra pulses, which the
 * counter does not show, before a move that turns around: type 1 counts the CW side as the good one, type 2 the CCW side,
 * so that the extra pulses of one turn are taken back at the other (our reading: otherwise the counter would drift).
 * Types 3 and 4 run past the target after every CCW or CW move and come back onto it.
 */

export interface Correction {
  /** Pulses put out before the move, not counted; signed. */
  readonly before: number;
  /** The move first goes this far past its target; signed. */
  readonly past: number;
}

const none: Correction = { before: 0, past: 0 };

/** @param last direction of the last move, 0 if there was none */
export function backlashCorrection(
  type: number,
  pulses: number,
  direction: number,
  last: number,
): Correction {
  if (pulses === 0 || direction === 0) return none;
  if ((type === 1 || type === 2) && last !== 0 && last !== direction)
    return { before: direction * pulses, past: 0 };
  if ((type === 3 && direction < 0) || (type === 4 && direction > 0))
    return { before: 0, past: direction * pulses };
  return none;
}
