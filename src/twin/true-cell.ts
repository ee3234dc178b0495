/**
 * The true cell: what the scenario and the seed made of the drawing. Only the twin's own processes see it. Controllers
 * see frames, encoders and replies.
 */
import type { CellFile, MicroscopeDrawing } from "../base/cell-file.js";
import { FrameTree, type DeviceReading } from "../base/frame-tree.js";
import { Random } from "../base/random.js";
import {
  add,
  compose,
  cross,
  dot,
  identity,
  identity3,
  invert,
  multiply,
  norm,
  rotate,
  rotationAbout,
  rotationBetween,
  scale,
  subtract,
  transpose,
  unit,
  type Mat3,
  type Transform,
  type Vec3,
} from "../base/transform.js";
import type { Scenario } from "./scenario.js";
import { flangePose, ur5Table } from "./ur/arm-geometry.js";

export interface TrueMicroscope {
  readonly name: string;
  /** Rows: image right, image down, into the scene; world → camera. */
  readonly cameraFromWorld: Mat3;
  /** World point at the image centre and in focus when the focus stage is at 0. */
  readonly focusPoint: Vec3;
  /** World displacement of that point per metre of focus stage. */
  readonly focusDirection: Vec3;
  readonly metresPerPixel: number;
  readonly centrePx: readonly [number, number];
  readonly focusAxis: number;
}

export interface TrueTissue {
  readonly origin: Vec3;
  readonly normal: Vec3;
  readonly uAxis: Vec3;
  readonly vAxis: Vec3;
}

export interface TrueCell {
  readonly seed: number;
  readonly tree: FrameTree;
  readonly edges: ReadonlyMap<string, Transform>;
  readonly jointOffsets: readonly number[];
  readonly microscopes: readonly [TrueMicroscope, TrueMicroscope];
  readonly tissue: TrueTissue;
  /** Where each focus stage really stands when it reads 0, m from the view's focus point along its axis. */
  readonly startFocusM: readonly [number, number];
  readonly startExposureFactor: number;
  readonly file: CellFile;
}

/** Camera axes as rows for a microscope at (azimuth, elevation) looking at the site, image x horizontal. */
export function drawnCameraFromWorld(drawing: MicroscopeDrawing): Mat3 {
  const { azimuthRad: a, elevationRad: e } = drawing;
  const forward: Vec3 = [-Math.cos(e) * Math.cos(a), -Math.cos(e) * Math.sin(a), -Math.sin(e)];
  const right = unit(cross(forward, [0, 0, 1]));
  return [right, cross(forward, right), forward];
}

function someRotation(random: Random, magnitude: readonly [number, number]): Mat3 {
  return rotationAbout(random.direction(), random.uniform(...magnitude));
}

function someOffset(random: Random, magnitude: readonly [number, number]): Vec3 {
  return scale(random.direction(), random.uniform(...magnitude));
}

/** Joint offsets that put the flange `magnitude` metres off at the known pose. */
function residualJointOffsets(
  random: Random,
  file: CellFile,
  magnitude: readonly [number, number],
): number[] {
  const raw = file.knownPoseRad.map(() => random.normal(0, 1e-4));
  const wanted = random.uniform(...magnitude);
  const nominal = flangePose(ur5Table, file.knownPoseRad).translation;
  const sizeOf = (k: number): number =>
    norm(
      subtract(
        flangePose(
          ur5Table,
          file.knownPoseRad.map((q, i) => q + k * (raw[i] ?? 0)),
        ).translation,
        nominal,
      ),
    );
  // The error is linear in so small an angle: one division finds the factor.
  const factor = wanted / sizeOf(1);
  return raw.map((value) => value * factor);
}

