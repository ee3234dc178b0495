/** The bodies that the microscopes see, as tapered capsules in the world: needle with hook, loops, threads, cartridge. */
import type { CellFile } from "../base/cell-file.js";
import { add, apply, rotate, scale, unit, type Transform, type Vec3 } from "../base/transform.js";
import type { LoopState } from "./electrode.js";
import { loopInCartridge, tissueToWorld, type TrueTissue } from "./true-cell.js";

export type SegmentKind = "needle" | "hook" | "loop" | "thread" | "cartridge";

export interface Segment {
  readonly a: Vec3;
  readonly b: Vec3;
  readonly radiusA: number;
  readonly radiusB: number;
  readonly reflectance: number;
  readonly kind: SegmentKind;
}

const tungsten = 0.12;
const polymer = 0.2;
const holder = 0.26;
/** Visible length of the shank, m. */
const shankM = 0.006;
const brokenM = 0.0004;

/** Needle and hook for a tip frame in the world; a broken needle has lost its end and the hook with it. */
export function needleSegments(file: CellFile, tip: Transform, broken: boolean): Segment[] {
  const { shankDiameterM, tipDiameterM, taperM, tipRadiusM, hookHeightM, hookReachM, hookThicknessM } =
    file.needle;
  const at = (z: number, x = 0): Vec3 => apply(tip, [x, 0, z]);
  const shank = shankDiameterM / 2;
  const core = tipDiameterM / 2;
  const segment = (from: number, to: number, ra: number, rb: number): Segment => ({
    a: at(from),
    b: at(to),
    radiusA: ra,
    radiusB: rb,
    reflectance: tungsten,
    kind: "needle",
  });
  if (broken) return [segment(-shankM, -brokenM - shank, shank, shank)];
  const nose = tipRadiusM;
  const barb = hookThicknessM / 2;
  return [
    segment(-shankM, -taperM, shank, shank),
    segment(-taperM, -(core + 1.5 * nose), shank, core),
    // The round end of the last capsule reaches exactly to z = 0: the foremost point is the tip.
    segment(-(core + 1.5 * nose), -nose, core, nose),
    {
      a: at(-hookHeightM),
      b: at(-hookHeightM, hookReachM - barb),
      radiusA: barb,
      radiusB: barb,
      reflectance: tungsten,
      kind: "hook",
    },
  ];
}

/** The ring around `centre`, standing in the plane of directions `y` and `z` (unit, world). */
function ringSegments(file: CellFile, centre: Vec3, y: Vec3, z: Vec3): Segment[] {
  const wire = file.cartridge.wireM / 2;
  const halfY = file.cartridge.ringInnerM.y / 2 + wire;
  const halfZ = file.cartridge.ringInnerM.z / 2 + wire;
  const count = 12;
  const point = (i: number): Vec3 => {
    const angle = (2 * Math.PI * i) / count;
    return add(centre, add(scale(y, halfY * Math.cos(angle)), scale(z, halfZ * Math.sin(angle))));
  };
  return Array.from({ length: count }, (_, i) => ({
    a: point(i),
    b: point(i + 1),
    radiusA: wire,
    radiusB: wire,
    reflectance: polymer,
    kind: "loop" as const,
  }));
}

function thread(a: Vec3, b: Vec3, radius: number): Segment {
  return { a, b, radiusA: radius, radiusB: radius, reflectance: polymer, kind: "thread" };
}

/** Loops and threads in their states, and the cartridge's edge. `cartridge` and `tip` are poses in the world. */
export function electrodeSegments(
  file: CellFile,
  loops: readonly LoopState[],
  cartridge: Transform,
  tip: Transform,
  tissue: TrueTissue,
  shift: Vec3,
): Segment[] {
  const result: Segment[] = [];
  const { ribbonLengthM, ribbonWidthM } = file.cartridge;
  const y = rotate(cartridge.rotation, [0, 1, 0]);
  const z = rotate(cartridge.rotation, [0, 0, 1]);
  const halfRing = file.cartridge.ringInnerM.y / 2 + file.cartridge.wireM;
  const ribbon = ribbonWidthM / 2;
  loops.forEach((state, k) => {
    const home = loopInCartridge(file, k);
    const anchor = apply(cartridge, add(home, [0, ribbonLengthM, 0]));
    if (state.kind === "cartridge" || state.kind === "loose") {
      const at = state.kind === "cartridge" ? add(home, state.displacement) : state.position;
      const centre = apply(cartridge, at);
      result.push(...ringSegments(file, centre, y, z));
      result.push(thread(add(centre, scale(y, halfRing + ribbon)), anchor, ribbon));
    } else if (state.kind === "hooked") {
      const barb = (file.needle.tipDiameterM / 2 + file.needle.hookReachM) / 2;
      const centre = apply(tip, [barb, 0, -file.needle.hookHeightM]);
      const across = rotate(tip.rotation, [0, 1, 0]);
      const along = rotate(tip.rotation, [0, 0, 1]);
      result.push(...ringSegments(file, centre, across, along));
      // The peeled thread stands on edge, a third of the ribbon's width, and sags a little toward the tissue.
      const leave = add(centre, scale(across, halfRing));
      const middle = add(scale(add(leave, anchor), 0.5), [0, 0, -5e-5]);
      result.push(thread(leave, middle, ribbon / 3), thread(middle, anchor, ribbon / 3));
    } else if (state.kind === "implanted") {
      // What is left of the thread lies on the tissue behind the entry.
      const entry = add(
        tissueToWorld(tissue, state.u, state.v),
        add(shift, scale(tissue.normal, ribbon / 3)),
      );
      result.push(thread(entry, add(entry, scale(tissue.vAxis, -4e-4)), ribbon / 3));
    }
  });
  const first = loopInCartridge(file, 0);
  const last = loopInCartridge(file, file.cartridge.loops - 1);
  const radius = 2.5e-4;
  const along = unit(rotate(cartridge.rotation, file.cartridge.pitchM));
  result.push({
    a: add(apply(cartridge, add(first, [0, ribbonLengthM + radius, 0])), scale(along, -5e-4)),
    b: add(apply(cartridge, add(last, [0, ribbonLengthM + radius, 0])), scale(along, 5e-4)),
    radiusA: radius,
    radiusB: radius,
    reflectance: holder,
    kind: "cartridge",
  });
  return result;
}
