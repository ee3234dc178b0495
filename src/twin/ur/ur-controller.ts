/**
 * The emulated UR controller: model, servers and the timer that steps them, in one object. Everything runs on this
 * process's event loop; after a delay the missed control steps are made up one by one, with a look at the sockets between
 * them, so that a busy machine delays the controller but never makes it deaf.
 */
import { monotonicNow } from "../../base/clock.js";
import type { RobotMessage } from "../../cell/ur/codec/robot-message.js";
import { ModbusTcpServer } from "../modbus/tcp-server.js";
import { corrected, type DhTable } from "./arm-geometry.js";
import { DashboardServer, type DashboardQuirks } from "./dashboard-server.js";
import { ControllerModel, type ModelEvents } from "./controller-model.js";
import { quickTiming, type ControllerTiming } from "./controller-timing.js";
import { ur5Cb3Firmware, type UrFirmware } from "./firmware.js";
import { ProgramDisk } from "./program-disk.js";
import { openProgramSocket } from "./program-socket.js";
import { UrRegisterBank } from "./modbus-registers.js";
import type { RtdeQuirks } from "./rtde-quirks.js";
import { RtdeServer } from "./rtde-server.js";
import { noStreamQuirks } from "./stream-quirks.js";
import { StreamServer } from "./stream-server.js";

export interface UrPorts {
  readonly dashboard: number;
  readonly primary: number;
  readonly secondary: number;
  readonly realtime: number;
  readonly rtde: number;
  /** 502 on the robot, which takes a privilege here. */
  readonly modbus: number;
  /** Read-only twins of the three streams; left out, they are not served. */
  readonly primaryReadOnly?: number;
  readonly secondaryReadOnly?: number;
  readonly realtimeReadOnly?: number;
}

export const standardPorts: UrPorts = {
  dashboard: 29999,
  primary: 30001,
  secondary: 30002,
  realtime: 30003,
  rtde: 30004,
  modbus: 5020,
};
/** Any free port for each service: for tests. */
export const freePorts: UrPorts = { dashboard: 0, primary: 0, secondary: 0, realtime: 0, rtde: 0, modbus: 0 };

export interface UrControllerOptions {
  readonly host: string;
  readonly ports: UrPorts;
  readonly firmware: UrFirmware;
  readonly timing: ControllerTiming;
  /** Corrections of this arm's own calibration to the model's parameters. */
  readonly calibration: DhTable | undefined;
  /** Folder whose `*.urp`, URScript as text, the dashboard can load. */
  readonly programFolder: string | undefined;
  /** Joint angles at power-on, rad. */
  readonly initialQ: readonly number[];
  readonly bannerDelayS: number;
  readonly dashboardLagS: number;
  readonly slowReaderLimitS: number;
}

export const defaultOptions: UrControllerOptions = {
  host: "127.0.0.1",
  ports: standardPorts,
  firmware: ur5Cb3Firmware,
  timing: quickTiming,
  calibration: undefined,
  programFolder: undefined,
  initialQ: [0, -1.6, 1.9, -1.9, -1.57, 0],
  bannerDelayS: 0,
  dashboardLagS: 0.3,
  slowReaderLimitS: 5,
};

export class UrController {
  readonly options: UrControllerOptions;
  private readonly disk: ProgramDisk;
  private model: ControllerModel;
  private readonly rtde: RtdeServer;
  private readonly dashboard: DashboardServer;
  private readonly streams: readonly StreamServer[];
  private readonly registerBank: UrRegisterBank;
  private readonly modbus: ModbusTcpServer;
  /** What the streams do to their clients. */
  readonly streamQuirks = noStreamQuirks();
  private local = false;
  private timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  private running = false;
  /** Monotonic time at which the controller's own time was zero. */
  private epochS = 0;
  /** Arrivals of controllers before the last restart. */
  private arrivalsBefore = 0;

