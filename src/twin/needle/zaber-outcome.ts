/** What a command of the Zaber ASCII protocol ends in, and the scales of its data. */

/** maxspeed: data per microstep/s. accel: data per microstep/s². (ASCII protocol manual) */
export const speedScale = 1.6384;
export const accelerationScale = 1.6384e-4;

export type RejectReason =
  | ("AGAIN" | "BADAXIS" | "BADCOMMAND" | "BADDATA" | "BADMESSAGEID" | "DEVICEONLY")
  | ("DRIVERDISABLED" | "NOACCESS" | "PARKED" | "STATUSBUSY");

/** Data of an accepted command (0 unless given) with lines of information after it, or the reason of a rejection. */
export type Outcome =
  { readonly data?: string; readonly info?: readonly string[] } | { readonly reject: RejectReason };

export const fine: Outcome = {};
export const reject = (reason: RejectReason): { readonly reject: RejectReason } => ({ reject: reason });
