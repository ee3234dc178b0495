/** What an emulated controller is: model, software version, geometry and limits, read from a firmware profile. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { realtimeSize } from "../../cell/ur/codec/realtime.js";
import type { SoftwareVersion } from "../../cell/ur/codec/version.js";
import { ur5Limits, type ArmLimits } from "./arm-limits.js";
import { ur5Table, type DhTable } from "./arm-geometry.js";

export interface UrFirmware {
  readonly model: string;
  readonly software: SoftwareVersion;
  readonly softwareDate: string;
  readonly serial: string;
  readonly stepS: number;
  readonly rtdeVersions: readonly (1 | 2)[];
  readonly rtdeMaximumHz: number;
  /** Output fields that this firmware answers with NOT_FOUND although the table of versions knows them. */
  readonly missingOutputs: readonly string[];
  readonly realtimeBytes: number;
  /** Of the model. */
  readonly nominal: DhTable;
  /** Of this very arm; the nominal one unless it was calibrated. */
  readonly geometry: DhTable;
  readonly limits: ArmLimits;
}

export const ur5Cb3Firmware: UrFirmware = {
  model: "UR5",
  software: { major: 3, minor: 15, bugfix: 8, build: 106339 },
  softwareDate: "Jun 20 2022",
  serial: "2015350001",
  stepS: 0.008,
  rtdeVersions: [1, 2],
  rtdeMaximumHz: 125,
  missingOutputs: [],
  realtimeBytes: 1220,
  nominal: ur5Table,
  geometry: ur5Table,
  limits: ur5Limits,
};

const profile = z.object({
  model: z.string(),
  software: z.object({
    major: z.number(),
    minor: z.number(),
    bugfix: z.number(),
    build: z.number(),
    date: z.string(),
  }),
  controlStepS: z.number().positive(),
  rtde: z.object({
    versions: z.array(z.union([z.literal(1), z.literal(2)])),
    maximumHz: z.number().positive(),
    missingOutputs: z.array(z.string()),
  }),
  geometry: z.object({
    d1: z.number(),
    a2: z.number(),
    a3: z.number(),
    d4: z.number(),
    d5: z.number(),
    d6: z.number(),
  }),
  limits: z.object({
    jointPositionRad: z.number(),
    jointSpeedRadS: z.number(),
    jointAccelerationRadS2: z.number(),
    toolSpeedMS: z.number(),
    toolAccelerationMS2: z.number(),
  }),
});

/** @throws CellError PROFILE_INVALID */
export function readFirmware(file: string): UrFirmware {
  const parsed = profile.safeParse(parse(readFileSync(file, "utf8")));
  if (!parsed.success) {
    throw new CellError("PROFILE_INVALID", `${file}: ${z.prettifyError(parsed.error)}`);
  }
  const { model, software, controlStepS, rtde, geometry, limits } = parsed.data;
  const nominal: DhTable = {
    ...ur5Table,
    a: [0, geometry.a2, geometry.a3, 0, 0, 0],
    d: [geometry.d1, 0, 0, geometry.d4, geometry.d5, geometry.d6],
  };
  return {
    ...ur5Cb3Firmware,
    model,
    software,
    softwareDate: software.date,
    stepS: controlStepS,
    rtdeVersions: rtde.versions,
    rtdeMaximumHz: rtde.maximumHz,
    missingOutputs: rtde.missingOutputs,
    realtimeBytes: realtimeSize(software),
    nominal,
    geometry: nominal,
    limits: { ...ur5Limits, ...limits },
  };
}