  constructor(
    options: Partial<UrControllerOptions> = {},
    private readonly now: () => number = monotonicNow,
  ) {
    this.options = { ...defaultOptions, ...options };
    this.disk = new ProgramDisk({}, this.options.programFolder);
    const { host, ports, bannerDelayS, dashboardLagS, slowReaderLimitS } = this.options;
    this.model = this.freshModel(this.options.initialQ);
    const model = (): ControllerModel => this.model;
    const isLocal = (): boolean => this.local;
    this.rtde = new RtdeServer(host, ports.rtde, slowReaderLimitS, model);
    this.dashboard = new DashboardServer(
      host,
      ports.dashboard,
      { bannerDelayS, lagS: dashboardLagS, replyDelayS: 0 },
      model,
      isLocal,
    );
    this.registerBank = new UrRegisterBank(model);
    this.modbus = new ModbusTcpServer(host, ports.modbus, this.registerBank);
    const stream = (
      kind: "primary" | "secondary" | "realtime",
      port: number | undefined,
      readOnly: boolean,
    ): StreamServer[] =>
      port === undefined
        ? []
        : [new StreamServer(host, port, kind, readOnly, model, isLocal, this.streamQuirks)];
    this.streams = [
      ...stream("primary", ports.primary, false),
      ...stream("secondary", ports.secondary, false),
      ...stream("realtime", ports.realtime, false),
      ...stream("primary", ports.primaryReadOnly, true),
      ...stream("secondary", ports.secondaryReadOnly, true),
      ...stream("realtime", ports.realtimeReadOnly, true),
    ];
  }

  private freshModel(q: readonly number[], bootS = this.options.timing.bootS): ControllerModel {
    const { firmware, calibration, timing } = this.options;
    const geometry = calibration ? corrected(firmware.nominal, calibration) : firmware.geometry;
    const events: ModelEvents = {
      say: (message: RobotMessage) => {
        for (const stream of this.streams) stream.say(message);
      },
      openSocket: openProgramSocket,
      safetyRestarted: () => {
        this.rtde.listener.drop();
        for (const stream of this.streams) stream.listener.drop();
      },
    };
    return new ControllerModel({ ...firmware, geometry }, { ...timing, bootS }, q, events, this.disk);
  }

  private get listeners(): { port: number; listen(): Promise<void>; close(): Promise<void>; drop(): void }[] {
    return [
      this.rtde.listener,
      this.dashboard.listener,
      this.modbus.listener,
      ...this.streams.map((stream) => stream.listener),
    ];
  }

  /** The ports in use, once started. */
  get ports(): Required<
    Pick<UrPorts, "dashboard" | "primary" | "secondary" | "realtime" | "rtde" | "modbus">
  > {
    const at = (index: number): number => this.streams[index]?.listener.port ?? 0;
    return {
      dashboard: this.dashboard.listener.port,
      primary: at(0),
      secondary: at(1),
      realtime: at(2),
      rtde: this.rtde.listener.port,
      modbus: this.modbus.listener.port,
    };
  }

