/** From a controller that answers to an arm that may move: model check, power, brakes, and out of a protective stop. */
import { asCellError, CellError } from "../../base/errors.js";
import { monotonicNow } from "../../base/clock.js";
import type { ArmWatch } from "./arm-watch.js";
import { robotMode } from "./codec/enums.js";
import type { KinematicsData } from "./codec/primary.js";
import { parseVersion, versionText, type SoftwareVersion } from "./codec/version.js";
import type { DashboardClient } from "./dashboard-client.js";
import { calibrated, forward, poseError, type DhParameters } from "./kinematics.js";
import { geometryOf, type UrProfile } from "./profile.js";
import type { UrSample } from "./ur-sample.js";

const sameSeries = (a: SoftwareVersion, b: SoftwareVersion): boolean =>
  a.major === b.major && a.minor === b.minor;

/** Software and model against the profile, by the dashboard. @throws CellError DEVICE_WRONG_MODEL */
export async function checkModel(
  dashboard: DashboardClient,
  profile: UrProfile,
  signal: AbortSignal,
): Promise<void> {
  const reply = await dashboard.send("PolyscopeVersion", signal);
  const seen = parseVersion(reply);
  if (!seen || !sameSeries(seen, profile.software)) {
    throw new CellError(
      "DEVICE_WRONG_MODEL",
      `UR: '${reply}', the profile is for ${versionText(profile.software)}`,
      { remedy: "choose the profile of this controller's software in firmware-profiles/" },
    );
  }
  // Firmware before 3.12 cannot name its model.
  const model = await dashboard.ask("get robot model", signal);
  if (model !== undefined && model !== profile.model.replace(/e$/, "")) {
    throw new CellError(
      "DEVICE_WRONG_MODEL",
      `UR: the controller drives a ${model}, the profile is for a ${profile.model}`,
    );
  }
}

/** The version message of the primary interface against the profile. @throws CellError DEVICE_WRONG_MODEL */
export function checkVersion(seen: SoftwareVersion | undefined, profile: UrProfile): void {
  if (!seen || sameSeries(seen, profile.software)) return;
  throw new CellError(
    "DEVICE_WRONG_MODEL",
    `UR: software ${versionText(seen)}, the profile says ${versionText(profile.software)}`,
  );
}

/** A calibration that moves the flange further than this from the nominal model belongs to another arm, m. */
const largestCorrectionM = 0.02;

/**
 * The arm's own geometry: the profile's nominal one with the calibration that the controller holds.
 * @throws CellError DEVICE_WRONG_MODEL when it is not that of the profile's model
 */
export function ownGeometry(profile: UrProfile, told: KinematicsData): DhParameters {
  const nominal = geometryOf(profile);
  const own = calibrated(nominal, told);
  for (const q of [
    [0, -1.6, 1.9, -1.9, -1.57, 0],
    [1, -1, 1.2, -1.5, 1.2, 2],
  ] as const) {
    const away = Math.hypot(...poseError(forward(nominal, [...q]), forward(own, [...q])).slice(0, 3));
    if (!(away <= largestCorrectionM)) {
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `UR: the controller's kinematics differ from the ${profile.model}'s by ${(away * 1e3).toFixed(1)} mm`,
      );
    }
  }
  return own;
}

/**
 * Powers the arm and releases its brakes; what is already so is left alone.
 * @throws CellError DEVICE_EMERGENCY_STOP, LINK_TIMEOUT, DEVICE_REFUSED
 */
export async function powerUp(
  watch: ArmWatch,
  dashboard: DashboardClient,
  bootLimitS: number,
  signal: AbortSignal,
): Promise<void> {
  const reach = async (least: number, limitS: number, what: string): Promise<UrSample> =>
    watch.until(
      (sample) => {
        if (!sample) return undefined;
        watch.refuseUnsafe(sample);
        return sample.robotMode >= least && sample.robotMode !== robotMode.BACKDRIVE ? sample : undefined;
      },
      limitS,
      `UR: ${what}`,
      signal,
    );
  let sample = await reach(robotMode.POWER_OFF, bootLimitS, "boot");
  if (sample.robotMode === robotMode.POWER_OFF) await dashboard.send("power on", signal, 15);
  sample = await reach(robotMode.IDLE, 60, "power on");
  if (!sample.running) await dashboard.send("brake release", signal, 15);
  await reach(robotMode.RUNNING, 60, "brake release");
}

/**
 * Waits until a protective stop may be unlocked (5 s) and unlocks it. The reply says "releasing"; RTDE says when it is so.
 * The caller has found and removed the cause. @throws CellError COMMAND_INVALID when there is no such stop
 */
export async function unlockProtectiveStop(
  watch: ArmWatch,
  dashboard: DashboardClient,
  profile: UrProfile,
  signal: AbortSignal,
): Promise<void> {
  const sinceS = watch.protectiveSinceS;
  if (sinceS === undefined) {
    throw new CellError("COMMAND_INVALID", "UR: there is no protective stop to recover from");
  }
  const clear = (): true | undefined => (watch.sample && !watch.sample.protectiveStopped ? true : undefined);
  /** True when it cleared in time. */
  const cleared = (limitS: number, what: string): Promise<boolean> =>
    watch.until(clear, limitS, what, signal).catch((error: unknown) => {
      if (asCellError(error).code !== "LINK_TIMEOUT") throw error;
      return false;
    });
  const waitS = Math.max(0, sinceS + profile.protectiveStopWaitS + 0.1 - monotonicNow());
  await cleared(waitS + 0.01, "UR: 5 s after the protective stop");
  await dashboard.ask("close safety popup", signal);
  const untilS = monotonicNow() + 10;
  while (!clear()) {
    const refused = await dashboard.send("unlock protective stop", signal).then(
      () => undefined,
      (error: unknown) => asCellError(error),
    );
    const late = monotonicNow() > untilS;
    if (refused && (refused.code !== "DEVICE_REFUSED" || late)) throw refused;
    if (!(await cleared(refused ? 0.5 : 3, "UR: unlock")) && late) {
      throw new CellError("LINK_TIMEOUT", "UR: unlocked, but the protective stop stays on");
    }
  }
}
