/**
 * The cell as data: a tree of named frames whose edges are fixed or driven by a device axis. Another lab writes its own
 * file; nothing in the code knows the arrangement.
 */
import { z } from "zod";
import {
  compose,
  identity,
  multiply,
  rotationAbout,
  rotationFromRpy,
  scale,
  type Mat3,
  type Transform,
  type Vec3,
} from "./transform.js";
import { CellError } from "./errors.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);

const driverSchema = z.discriminatedUnion("kind", [
  /** The whole edge is measured by the arm: base from flange. */
  z.strictObject({ kind: z.literal("arm") }),
  /** A KOHZU axis; metres along, or radians about, `direction` of the edge's own frame. */
  z.strictObject({
    kind: z.literal("stage"),
    axis: z.number().int().min(1).max(32),
    motion: z.enum(["linear", "rotary"]),
    direction: vec3,
  }),
  /** The needle drive; metres along `direction`. */
  z.strictObject({ kind: z.literal("needle"), direction: vec3 }),
]);

export const frameSchema = z.strictObject({
  name: z.string().min(1),
  parent: z.string().min(1),
  translationM: vec3.default([0, 0, 0]),
  /** Roll, pitch, yaw about the parent's fixed x, y, z. */
  rpyRad: vec3.default([0, 0, 0]),
  driver: driverSchema.optional(),
});

export type FrameDefinition = z.infer<typeof frameSchema>;

/** What the devices report, SI. */
export interface DeviceReading {
  /** base from flange. */
  readonly arm: Transform;
  /** Metres or radians by KOHZU axis number; an axis without entry stands at 0. */
  readonly stages: ReadonlyMap<number, number>;
  /** Metres, 0 = withdrawn. */
  readonly needle: number;
}

export class FrameTree {
  private readonly frames: ReadonlyMap<string, FrameDefinition>;

  /** @throws CellError CONFIG_INVALID naming the frame that is doubled, or whose parent does not exist or comes later. */
  constructor(definitions: readonly FrameDefinition[]) {
    const frames = new Map<string, FrameDefinition>();
    for (const frame of definitions) {
      if (frames.has(frame.name) || frame.name === "world")
        throw new CellError("CONFIG_INVALID", `frame ${frame.name} is defined twice`);
      if (frame.parent !== "world" && !frames.has(frame.parent))
        throw new CellError(
          "CONFIG_INVALID",
          `frame ${frame.name}: its parent ${frame.parent} must be defined before it`,
        );
      frames.set(frame.name, frame);
    }
    this.frames = frames;
  }

  get names(): readonly string[] {
    return [...this.frames.keys()];
  }

  /**
   * `ancestorFromFrame` for the present device reading. `edges` replaces the fixed part of some edges
   * (`parentFromFrame`): a calibration that found them elsewhere than drawn.
   */
  pose(
    name: string,
    reading: DeviceReading,
    ancestor = "world",
    edges?: ReadonlyMap<string, Transform>,
  ): Transform {
    let result: Transform = identity;
    let at = name;
    while (at !== ancestor) {
      const frame = this.frames.get(at);
      if (frame === undefined)
        throw new CellError("CONFIG_INVALID", `frame ${name} does not lie under ${ancestor}`);
      result = compose(edge(frame, reading, edges?.get(at)), result);
      at = frame.parent;
    }
    return result;
  }

  /** `parentFromFrame` as drawn, without what its driver adds. */
  fixedEdge(name: string): Transform {
    const frame = this.frames.get(name);
    if (frame === undefined) throw new CellError("CONFIG_INVALID", `there is no frame ${name}`);
    return fixed(frame);
  }
}

function fixed(frame: FrameDefinition): Transform {
  return { rotation: rotationFromRpy(...frame.rpyRad), translation: frame.translationM };
}

function edge(frame: FrameDefinition, reading: DeviceReading, replaced?: Transform): Transform {
  const base = replaced ?? fixed(frame);
  const driver = frame.driver;
  if (driver === undefined) return base;
  if (driver.kind === "arm") return compose(base, reading.arm);
  const value = driver.kind === "needle" ? reading.needle : (reading.stages.get(driver.axis) ?? 0);
  const direction: Vec3 = driver.direction;
  if (driver.kind === "stage" && driver.motion === "rotary") {
    const rotation: Mat3 = multiply(base.rotation, rotationAbout(direction, value));
    return { rotation, translation: base.translation };
  }
  return compose(base, { rotation: identity.rotation, translation: scale(direction, value) });
}
