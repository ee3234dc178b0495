/**
 * Mechanics of one flexible electrode: an elastic ring at the end of a thread. It lies on the cartridge, is threaded by
 * the hook, peels off, rides on the hook, slips, tears, is left in the tissue or dragged out again: each by contact
 * geometry and force, never by what a controller believes. Pure: `step(now, loop, contact)`.
 *
 * The figures are assumptions of the twin in the range of thin-film probes (newtons): what matters is their order,
 * peel < slip < grip in tissue < tear.
 */
import { add, distance, dot, norm, scale, subtract, type Vec3 } from "../base/transform.js";

export const electrodeForces = {
  /** Stiffness of thread and adhesive while the ring still lies on the cartridge, N/m. */
  cartridgeStiffness: 30,
  /** The adhesive lets go, N. */
  peel: 4.5e-4,
  /** Pull towards the tip at which the ring slides off the barb, N. */
  slip: 1.0e-3,
  /** Drag of the thread as it pays out, N and N·s/m (away from the stroke, which outruns nothing). */
  threadTension: 1.0e-4,
  threadDrag: 0.02,
  tear: 8e-3,
  /** Grip of tissue per metre of depth once it has closed around the ring, N/m, and how fast it closes, s. */
  tissueGrip: 4.0,
  tissueCloseS: 0.02,
} as const;

export type LoopState =
  | { readonly kind: "cartridge"; readonly displacement: Vec3; readonly threaded: boolean }
  | { readonly kind: "hooked" }
  /** Lost from hook and cartridge; stays where it slipped, cartridge frame. */
  | { readonly kind: "loose"; readonly position: Vec3 }
  /** In tissue: material position (u, v, depth), m. */
  | { readonly kind: "implanted"; readonly u: number; readonly v: number; readonly depthM: number }
  | { readonly kind: "torn" };

/** What the loop feels now. Positions in the cartridge frame, where the ring stands in y-z with its opening along x. */
export interface LoopContact {
  /** Middle of the barb's free end, cartridge frame, m. */
  readonly barbEnd: Vec3;
  /** From the needle's axis to the barb's end, unit, cartridge frame. */
  readonly barbDirection: Vec3;
  /** Along the needle toward its tip, unit, cartridge frame. */
  readonly needleDirection: Vec3;
  /** Speed of the hook against the cartridge, m/s, cartridge frame. */
  readonly velocity: Vec3;
  /** Depth of the ring's middle below the surface, m; negative above. */
  readonly depthM: number;
  /** How long the hook has been deeper than half of that without moving, s. */
  readonly dwellS: number;
  /** Speed along the needle, positive into the tissue, m/s. */
  readonly strokeSpeed: number;
  /** Material point in which a ring left now would lie. */
  readonly material: readonly [number, number];
  readonly hookPresent: boolean;
}

export interface LoopGeometry {
  /** Middle of the opening on the cartridge, cartridge frame. */
  readonly home: Vec3;
  readonly innerY: number;
  readonly innerZ: number;
  readonly wireM: number;
  readonly barbThicknessM: number;
  /** Free length of the barb beyond the shank, m. */
  readonly barbFreeM: number;
}

export interface LoopStep {
  readonly state: LoopState;
  readonly event?: "threaded" | "unthreaded" | "hooked" | "slipped" | "torn" | "released" | "dragged-out";
}

/** One step of the ring's mechanics. */
export function stepLoop(state: LoopState, geometry: LoopGeometry, contact: LoopContact): LoopStep {
  switch (state.kind) {
    case "torn":
    case "implanted":
    case "loose":
      return { state };
    case "cartridge":
      return stepOnCartridge(state, geometry, contact);
    case "hooked":
      return stepOnHook(state, geometry, contact);
  }
}