  /** Begins to listen and to boot. @throws CellError LINK_BUSY when a port is taken. */
  async start(): Promise<void> {
    try {
      for (const listener of this.listeners) await listener.listen();
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.epochS = this.now();
    this.running = true;
    this.tick();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.clearTimer();
    this.model.stopProgram();
    await Promise.all(this.listeners.map((listener) => listener.close()));
  }

  private clearTimer(): void {
    if (this.timer === undefined) return;
    if ("hasRef" in this.timer && "refresh" in this.timer) clearTimeout(this.timer);
    else clearImmediate(this.timer);
    this.timer = undefined;
  }

  private readonly tick = (): void => {
    if (!this.running) return;
    const { stepS } = this.model;
    const due = Math.floor((this.now() - this.epochS) / stepS + 1e-6);
    const behind = due - this.model.steps;
    if (behind > 0) {
      this.model.step();
      this.dashboard.afterStep();
      // Cycles that come too late are not sent: the receiver sees time jump, never a backlog.
      const fresh = behind <= 2;
      this.rtde.afterStep(fresh);
      for (const stream of this.streams) stream.afterStep(fresh);
    }
    if (behind > 1) this.timer = setImmediate(this.tick);
    else {
      const nextS = this.epochS + (this.model.steps + 1) * stepS - this.now();
      this.timer = setTimeout(this.tick, Math.max(0, Math.ceil(nextS * 1e3)));
    }
  };

  // For the twin's mechanics.

  /** Joint angles (rad) at a monotonic time, by the motion that runs; what the encoders say. */
  jointPositions(nowS: number): number[] {
    return this.model.arm.positionsAt(nowS - this.epochS - this.model.timeS);
  }
  /** Monotonic time since which the arm stands; undefined while it moves. */
  get standingSince(): number | undefined {
    return this.model.arm.isMoving ? undefined : this.epochS + this.model.arm.restSinceS;
  }
  /** Times that the arm came to rest: each is an arrival with a repeatability error of its own. */
  get arrivals(): number {
    return this.arrivalsBefore + this.model.arm.arrivals;
  }
  /** Controller time, s. */
  get timeS(): number {
    return this.model.timeS;
  }
  get programRunning(): boolean {
    return this.model.programRunning;
  }
  get robotMode(): number {
    return this.model.robotMode;
  }
  get safetyMode(): number {
    return this.model.safetyMode;
  }
  /** Highest joint speed now, rad/s. */
  get fastestJoint(): number {
    return Math.max(...this.model.arm.qd.map(Math.abs));
  }

  // Faults, for the twin's control socket and for tests.

  /** @param joint that is to blame */
  protectiveStop(code = 153, joint?: number): void {
    this.model.protectiveStop(code, "position deviates from path", joint);
  }
  /** Joint 0 has had so many protective stops within the last eight hours. */
  countStops(stops: number): void {
    this.model.stops.clear();
    for (let i = 0; i < stops; i++) this.model.stops.count(0, this.model.timeS);
  }
  safeguardStop(open: boolean): void {
    this.model.safeguardStop(open);
  }
  restartSafety(): void {
    this.model.restartSafety();
  }
  /** Somebody pushes the tool: N and N·m in the base frame. */
  pushTool(wrench: readonly number[]): void {
    this.model.sensor.acting = wrench;
  }
  /** RTDE alone begins anew. */
  restartRtde(): void {
    this.rtde.restart();
  }
  rtdeMessage(text: string): void {
    this.rtde.say(text);
  }
  /** The dashboard's connections close, as at a switch between local and remote. */
  dropDashboard(): void {
    this.dashboard.listener.drop();
  }
  emergencyStop(pressed: boolean): void {
    this.model.emergencyStop(pressed);
  }
  /** Closes every connection, as a pulled cable does after its timeouts. */
  dropConnections(): void {
    for (const listener of this.listeners) listener.drop();
  }
  silenceModbus(on: boolean): void {
    this.modbus.silent = on;
  }
  /** What the Modbus server shows of the joint angles is off by so much, rad. */
  falsifyModbus(angleError: number): void {
    this.registerBank.angleError = angleError;
  }
  localMode(on: boolean): void {
    this.local = on;
  }
  /** What RTDE does to its clients. */
  get rtdeQuirks(): RtdeQuirks {
    return this.rtde.quirks;
  }
  get rtdeClients(): number {
    return this.rtde.listener.sockets.size;
  }
  /** What the dashboard does to its clients. */
  get dashboardQuirks(): DashboardQuirks {
    return this.dashboard.quirks;
  }
  /** Whether raising the slider from 0 under a program ends in a protective stop; until the next power cycle. */
  stopFromZero(on: boolean): void {
    this.model.stopsFromZero = on;
  }
  setSpeedFraction(fraction: number): void {
    this.model.setSpeedFraction(fraction);
  }
  runScript(source: string): void {
    this.model.runScript(source);
  }
  /** Power cycle of the controller: connections drop, its time begins at zero, the arm is off and stands where it stood. */
  restart(bootS = this.options.timing.bootS): void {
    this.model.powerOff();
    const { arm } = this.model;
    this.arrivalsBefore += arm.arrivals;
    const { q } = arm;
    this.dropConnections();
    this.model = this.freshModel(q, bootS);
    this.dashboard.reset();
    this.rtdeQuirks.timeShiftS = 0;
    this.epochS = this.now();
  }
}