/** Draws the true cell. */
export function drawTrueCell(file: CellFile, scenario: Scenario, seed: number): TrueCell {
  const random = new Random(seed, "cell");
  const im = scenario.imperfections;
  const tree = new FrameTree(file.frames);
  const edges = new Map<string, Transform>();
  const jointOffsets = residualJointOffsets(random, file, im.armResidualM);

  const head = tree.fixedEdge("head");
  edges.set("head", {
    rotation: multiply(head.rotation, someRotation(random, im.handEyeRotationRad)),
    translation: add(head.translation, someOffset(random, im.handEyeTranslationM)),
  });
  const slide = tree.fixedEdge("slide");
  edges.set("slide", {
    rotation: multiply(slide.rotation, someRotation(random, im.slideRad)),
    translation: slide.translation,
  });
  const tilt = tree.fixedEdge("tiltX");
  edges.set("tiltX", {
    rotation: multiply(tilt.rotation, someRotation(random, im.cartridgeRad)),
    translation: add(tilt.translation, someOffset(random, im.cartridgeM)),
  });

  const knownReading: DeviceReading = {
    arm: flangePose(
      ur5Table,
      file.knownPoseRad.map((q, i) => q + (jointOffsets[i] ?? 0)),
    ),
    stages: new Map(),
    needle: 0,
  };

  // Tissue: its normal a little off the drawing; position follows below from where the needle's tip really is.
  const normal = rotate(rotationAbout(random.direction(), random.uniform(0, 0.0175)), [0, 0, 1]);
  // The needle hangs askew by the start angle: the needle unit is turned about the tip.
  const tilted = rotate(
    rotationAbout(unit(cross(normal, random.direction())), random.uniform(...scenario.start.needleAngleRad)),
    scale(normal, -1),
  );
  const askew = new Map(edges);
  askew.set("tip", tree.fixedEdge("tip"));
  const tipFrame = tree.pose("tip", knownReading, "world", askew);
  const turn = rotationBetween(rotate(tipFrame.rotation, [0, 0, 1]), tilted);
  // The turn in world axes, brought into the frame of the needle unit, whose origin is the drawn tip.
  const unitFrame = tree.pose("needleUnit", knownReading, "world", edges);
  const unitEdge = tree.fixedEdge("needleUnit");
  edges.set("needleUnit", {
    rotation: multiply(
      unitEdge.rotation,
      multiply(transpose(unitFrame.rotation), multiply(turn, unitFrame.rotation)),
    ),
    translation: unitEdge.translation,
  });

  // The technician set up tissue and microscopes around the tip at the known pose, off by the start offset.
  const tip = tree.pose("tip", knownReading, "world", edges).translation;
  let offset = someOffset(random, scenario.start.needleOffsetM);
  offset = [offset[0], offset[1], Math.min(Math.max(offset[2], -0.00005), 0.0003)];
  const standoff = 0.0003;
  const origin = subtract(subtract(tip, offset), scale(normal, standoff));
  const uAxis = unit(subtract([1, 0, 0], scale(normal, normal[0])));
  const tissue: TrueTissue = { origin, normal, uAxis, vAxis: cross(normal, uAxis) };

  const microscopes = file.microscopes.map((drawing): TrueMicroscope => {
    const drawn = drawnCameraFromWorld(drawing);
    const axis = im.microscopeAxesRad;
    const off = [
      random.uniform(-axis, axis),
      random.uniform(-axis, axis),
      random.uniform(-axis, axis),
    ] as const;
    const error = multiply(
      rotationAbout([1, 0, 0], off[0]),
      multiply(rotationAbout([0, 1, 0], off[1]), rotationAbout([0, 0, 1], off[2])),
    );
    const cameraFromWorld = multiply(error, drawn);
    const centre: Vec3 = add(add(origin, scale(normal, drawing.centreM[2])), [
      random.uniform(-1, 1) * im.microscopeCentreM,
      random.uniform(-1, 1) * im.microscopeCentreM,
      random.uniform(-1, 1) * im.microscopeCentreM,
    ]);
    const stray = rotationAbout(
      unit(cross(cameraFromWorld[2], random.direction())),
      random.uniform(...im.focusAxisRad),
    );
    return {
      name: drawing.name,
      cameraFromWorld,
      focusPoint: centre,
      focusDirection: rotate(stray, cameraFromWorld[2]),
      metresPerPixel: drawing.metresPerPixel * (1 + random.uniform(-im.magnification, im.magnification)),
      centrePx: [drawing.widthPx / 2, drawing.heightPx / 2],
      focusAxis: drawing.focusAxis,
    };
  });
  const [first, second] = microscopes;
  if (first === undefined || second === undefined) throw new RangeError("a cell has two microscopes");
  const stops = random.uniform(...scenario.start.exposureStops);
  // Over-exposed in hard scenarios (their range does not begin at 0), either way otherwise.
  const over = scenario.start.exposureStops[0] > 0 || random.uniform() < 0.5;
  // The tip begins out of focus by the start focus: the stages' zero lies that far from the tip's own depth.
  const startFocus = (camera: TrueMicroscope): number =>
    dot(camera.cameraFromWorld[2], subtract(tip, camera.focusPoint)) +
    random.signed(...scenario.start.focusM);
  const startFocusM = [startFocus(first), startFocus(second)] as const;
  return {
    seed,
    tree,
    edges,
    jointOffsets,
    microscopes: [first, second],
    tissue,
    startFocusM,
    startExposureFactor: 2 ** (over ? stops : -stops),
    file,
  };
}