function stepOnCartridge(
  state: LoopState & { kind: "cartridge" },
  geometry: LoopGeometry,
  contact: LoopContact,
): LoopStep {
  if (!contact.hookPresent) return { state };
  const ring = add(geometry.home, state.displacement);
  const offset = subtract(contact.barbEnd, ring);
  const playY = (geometry.innerY - geometry.barbThicknessM) / 2;
  const playZ = (geometry.innerZ - geometry.barbThicknessM) / 2;
  // How far the barb's end stands beyond the ring's plane, along the barb.
  const beyond = offset[0] * Math.sign(contact.barbDirection[0] || 1);

  if (!state.threaded) {
    const inOpening = Math.abs(offset[1]) <= playY && Math.abs(offset[2]) <= playZ;
    const atRing =
      Math.abs(offset[1]) <= playY + geometry.barbThicknessM + geometry.wireM &&
      Math.abs(offset[2]) <= playZ + geometry.barbThicknessM + geometry.wireM;
    if (beyond > 0.35 * geometry.barbFreeM && inOpening && beyond < geometry.barbFreeM + 3e-5)
      return { state: { ...state, threaded: true }, event: "threaded" };
    if (beyond > 0 && beyond < 3e-5 && atRing && !inOpening) {
      // The barb presses on the wire and pushes the ring ahead of it; it springs back once the barb leaves.
      const displacement: Vec3 = [
        state.displacement[0] + offset[0] * 0.5,
        state.displacement[1],
        state.displacement[2],
      ];
      return { state: { ...state, displacement: limited(displacement, 4e-5) } };
    }
    return { state: { ...state, displacement: scale(state.displacement, 0.8) } };
  }

  // Threaded: the ring follows once the play is used up, and leaves the barb when this backs out of the plane.
  if (beyond < 0)
    return { state: { kind: "cartridge", displacement: [0, 0, 0], threaded: false }, event: "unthreaded" };
  const follow: Vec3 = [
    Math.max(0, beyond - geometry.barbFreeM) * Math.sign(contact.barbDirection[0] || 1),
    beyondPlay(offset[1], playY),
    beyondPlay(offset[2], playZ),
  ];
  const displacement = add(state.displacement, follow);
  const force = electrodeForces.cartridgeStiffness * norm(displacement);
  if (force > electrodeForces.tear) return { state: { kind: "torn" }, event: "torn" };
  if (force > electrodeForces.peel) {
    const pull = force + electrodeForces.threadDrag * norm(contact.velocity);
    if (pull > electrodeForces.slip)
      return { state: { kind: "cartridge", displacement: [0, 0, 0], threaded: false }, event: "slipped" };
    return { state: { kind: "hooked" }, event: "hooked" };
  }
  return { state: { ...state, displacement } };
}

function stepOnHook(state: LoopState, geometry: LoopGeometry, contact: LoopContact): LoopStep {
  const ringAt = subtract(contact.barbEnd, scale(contact.barbDirection, geometry.barbFreeM / 2));
  const speed = norm(contact.velocity);
  const inTissue = contact.depthM > 0;
  if (!contact.hookPresent) return { state: { kind: "loose", position: ringAt }, event: "slipped" };
  const tension = electrodeForces.threadTension + electrodeForces.threadDrag * speed;
  if (inTissue) {
    // Going in, the barb drives the ring by positive contact. Coming out, tissue holds the ring back.
    if (contact.strokeSpeed < -1e-4) {
      const grip =
        electrodeForces.tissueGrip *
        contact.depthM *
        (1 - Math.exp(-contact.dwellS / electrodeForces.tissueCloseS));
      if (grip > electrodeForces.slip)
        return {
          state: {
            kind: "implanted",
            u: contact.material[0],
            v: contact.material[1],
            depthM: contact.depthM,
          },
          event: "released",
        };
    }
    return { state };
  }
  // In air the thread pulls back toward the cartridge: toward the tip it slides the ring off, else it only tears it.
  const towardTip = -dot(unitOr(contact.velocity), contact.needleDirection);
  if (tension > electrodeForces.tear) return { state: { kind: "torn" }, event: "torn" };
  if (towardTip > 0.5 && tension > electrodeForces.slip && distance(ringAt, geometry.home) > 1e-4)
    return { state: { kind: "loose", position: ringAt }, event: "slipped" };
  return { state };
}

const beyondPlay = (offset: number, play: number): number =>
  Math.sign(offset) * Math.max(0, Math.abs(offset) - play);

function limited(v: Vec3, length: number): Vec3 {
  const size = norm(v);
  return size > length ? scale(v, length / size) : v;
}

const unitOr = (v: Vec3): Vec3 => (norm(v) > 1e-9 ? scale(v, 1 / norm(v)) : [0, 0, 0]);
