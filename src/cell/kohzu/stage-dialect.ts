/**
 * The contract that every family of KOHZU controllers fulfils towards the driver, in whole pulses. All motions are begun
 * with the Quick response and looked at afterwards: a completion reply is lost when another client stops the axis.
 */
import { CellError } from "../../base/errors.js";
import type { RequestOptions } from "../links/request-link.js";
import type { StageControllerProfile } from "../profile.js";
import type { KohzuAxis } from "./axis-config.js";
import type { CodeFamily } from "./codec/codes.js";
import type { SpeedTable } from "./codec/speed-table.js";
import type { AxisStatus } from "./codec/status.js";
import type { KohzuLink, StageCommand } from "./kohzu-link.js";

/** What a dialect needs to speak: the link, and for messages the device's name. */
export interface DialectContext {
  readonly name: string;
  readonly link: KohzuLink;
  readonly profile: StageControllerProfile;
}

export interface StageDialect {
  readonly family: CodeFamily;

  /** Checks model, firmware and that the axes exist; forgets what was known of an earlier connection. @throws CellError DEVICE_WRONG_MODEL, DEVICE_MISSING */
  identify(axes: readonly KohzuAxis[], signal?: AbortSignal): Promise<void>;

  /** Reads the settings that must hold before the axis may move. @throws CellError CONFIG_INVALID when it corrects backlash itself */
  readSetup(axis: KohzuAxis, signal?: AbortSignal): Promise<void>;

  /** The speed that the controller will really use. @throws CellError CONFIG_INVALID when the stage cannot go so fast */
  speed(axis: KohzuAxis, table: number, options: RequestOptions): Promise<SpeedTable>;

  status(axis: number, signal?: AbortSignal): Promise<AxisStatus>;
  position(axis: number, signal?: AbortSignal): Promise<number>;
  /** Whether the origin was found since power-on, as far as the controller, or else this connection, knows. */
  homed(axis: number, signal?: AbortSignal): Promise<boolean>;

  /** Begins an absolute move. @throws CellError DEVICE_LIMIT, DEVICE_REFUSED, DEVICE_EMERGENCY_STOP */
  drive(axis: KohzuAxis, table: number, target: number, options: RequestOptions): Promise<void>;
  /** Begins the origin search, with the method read back. @throws CellError DEVICE_REFUSED */
  searchOrigin(axis: KohzuAxis, options: RequestOptions): Promise<void>;
  /** Told when a search was seen to end on the origin. */
  originFound(axis: number): void;

  /** What stops everything, in this order, each after the reply to the one before. */
  stopCommands(axes: readonly number[]): readonly StageCommand[];

  /** Releases the locks of an emergency stop or a lost link, after a person has removed the cause. */
  release(signal?: AbortSignal): Promise<void>;
}

/** Refuses a speed beyond what the stage or the controller can do. */
export function requireSpeed(
  context: DialectContext,
  axis: KohzuAxis,
  table: number,
  speed: SpeedTable,
): void {
  const most = Math.min(axis.maxPps, context.profile.topSpeedLimit.value);
  if (speed.topPps > most)
    throw new CellError(
      "CONFIG_INVALID",
      `${context.name}: axis ${axis.number}: speed table ${table} is ${speed.topPps} pps, above the ${most} pps of ${axis.model}`,
    );
}

/** Refuses another model or an older firmware. @param version major, minor, release as far as the model tells them */
export function requireIdentity(
  { name, profile }: DialectContext,
  found: string,
  version: readonly number[],
): void {
  if (!profile.identity.includes(found))
    throw new CellError(
      "DEVICE_WRONG_MODEL",
      `${name}: expected ${profile.identity.join(" or ")} (profile ${profile.name}), found ${found}`,
    );
  const differs = version.findIndex((part, i) => part !== profile.firmware[i]);
  if (differs >= 0 && (version[differs] ?? 0) < (profile.firmware[differs] ?? 0))
    throw new CellError(
      "DEVICE_WRONG_MODEL",
      `${name}: firmware ${version.join(".")} is older than ${profile.firmware.join(".")} (profile ${profile.name})`,
    );
}
