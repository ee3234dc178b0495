/**
 * The controller without its sockets: power, safety, programs and the arm, advanced one control step at a time. Whoever
 * owns it decides when a step is due, so that it can be stepped by a test as well as by a timer.
 */
import { jointMode, robotMode, runtimeState, safetyMode } from "../../cell/ur/codec/enums.js";
import { reportLevel, type RobotMessage } from "../../cell/ur/codec/robot-message.js";
import type { RtdeValue } from "../../cell/ur/codec/rtde.js";
import type { SoftwareVersion } from "../../cell/ur/codec/version.js";
import { Arm } from "./arm.js";
import { toolPose } from "./arm-geometry.js";
import type { ControllerTiming } from "./controller-timing.js";
import type { UrFirmware } from "./firmware.js";
import { ForceSensor } from "./force-sensor.js";
import { ProgramDisk } from "./program-disk.js";
import { Registers } from "./registers.js";
import type { BuiltinTable } from "./script/builtin.js";
import { ScriptError } from "./script/errors.js";
import { builtinFunctions } from "./script/functions.js";
import { parseProgram } from "./script/parser.js";
import { Program, type ProgramEnd } from "./script/program.js";
import type { RobotServices, ScriptSocket, WatchdogAction } from "./script/services.js";
import { safetyStatusBits } from "./safety-bits.js";
import { StopCounter, stopLimit } from "./stop-counter.js";
import { Watchdogs } from "./watchdogs.js";

export interface ModelEvents {
  /** A message for the primary stream. */
  say(message: RobotMessage): void;
  openSocket(host: string, port: number): ScriptSocket;
  /** The safety system was restarted: what hangs on the controller loses its connection. */
  safetyRestarted?(): void;
}

const stopDeceleration = { program: 4, protective: 8, emergency: 20 } as const;

export class ControllerModel implements RobotServices {
  readonly registers = new Registers();
  readonly arm: Arm;
  readonly sensor = new ForceSensor();
  /** Protective stops by joint. */
  readonly stops = new StopCounter();
  readonly version: SoftwareVersion;
  readonly stepS: number;
  steps = 0;
  robotMode: number = robotMode.BOOTING;
  safetyMode: number = safetyMode.NORMAL;
  runtimeState: number = runtimeState.STOPPED;
  payloadKg = 0;
  payloadCog: readonly number[] = [0, 0, 0];
  popup: string | undefined;
  /** Raising the speed slider from 0 under a program ends in a protective stop, as users have reported. */
  stopsFromZero = false;

  private readonly builtins: BuiltinTable;
  private program: Program | undefined;
  private secondary: Program[] = [];
  private readonly watchdogs = new Watchdogs();
  private loaded: string | undefined;
  /** The running program is the loaded one, not a script that came over a port. */
  private panelRuns = false;
  private pendingMode: { readonly mode: number; readonly atS: number } | undefined;
  private releaseBrakesWanted = false;
  private protectiveSinceS = 0;

  constructor(
    readonly firmware: UrFirmware,
    private readonly timing: ControllerTiming,
    initialQ: readonly number[],
    private readonly events: ModelEvents,
    private readonly disk = new ProgramDisk(),
  ) {
    this.version = firmware.software;
    this.stepS = firmware.stepS;
    this.arm = new Arm(firmware.geometry, firmware.limits, initialQ, firmware.stepS);
    this.builtins = builtinFunctions(this);
    this.pendingMode = { mode: robotMode.POWER_OFF, atS: timing.bootS };
  }

