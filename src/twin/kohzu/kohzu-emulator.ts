/**
 * A KOHZU stage controller of the twin: an ARIES with its LYNX units (manual Rev 1.43) unless another family is asked
 * for. Clients are fed with bytes by whatever carries them. Serial clients must put STX before a request, TCP clients
 * must not.
 */
import { monotonicNow } from "../../base/clock.js";
import type { Vec3 } from "../../base/transform.js";
import { encodeRequest } from "../../cell/kohzu/codec/framing.js";
import type { StatusLayout } from "../../cell/kohzu/codec/status.js";
import { WireFaults } from "../wire-faults.js";
import { ClientSessions, type StageClient } from "./client-sessions.js";
import type { AxisOptions } from "./controller-axis.js";
import { makeDialect, type Dialect, type DialectName } from "./dialects.js";
import type { Firmware } from "./firmware.js";
import { NetworkSettings, type NetworkRole } from "./network-role.js";
import { StageMachine } from "./stage-machine.js";
import type { Side } from "./stage-sensors.js";
import { Sys } from "./system-settings.js";

export interface KohzuOptions {
  /** Axis 1 first; null is an axis without a stage, which reports both limits closed. */
  readonly axes: readonly (AxisOptions | null)[];
  readonly seed: number;
  readonly dialect?: DialectName;
  readonly firmware?: Firmware;
  /** Role on the network at power-up; host unless given. WIP changes it. */
  readonly role?: NetworkRole;
  /** What IDN names where the family has several models: CRUX-A, CRUX-D; 200, 400, 800. */
  readonly model?: string;
  /** How a CRUX lays out its status: public programs disagree. */
  readonly cruxStatus?: StatusLayout;
  /** Mechanics this many times faster than the speed tables say; 1 is the real thing. */
  readonly speedFactor?: number;
  readonly clock?: () => number;
}

/** Applications that may be connected to an ARIES; further ones are left without an answer (manual page 48). */
const clientLimit = 32;

const models: Readonly<Record<DialectName, string>> = { aries: "ARIES", crux: "CRUX-D", sc: "400" };

export class KohzuEmulator {
  readonly faults = new WireFaults();
  private readonly machine: StageMachine;
  private readonly sessions: ClientSessions;
  private readonly dialect: Dialect;
  private readonly network: NetworkSettings;

  constructor(options: KohzuOptions) {
    const dialect = options.dialect ?? "aries";
    this.machine = new StageMachine({
      axes: options.axes,
      seed: options.seed,
      speedFactor: options.speedFactor ?? 1,
      clock: options.clock ?? monotonicNow,
    });
    const firmware = options.firmware ?? [1, 4, 4];
    this.network = new NetworkSettings(options.role ?? "host", firmware);
    this.dialect = makeDialect(this.machine, {
      dialect,
      firmware,
      network: this.network,
      model: options.model ?? models[dialect],
      cruxStatus: options.cruxStatus ?? "aries",
    });
    this.sessions = new ClientSessions(this.machine, this.dialect.execution, this.faults, clientLimit);
  }

  /** Connects a client. `write` is called with the bytes of each reply. */
  attach(transport: "tcp" | "serial", write: (bytes: Buffer) => void): StageClient {
    return this.sessions.attach(transport === "serial", write);
  }

  /** Role on the network that is in force. */
  get role(): NetworkRole {
    return this.network.role;
  }

  /** The true place of a stage: m or rad from its nominal origin. */
  truePosition(axis: number, nowS: number = this.machine.now): number {
    return this.machine.axis(axis).truePosition(nowS);
  }

  /** Displacement of a goniometer's centre of rotation, m in its own axes. */
  centreWander(axis: number, nowS: number = this.machine.now): Vec3 {
    return this.machine.axis(axis).centreWander(nowS);
  }

  /** Whether pulses are being put out for the axis. */
  isMoving(axis: number, nowS: number = this.machine.now): boolean {
    const found = this.machine.axis(axis);
    found.update(nowS);
    return found.driving;
  }

  /** The emergency stop input closes: everything stops at once and the controller locks. */
  emergencyStop(): void {
    this.machine.emergencyStop();
  }

  /** The emergency stop input opens again; the lock stays until REM. */
  releaseEmergencyStop(): void {
    this.machine.releaseEmergencyStop();
  }

  /** Motionnet fails: the axes of the LYNX units stop, and the controller locks if any of them moved. */
  linkLost(): void {
    this.machine.linkLost();
  }

  /** W SYS 51, or 52 when a device joined. */
  deviceMapChanged(joined: boolean): void {
    this.machine.deviceMapChanged(joined);
  }

  /** WSY is acknowledged but not applied. */
  ignoreSettings(on: boolean): void {
    this.machine.ignoreSettings = on;
  }

  stickLimit(axis: number, side: Side, closed: boolean | undefined): void {
    this.machine.axis(axis).sensors.stick(side, closed);
  }

  /** The near-origin sensor never switches on. */
  deadNearOrigin(axis: number, dead: boolean): void {
    this.machine.axis(axis).sensors.nearOriginDead = dead;
  }

  excite(axis: number, on: boolean): void {
    this.machine.excite(axis, on);
  }

  raiseAlarm(axis: number): void {
    this.machine.raiseAlarm(axis);
  }

  /** An axis with a servo drive (setting 62) whose ready signal is on or off. */
  servo(axis: number, ready: boolean): void {
    const found = this.machine.axis(axis);
    found.settings.set(Sys.servo, 1);
    found.servoReady = ready;
  }

  /** Backlash correction by the controller as somebody left it set: type 1. */
  ownBacklash(axis: number, pulses: number): void {
    const { settings } = this.machine.axis(axis);
    settings.set(Sys.backlashPulses, pulses);
    settings.set(Sys.backlashType, pulses === 0 ? 0 : 1);
  }

  /** So many of the next looks at moving axes say stopped. */
  lieIdle(looks: number): void {
    this.machine.idleLies = looks;
  }

  /** Other applications hold all connections that are answered. */
  occupyClients(on: boolean): void {
    this.sessions.strangers = on ? clientLimit : 0;
  }

  /** A command from another client, with a Quick response. */
  foreignCommand(command: string, parameters: readonly number[]): void {
    const other = this.sessions.attach(false, () => undefined);
    other.receive(encodeRequest(command, parameters, false));
    other.close();
  }

  /** The motor falls behind at rest by so many steps. */
  loseSteps(axis: number, steps: number): void {
    this.machine.loseSteps(axis, steps);
  }

  /** General inputs as RIN reads them. */
  setInputs(bits: number): void {
    this.machine.inputs = bits;
  }

  /** Off and on again; the caller cuts the connections. */
  powerCycle(): void {
    this.machine.powerCycle();
    this.network.powerCycle();
    this.dialect.forget();
  }

  /** Ends the emulator's timers. */
  dispose(): void {
    this.faults.dispose();
    this.sessions.dispose();
  }
}