/** The needle's true pose, tip frame in the world, for true joint angles, stage positions and needle stroke. */
export function trueTipPose(
  cell: TrueCell,
  arm: Transform,
  stages: ReadonlyMap<number, number>,
  needle: number,
): Transform {
  return cell.tree.pose("tip", { arm, stages, needle }, "world", cell.edges);
}

/** The needle unit's true pose in the world: what the slide moves in. */
export function trueSlidePose(
  cell: TrueCell,
  arm: Transform,
  stages: ReadonlyMap<number, number>,
): Transform {
  return cell.tree.pose("slide", { arm, stages, needle: 0 }, "world", cell.edges);
}

/** The tip frame for a needle position (m), from the pose of its slide at 0. */
export function trueTipFromSlide(cell: TrueCell, slide: Transform, needle: number): Transform {
  const reading: DeviceReading = { arm: identity, stages: new Map(), needle };
  // The slide's own fixed edge is in `slide` already: only what its driver adds is left, and the tip's edge.
  const fixed = cell.edges.get("slide") ?? cell.tree.fixedEdge("slide");
  return compose(slide, compose(invert(fixed), cell.tree.pose("tip", reading, "needleUnit", cell.edges)));
}

/** The cartridge's true pose in the world. */
export function trueCartridgePose(
  cell: TrueCell,
  arm: Transform,
  stages: ReadonlyMap<number, number>,
): Transform {
  return cell.tree.pose("cartridge", { arm, stages, needle: 0 }, "world", cell.edges);
}

/** base from flange, with the arm's own errors: joint residuals, and the offset drawn at this arrival (base frame, m). */
export function trueArm(cell: TrueCell, q: readonly number[], arrivalOffset: Vec3): Transform {
  const pose = flangePose(
    ur5Table,
    q.map((value, i) => value + (cell.jointOffsets[i] ?? 0)),
  );
  return compose({ rotation: identity3, translation: arrivalOffset }, pose);
}

/** Centre of loop k's opening while it lies on the cartridge, cartridge frame, m. */
export function loopInCartridge(file: CellFile, k: number): Vec3 {
  return add(file.cartridge.firstLoopM, scale(file.cartridge.pitchM, k));
}

/** Where a world point appears, px, for a focus stage at `focusM` (m) and an image shift of `wander` (m). */
export function project(
  camera: TrueMicroscope,
  point: Vec3,
  focusM: number,
  wander: readonly [number, number] = [0, 0],
): [number, number] {
  const centre = add(camera.focusPoint, scale(camera.focusDirection, focusM));
  const local = rotate(camera.cameraFromWorld, subtract(point, centre));
  return [
    camera.centrePx[0] + (local[0] + wander[0]) / camera.metresPerPixel,
    camera.centrePx[1] + (local[1] + wander[1]) / camera.metresPerPixel,
  ];
}

/** A tissue point (u, v in the surface, m) in the world, at rest. */
export function tissueToWorld(tissue: TrueTissue, u: number, v: number): Vec3 {
  return add(tissue.origin, add(scale(tissue.uAxis, u), scale(tissue.vAxis, v)));
}