  get timeS(): number {
    return this.steps * this.stepS;
  }
  get programName(): string {
    return this.program?.name ?? "";
  }
  /** Line of the running program, 0 when there is none. */
  get scriptLine(): number {
    return this.program?.line ?? 0;
  }
  /** Path of the program that the panel has loaded. */
  get loadedProgram(): string | undefined {
    return this.loaded;
  }
  /** What the panel says of its own program; scripts that came over a port are none of its business. */
  get panelState(): "STOPPED" | "PLAYING" | "PAUSED" {
    if (!this.panelRuns || !this.program) return "STOPPED";
    return this.paused ? "PAUSED" : "PLAYING";
  }
  get paused(): boolean {
    return this.runtimeState === runtimeState.PAUSING || this.runtimeState === runtimeState.PAUSED;
  }
  get programRunning(): boolean {
    return this.program !== undefined;
  }
  get powered(): boolean {
    return this.robotMode >= robotMode.POWER_ON && this.robotMode <= robotMode.RUNNING;
  }
  get emergencyStopped(): boolean {
    return (
      this.safetyMode === safetyMode.ROBOT_EMERGENCY_STOP ||
      this.safetyMode === safetyMode.SYSTEM_EMERGENCY_STOP
    );
  }
  /** No power while this lasts. */
  private get unpowering(): boolean {
    return this.emergencyStopped || this.safetyMode === safetyMode.FAULT;
  }
  get protectiveStopped(): boolean {
    return this.safetyMode === safetyMode.PROTECTIVE_STOP;
  }
  get jointMode(): number {
    if (this.robotMode === robotMode.RUNNING) return jointMode.RUNNING;
    if (this.robotMode === robotMode.BOOTING) return jointMode.BOOTING;
    return this.powered ? jointMode.IDLE : jointMode.POWER_OFF;
  }
  get robotStatusBits(): number {
    return (this.powered ? 1 : 0) | (this.programRunning ? 2 : 0);
  }
  get safetyStatusBits(): number {
    return safetyStatusBits(this.safetyMode);
  }

  /** One control step. */
  step(): void {
    this.steps++;
    this.senseForce();
    const violation = this.arm.advance(this.timeS);
    if (violation) this.protectiveStop(violation.code, violation.text, violation.joint);
    const unfed = this.watchdogs.tripped(this.timeS);
    if (unfed !== undefined) this.protectiveStop(207, `fieldbus input disconnected: ${unfed}`);
    this.stepPrograms();
    this.arm.settleAbandoned();
    this.followPower();
  }

  private senseForce(): void {
    const written = this.registers.get("external_force_torque");
    const six = Array.isArray(written) ? (written as readonly number[]) : undefined;
    this.sensor.step(six, toolPose(this.arm.table, this.arm.q, [0, 0, 0, 0, 0, 0]).rotation, 64);
    this.arm.wrench = this.sensor.wrench;
  }

  private stepPrograms(): void {
    for (const program of [...this.secondary]) {
      const end = this.stepProgram(program);
      if (!end) continue;
      this.secondary = this.secondary.filter((other) => other !== program);
      this.reportError(end);
    }
    const program = this.program;
    if (!program) {
      if (this.runtimeState === runtimeState.STOPPING && !this.arm.isMoving) {
        this.runtimeState = runtimeState.STOPPED;
      }
      return;
    }
    if (this.runtimeState === runtimeState.PAUSING && this.arm.qd.every((speed) => speed === 0)) {
      this.runtimeState = runtimeState.PAUSED;
    }
    if (this.paused) return;
    const end = this.stepProgram(program);
    if (end) this.programEnded(program, end);
  }

  private stepProgram(program: Program): ProgramEnd | undefined {
    try {
      return program.step();
    } catch (error) {
      // A defect of the emulator must not take the other devices of the process along; the stream shows it.
      program.kill();
      const text = error instanceof Error ? error.message : String(error);
      return { kind: "error", error: new ScriptError(0, 0, `internal error: ${text}`) };
    }
  }

  private programEnded(program: Program, end: ProgramEnd): void {
    if (this.program === program) this.program = undefined;
    this.arm.paused = false;
    this.watchdogs.end(program);
    this.reportError(end);
    this.runtimeState = this.arm.isMoving ? runtimeState.STOPPING : runtimeState.STOPPED;
    if (this.arm.isMoving) this.arm.abandon();
    // The title is literally so on the wire: XXX stands for the program, whose name is the text.
    this.say({ kind: "key", title: "PROGRAM_XXX_STOPPED", text: program.name });
  }

