/** What programs may ask of the controller they run on. */
import type { RobotMessage } from "../../../cell/ur/codec/robot-message.js";
import type { SoftwareVersion } from "../../../cell/ur/codec/version.js";
import type { Arm } from "../arm.js";
import type { ForceSensor } from "../force-sensor.js";
import type { Registers } from "../registers.js";
import type { Program } from "./program.js";

/** A connection of a program to a computer; bytes arrive between control steps. */
export interface ScriptSocket {
  readonly state: "connecting" | "open" | "closed";
  /** Bytes that came and were not read yet. */
  readonly available: number;
  peek(): Buffer;
  take(count: number): Buffer;
  write(bytes: Buffer): boolean;
  close(): void;
}

export type WatchdogAction = "ignore" | "pause" | "stop";

export interface RobotServices {
  readonly arm: Arm;
  readonly registers: Registers;
  readonly version: SoftwareVersion;
  readonly stepS: number;
  /** Controller time in seconds, whole control steps. */
  readonly timeS: number;
  readonly sensor: ForceSensor;
  payloadKg: number;
  payloadCog: readonly number[];
  say(message: RobotMessage): void;
  openSocket(host: string, port: number): ScriptSocket;
  protectiveStop(code: number, text: string): void;
  watch(program: Program, variable: string, minimumHz: number, action: WatchdogAction): void;
  powerDown(): void;
}
