/**
 * Device profiles: data that describes one device model and firmware, in firmware-profiles/. Every figure says where it
 * comes from. In the file a figure has the unit of its source; once loaded it is SI.
 */
import path from "node:path";
import { z } from "zod";
import { CellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { loadYaml } from "../base/yaml-file.js";

/** Factor to SI by unit, and the unit it becomes. */
const units = {
  m: ["m", 1],
  mm: ["m", 1e-3],
  um: ["m", 1e-6],
  rad: ["rad", 1],
  deg: ["rad", Math.PI / 180],
  "m/s": ["m/s", 1],
  "mm/s": ["m/s", 1e-3],
  "deg/s": ["rad/s", Math.PI / 180],
  "m/s2": ["m/s2", 1],
  "mm/s2": ["m/s2", 1e-3],
  s: ["s", 1],
  ms: ["s", 1e-3],
  us: ["s", 1e-6],
  // Device units: nothing to convert.
  pulse: ["pulse", 1],
  pps: ["pps", 1],
  microstep: ["microstep", 1],
  px: ["px", 1],
  A: ["A", 1],
  "bit/s": ["bit/s", 1],
  Hz: ["Hz", 1],
  dB: ["dB", 1],
  "1": ["1", 1],
} as const satisfies Record<string, readonly [string, number]>;

type Unit = keyof typeof units;
type SiUnit = (typeof units)[Unit][0];

/** documented: in a document of the vendor or a published standard; derived: computed or from a sister model; assumed. */
const provenance = z.enum(["documented", "derived", "assumed"]);

export interface Figure {
  /** In `unit`, which is SI or a unit of the device. */
  readonly value: number;
  readonly unit: SiUnit;
  readonly provenance: z.infer<typeof provenance>;
  /** Document, page, or the reasoning. */
  readonly source: string;
}

/** A figure in one of the units that turn into `si`. */
function figure(si: SiUnit, range: { readonly min?: number; readonly max?: number } = {}): z.ZodType<Figure> {
  const accepted = (Object.keys(units) as Unit[]).filter((unit) => units[unit][0] === si);
  return z
    .strictObject({
      value: z.number(),
      unit: z.enum(accepted as [Unit, ...Unit[]]),
      provenance,
      source: z.string().min(1),
    })
    .transform(({ value, unit, ...rest }) => ({ ...rest, value: value * units[unit][1], unit: si }))
    .refine((result) => result.value >= (range.min ?? -Infinity) && result.value <= (range.max ?? Infinity), {
      error: `outside ${range.min ?? "-∞"}…${range.max ?? "∞"} ${si}`,
      path: ["value"],
    });
}

const positive = { min: Number.MIN_VALUE } as const;

const head = {
  name: z.string().regex(/^[a-z0-9-]+$/),
  vendor: z.string().min(1),
  model: z.string().min(1),
  notes: z.string().optional(),
};

const stageController = z.strictObject({
  ...head,
  kind: z.literal("stage-controller"),
  /** What IDN must answer: one of these. */
  identity: z.array(z.string().min(1)).min(1),
  /** Lowest firmware that this profile describes: major, minor, release. */
  firmware: z.tuple([z.int().min(0), z.int().min(0), z.int().min(0)]),
  dialect: z.enum(["aries", "crux", "sc"]),
  /** CRUX only: how STR lays out its fields, where public programs disagree. */
  statusLayout: z.enum(["aries", "crux-separate"]).optional(),
  transports: z.array(z.enum(["tcp", "telnet", "dialled", "serial"])).min(1),
  tcpPort: figure("1", { min: 1, max: 65_535 }).optional(),
  baudRate: figure("bit/s", positive),
  maxAxes: figure("1", positive),
  maxClients: figure("1", positive),
  minPulses: figure("pulse"),
  maxPulses: figure("pulse"),
  topSpeedLimit: figure("pps", positive),
  replyTimeout: figure("s", { min: 1e-3, max: 10 }),
  /** The stop has a deadline of its own: the SC series answers it only when the axis has stopped. */
  stopTimeout: figure("s", { min: 1e-3, max: 60 }),
  /** Silence after which the line is taken to be quiet, before the link is synchronised anew. */
  quietTime: figure("s", { min: 1e-3, max: 2 }),
});

/** What an axis of a stage needs; lengths for linear stages, angles for goniometers. */
const stageAxis = (si: "m" | "rad", perSecond: "m/s" | "rad/s") =>
  ({
    /** Motion of one pulse in the configured step mode, and of one full step of the motor. */
    step: figure(si, positive),
    fullStep: figure(si, positive),
    /** Range offered to programs, inside the limit switches; whole pulses count. */
    softLimit: figure(si, positive),
    limitSwitch: figure(si, positive),
    maxSpeed: figure(perSecond, positive),
    lostMotion: figure(si, { min: 0 }),
    repeatability: figure(si, { min: 0 }),
    positionError: figure(si, { min: 0 }),
    /** Overrun of a one-sided approach: more than the lost motion. */
    approach: figure("pulse", { min: 0 }),
    /** System setting 2 (origin method) and the speed tables for moves and homing. */
    originMethod: figure("1", { min: 1, max: 15 }),
    moveTable: figure("1", { min: 0, max: 9 }),
    originTable: figure("1", { min: 0, max: 9 }),
  }) as const;

/** The motor driver between controller and stage, as its switches must stand. */
const motorDriver = z.strictObject({
  model: z.string().min(1),
  /** Pulses to a full step of the motor, and the position of the switch (M1) that gives it. */
  division: figure("1", positive),
  divisionSwitch: z.int().min(0).max(15),
  /** Current of a phase while it runs, and its share while it stands; with the positions of their switches. */
  runCurrent: figure("A", positive),
  runSwitch: z.int().min(0).max(15),
  standstillShare: figure("1", { min: 0, max: 1 }),
  standstillSwitch: z.int().min(0).max(15),
});

type StepFigures = { readonly step: Figure; readonly fullStep: Figure };

/** The same division must lead from the full step to the pulse: a factor of two is the commonest mistake. */
const divides = (axis: StepFigures, division: Figure): boolean =>
  Math.abs(axis.step.value * division.value - axis.fullStep.value) <= 1e-6 * axis.fullStep.value;

const wrongDivision = {
  error: "the step times the division of the motor driver is not the full step",
  path: ["step"],
};

const linearStage = z
  .strictObject({
    ...head,
    kind: z.literal("linear-stage"),
    ...stageAxis("m", "m/s"),
    motorDriver,
  })
  .refine((stage) => divides(stage, stage.motorDriver.division), wrongDivision);

const goniometer = z
  .strictObject({
    ...head,
    kind: z.literal("goniometer"),
    /** Height of the common centre of rotation above the table. */
    workDistance: figure("m", positive),
    centreWander: figure("m", { min: 0 }),
    axes: z.strictObject({
      upper: z.strictObject(stageAxis("rad", "rad/s")),
      lower: z.strictObject(stageAxis("rad", "rad/s")),
    }),
    motorDriver,
  })
  .refine(
    ({ axes, motorDriver: { division } }) => divides(axes.upper, division) && divides(axes.lower, division),
    { ...wrongDivision, path: ["axes"] },
  );

const needleHead = {
  ...head,
  kind: z.literal("needle-drive"),
  /** What the drive must call itself, and the lowest firmware. */
  deviceId: z.int().positive(),
  firmware: z.tuple([z.int().min(0), z.int().min(0)]),
  baudRate: figure("bit/s", positive),
  microstep: figure("m", positive),
  stroke: figure("m", positive),
  maxSpeed: figure("m/s", positive),
  maxAcceleration: figure("m/s2", positive),
  /** A move has arrived within this of its target. */
  arrival: figure("m", positive),
  replyTimeout: figure("s", { min: 1e-3, max: 10 }),
  quietTime: figure("s", { min: 1e-3, max: 2 }),
} as const;

const zaberNeedle = z.strictObject({
  ...needleHead,
  dialect: z.literal("zaber-ascii"),
  deviceAddress: z.int().min(1).max(99),
  axisNumber: z.int().min(1).max(9),
  checksums: z.boolean(),
  /** Data value of maxspeed per microstep/s, and of accel per microstep/s². */
  speedScale: figure("1", positive),
  accelerationScale: figure("1", positive),
});

const modbusNeedle = z.strictObject({
  ...needleHead,
  dialect: z.literal("modbus-rtu"),
  /** Address of the device on its line. */
  unit: z.int().min(1).max(247),
});

const needleDrive = z.discriminatedUnion("dialect", [zaberNeedle, modbusNeedle]);

const microscope = z.strictObject({
  ...head,
  kind: z.literal("microscope"),
  camera: z.strictObject({
    /** How the camera is reached; the address is an IP address, an Aravis id, or the path of a V4L2 device. */
    interface: z.enum(["gige-vision", "usb3-vision", "v4l2"]),
    /** What vendor and model name of the camera must match, whole, as regular expressions. */
    identity: z.strictObject({ vendor: z.string().min(1), model: z.string().min(1) }).optional(),
    /** On the wire; frames are eight bits deep all the same. */
    pixelFormat: z.enum([
      "Mono8",
      "Mono10",
      "Mono10Packed",
      "Mono10p",
      "Mono12",
      "Mono12Packed",
      "Mono12p",
      "Mono14",
      "Mono16",
      "YUV422_8",
    ]),
    /** Of the frames, after binning. */
    width: figure("px", positive),
    height: figure("px", positive),
    /** Corner of the region that is read out; the sensor's own without. */
    offsetX: figure("px", { min: 0 }).optional(),
    offsetY: figure("px", { min: 0 }).optional(),
    /** Sensor pixels per pixel, in both directions. */
    binning: figure("1", { min: 1, max: 64 }).optional(),
    /** GigE Vision: pause between packets, for cameras that share a link. */
    packetDelay: figure("s", { min: 0, max: 0.1 }).optional(),
    exposureFeature: z.string().min(1),
    gainFeature: z.string().min(1),
    minExposure: figure("s", positive),
    maxExposure: figure("s", positive),
    /** In the unit of the gain feature: dB, or the camera's own. */
    minGain: z.union([figure("1", { min: 0 }), figure("dB")]),
    maxGain: z.union([figure("1", { min: 0 }), figure("dB")]),
    frameRate: figure("Hz", positive),
    /** Silence after which the camera counts as lost. */
    noFrame: figure("s", positive),
  }),
  fieldOfView: figure("m", positive),
  magnification: figure("1", positive),
  depthOfField: figure("m", positive),
});

export const profileSchema = z.discriminatedUnion("kind", [
  stageController,
  linearStage,
  goniometer,
  needleDrive,
  microscope,
]);

export type DeviceProfile = z.output<typeof profileSchema>;
export type ProfileKind = DeviceProfile["kind"];
export type ProfileOf<K extends ProfileKind> = Extract<DeviceProfile, { readonly kind: K }>;
export type StageControllerProfile = ProfileOf<"stage-controller">;
export type LinearStageProfile = ProfileOf<"linear-stage">;
export type GoniometerProfile = ProfileOf<"goniometer">;
export type NeedleDriveProfile = ProfileOf<"needle-drive">;
export type ZaberNeedleProfile = z.output<typeof zaberNeedle>;
export type ModbusNeedleProfile = z.output<typeof modbusNeedle>;
export type MicroscopeProfile = ProfileOf<"microscope">;
/** One axis of any stage. */
export type StageAxisProfile = Pick<LinearStageProfile, keyof ReturnType<typeof stageAxis>>;

const schemas = {
  "stage-controller": stageController,
  "linear-stage": linearStage,
  goniometer,
  "needle-drive": needleDrive,
  microscope,
} as const;

export const profileFolder = path.join(projectRoot, "firmware-profiles");

/**
 * Loads a profile of the wanted kind.
 * @param nameOrPath `kohzu-aries`, or the path of a YAML file
 * @throws CellError PROFILE_INVALID naming file, key, what was expected
 */
export async function loadProfile<K extends ProfileKind>(nameOrPath: string, kind: K): Promise<ProfileOf<K>> {
  const file = /[/.]/.test(nameOrPath) ? nameOrPath : path.join(profileFolder, `${nameOrPath}.yaml`);
  const { value: found } = await loadYaml(
    file,
    z.looseObject({ kind: z.enum(Object.keys(schemas) as [ProfileKind, ...ProfileKind[]]) }),
    { unreadable: "PROFILE_INVALID", invalid: "PROFILE_INVALID" },
  );
  if (found.kind !== kind)
    throw new CellError("PROFILE_INVALID", `${file}: kind: expected ${kind}, got ${found.kind}`);
  const { value } = await loadYaml(file, schemas[kind], {
    unreadable: "PROFILE_INVALID",
    invalid: "PROFILE_INVALID",
  });
  return value as ProfileOf<K>;
}

/** JSON Schema of the files, for editors and other programs. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: "input", target: "draft-2020-12" });
}