  private reportError(end: ProgramEnd): void {
    if (end.kind !== "error") return;
    const { line, column, text } = end.error;
    this.say({ kind: "exception", line, column, text });
  }

  private followPower(): void {
    if (this.unpowering && this.powered && !this.arm.isMoving) this.setMode(robotMode.POWER_OFF);
    const pending = this.pendingMode;
    if (!pending || this.timeS < pending.atS) return;
    this.pendingMode = undefined;
    this.setMode(pending.mode);
    if (pending.mode === robotMode.IDLE && this.releaseBrakesWanted) this.releaseBrakes();
  }

  private setMode(mode: number): void {
    this.robotMode = mode;
    if (mode === robotMode.RUNNING) return;
    this.stopProgram();
    this.arm.hold();
  }

  // What people and clients may ask for.

  powerOn(): void {
    if (this.unpowering || this.robotMode !== robotMode.POWER_OFF) return;
    this.robotMode = robotMode.POWER_ON;
    this.pendingMode = { mode: robotMode.IDLE, atS: this.timeS + this.timing.powerOnS };
  }
  powerOff(): void {
    if (this.robotMode < robotMode.POWER_OFF) return;
    this.pendingMode = undefined;
    this.releaseBrakesWanted = false;
    this.setMode(robotMode.POWER_OFF);
  }
  powerDown(): void {
    this.powerOff();
  }
  releaseBrakes(): void {
    if (this.unpowering || this.robotMode < robotMode.POWER_OFF) return;
    if (this.robotMode === robotMode.IDLE) {
      this.releaseBrakesWanted = false;
      this.pendingMode = { mode: robotMode.RUNNING, atS: this.timeS + this.timing.brakeReleaseS };
    } else if (this.robotMode !== robotMode.RUNNING) {
      this.releaseBrakesWanted = true;
      this.powerOn();
    }
  }

  /** @param joint the one that is to blame, if any */
  protectiveStop(code: number, text: string, joint?: number): void {
    this.stopProgram();
    this.arm.stopJoints(stopDeceleration.protective);
    if (this.unpowering) return;
    const tooMany = joint !== undefined && this.stops.count(joint, this.timeS);
    this.safetyMode = tooMany ? safetyMode.FAULT : safetyMode.PROTECTIVE_STOP;
    this.protectiveSinceS = this.timeS;
    this.say({ kind: "safety", mode: this.safetyMode });
    this.say({ kind: "error", code, argument: joint ?? 0, level: reportLevel.WARNING, text });
    if (!tooMany) return;
    const why = `${stopLimit} protective stops of joint ${joint} in 8 hours`;
    this.say({ kind: "error", code: 163, argument: joint, level: reportLevel.FAULT, text: why });
  }
  /** False while the robot still forbids it. */
  unlockProtectiveStop(): boolean {
    if (!this.protectiveStopped) return true;
    if (this.timeS - this.protectiveSinceS < this.timing.unlockWaitS) return false;
    this.safetyMode = safetyMode.NORMAL;
    this.say({ kind: "safety", mode: this.safetyMode });
    return true;
  }
  emergencyStop(pressed: boolean): void {
    if (pressed) {
      this.stopProgram();
      this.pendingMode = undefined;
      this.releaseBrakesWanted = false;
      this.arm.stopJoints(stopDeceleration.emergency);
      this.safetyMode = safetyMode.ROBOT_EMERGENCY_STOP;
    } else if (this.emergencyStopped) {
      this.safetyMode = safetyMode.NORMAL;
    }
    this.say({ kind: "safety", mode: this.safetyMode });
  }
  /** A door opens: the program rests where it is, and goes on by itself when the door is closed. */
  safeguardStop(open: boolean): void {
    if (this.safetyMode !== (open ? safetyMode.NORMAL : safetyMode.SAFEGUARD_STOP)) return;
    this.safetyMode = open ? safetyMode.SAFEGUARD_STOP : safetyMode.NORMAL;
    if (open) this.holdProgram();
    else if (this.paused) this.resumeProgram();
    this.say({ kind: "safety", mode: this.safetyMode });
  }
  restartSafety(): void {
    if (this.emergencyStopped) return;
    this.safetyMode = safetyMode.NORMAL;
    this.stops.clear();
    this.powerOff();
    this.events.safetyRestarted?.();
  }

  // The panel's own program.

  /** The path of the program that is loaded now; undefined when there is none of this name. */
  load(name: string): string | undefined {
    const file = this.disk.find(name);
    if (file === undefined) return undefined;
    this.stopProgram();
    this.loaded = file;
    return file;
  }
  /** Starts the loaded program, or goes on with it after a pause. False when neither is possible. */
  play(): boolean {
    if (this.safetyMode > safetyMode.REDUCED) return false;
    if (this.panelState === "PAUSED") {
      this.resumeProgram();
      return true;
    }
    if (this.loaded === undefined || this.panelState === "PLAYING") return false;
    const { program: before } = this;
    this.runScript(this.disk.text(this.loaded) ?? "");
    this.panelRuns = this.program !== undefined && this.program !== before;
    return this.panelRuns;
  }
  /** Brings the panel's program to rest where it is. False when it does not play. */
  pause(): boolean {
    if (this.panelState !== "PLAYING") return false;
    this.holdProgram();
    return true;
  }
  private holdProgram(): void {
    if (!this.program) {
      this.arm.stopJoints(stopDeceleration.protective);
      return;
    }
    this.arm.paused = true;
    this.runtimeState = runtimeState.PAUSING;
  }
  private resumeProgram(): void {
    this.arm.paused = false;
    this.runtimeState = runtimeState.PLAYING;
  }

  /** Runs a program sent as text; a primary program ends the one that runs. */
  runScript(source: string): void {
    try {
      const routine = parseProgram(source);
      const program = new Program(routine, this.builtins);
      if (program.secondary) {
        this.secondary.push(program);
        return;
      }
      if (this.robotMode !== robotMode.RUNNING || this.safetyMode > safetyMode.REDUCED) {
        const text = `program ${program.name} not started: the robot is not running`;
        this.say({ kind: "error", code: 0, argument: 0, level: reportLevel.WARNING, text });
        return;
      }
      this.stopProgram();
      this.program = program;
      this.panelRuns = false;
      this.runtimeState = runtimeState.PLAYING;
      this.say({ kind: "key", title: "PROGRAM_XXX_STARTED", text: program.name });
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error;
      this.say({ kind: "exception", line: error.line, column: error.column, text: error.text });
    }
  }

  stopProgram(): boolean {
    const { program } = this;
    if (!program) return false;
    program.kill();
    this.programEnded(program, { kind: "killed" });
    return true;
  }

  /** The speed slider, 0…1. */
  setSpeedFraction(fraction: number): void {
    const raised = this.arm.speedFraction === 0 && fraction > 0;
    this.arm.speedFraction = Math.max(0, Math.min(1, fraction));
    if (raised && this.stopsFromZero && this.programRunning)
      this.protectiveStop(153, "position deviates from path after the speed was zero");
  }

  applyInputs(values: ReadonlyMap<string, RtdeValue>): void {
    const { sliderFraction } = this.registers.applyInputs(values);
    if (sliderFraction !== undefined) this.setSpeedFraction(sliderFraction);
    this.watchdogs.feed(values, this.timeS);
  }

  // What programs ask for.

  say(message: RobotMessage): void {
    if (message.kind === "popup") this.popup = message.text;
    this.events.say(message);
  }
  openSocket(host: string, port: number): ScriptSocket {
    return this.events.openSocket(host, port);
  }
  watch(program: Program, variable: string, minimumHz: number, action: WatchdogAction): void {
    this.watchdogs.set(program, variable, minimumHz, action, this.timeS);
  }
}
