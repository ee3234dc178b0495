/**
 * The simulated cell as one object: emulated controllers on their links, mechanics between them, the scene for the
 * camera server, the scenario's faults, and the two sockets: control for anyone, truth for the evaluator alone.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { monotonicNow } from "../base/clock.js";
import type { CellFile } from "../base/cell-file.js";
import { CellError } from "../base/errors.js";
import type { TargetFile } from "../base/target-file.js";
import { add, type Vec3 } from "../base/transform.js";
import { cameraFaults, type CameraSwitches } from "./camera-faults.js";
import { CameraServer } from "./camera-server.js";
import { KohzuEmulator } from "./kohzu/kohzu-emulator.js";
import { kohzuFaults } from "./kohzu/kohzu-faults.js";
import { KohzuTcpServer } from "./kohzu/kohzu-server.js";
import { referenceCellStages } from "./kohzu/stage-models.js";
import { Mechanics, usualStepS, type MechanicsEvent, type MechanicsState } from "./mechanics.js";
import { MotionLog } from "./motion-log.js";
import { twinAddon, type SceneWriter } from "./native.js";
import { NeedleDriveEmulator } from "./needle/needle-drive.js";
import { needleFaults } from "./needle/needle-faults.js";
import { placeFiles, type Place } from "./place.js";
import { PtyPort } from "./pty-port.js";
import { RpcServer } from "./rpc-server.js";
import { FaultSwitches, type FaultTable } from "./fault-switches.js";
import type { Fault, FaultNow, Scenario } from "./scenario.js";
import { sceneJson } from "./scene-files.js";
import { packScene } from "./scene-layout.js";
import { drawTrueCell, type TrueCell } from "./true-cell.js";
import { drawPlate, scenePlate, targetMountings, type TruePlate } from "./target-plate.js";
import { TruthHistory } from "./truth-history.js";
import { UrController } from "./ur/ur-controller.js";
import { urFaults } from "./ur/ur-faults.js";

export class Twin {
  readonly cell: TrueCell;
  private readonly plate: TruePlate;
  readonly events: MechanicsEvent[] = [];
  private readonly ur: UrController;
  private readonly aries: KohzuEmulator;
  private readonly ariesServer: KohzuTcpServer;
  private readonly needle: NeedleDriveEmulator;
  private readonly pty: PtyPort;
  private readonly mechanics: Mechanics;
  private readonly history = new TruthHistory();
  private readonly motions = new MotionLog();
  private readonly cameras = new CameraServer();
  private readonly cameraSwitches: CameraSwitches = {
    online: [true, true],
    frozen: [false, false],
    focusKnockM: [0, 0],
  };
  private readonly switches: FaultSwitches;
  private readonly pending: { readonly fault: Fault; sinceS: number | undefined }[];
  private writer: SceneWriter | undefined;
  private control: RpcServer | undefined;
  private truth: RpcServer | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readyS = Infinity;
  private lastHistoryS = 0;
  private state: MechanicsState | undefined;

  constructor(
    file: CellFile,
    target: TargetFile,
    private readonly scenario: Scenario,
    seed: number,
    private readonly place: Place,
  ) {
    this.cell = drawTrueCell(file, scenario, seed);
    this.plate = drawPlate(target, seed);
    this.ur = new UrController({
      host: place.host,
      ports: place.ur,
      initialQ: scenario.start.armRad ?? file.knownPoseRad,
      programFolder: path.join(place.folder, "programs"),
    });
    this.aries = new KohzuEmulator({
      axes: referenceCellStages.map((model) => ({ model, homed: scenario.start.homed })),
      seed,
      speedFactor: scenario.stageSpeedFactor,
    });
    this.ariesServer = new KohzuTcpServer(this.aries);
    this.needle = new NeedleDriveEmulator({
      seed,
      homed: scenario.start.homed,
      dialect: place.needleDialect,
    });
    this.pty = new PtyPort({ path: placeFiles(place).needle });
    this.pending = scenario.faults.map((fault) => ({ fault, sinceS: undefined }));
    this.mechanics = new Mechanics(
      this.cell,
      scenario,
      {
        armJoints: (nowS) => this.ur.jointPositions(nowS),
        stage: (axis, nowS) => this.aries.truePosition(axis, nowS),
        needle: (nowS) => this.needle.positionM(nowS),
        focusKnock: (view) => this.cameraSwitches.focusKnockM[view],
        tiltCentreWander: (nowS): Vec3 =>
          add(
            this.aries.centreWander(file.stageAxes.tiltX, nowS),
            this.aries.centreWander(file.stageAxes.tiltY, nowS),
          ),
      },
      (event) => this.events.push(event),
    );
    const stageLinks = {
      drop: () => this.ariesServer.dropConnections(),
      cut: (on: boolean) => this.ariesServer.cut(on),
    };
    this.switches = new FaultSwitches(
      cameraFaults(this.cameras, this.cameraSwitches),
      this.cellFaults(),
      urFaults(this.ur),
      kohzuFaults(this.aries, stageLinks),
      needleFaults(this.needle, this.pty),
    );
    const unknown = scenario.faults.find(({ fault }) => !this.switches.has(fault));
    if (unknown) {
      throw new CellError("CONFIG_INVALID", `scenario ${scenario.name}: there is no fault ${unknown.fault}`, {
        remedy: "`npx surgiclaw twin faults` lists them",
      });
    }
  }

  /** Serves every device; resolves when both cameras deliver. @throws CellError when an address is taken */
  async start(): Promise<void> {
    const files = placeFiles(this.place);
    await mkdir(this.place.folder, { recursive: true });
    const scene = sceneJson(this.cell, this.scenario, this.mechanics.phantom, this.place.cameras);
    await writeFile(files.scene, JSON.stringify(scene));
    this.writer = new (twinAddon().SceneWriter)(files.state);
    // What is wrong from the first moment on must be so before anybody can look.
    this.step();
    await this.ur.start();
    await this.ariesServer.listen(this.place.host, this.place.ariesPort);
    const device = this.needle.attach((bytes) => this.pty.write(bytes));
    this.pty.onData = device;
    await this.pty.open();
    await this.cameras.start(files);
    this.readyS = monotonicNow();
    this.timer = setInterval(() => this.step(), usualStepS * 1e3);
    this.control = new RpcServer(files.control, {
      fault: (params) => this.fault(params as unknown as FaultNow),
      faults: () => this.switches.list(),
      info: () => ({ scenario: this.scenario.name, description: this.scenario.description }),
    });
    await this.control.start(0o660);
    this.truth = new RpcServer(files.truth, this.truthMethods());
    await this.truth.start(0o600);
  }

  private step(): void {
    const nowS = monotonicNow();
    this.applyDue(nowS);
    const state = this.mechanics.step(nowS);
    this.state = state;
    this.writer?.write(
      packScene({
        monotonicNs: nowS * 1e9,
        light: state.light,
        tissueShiftM: state.shift,
        cameras: [0, 1].map((i) => ({
          focusM: state.focusM[i as 0 | 1],
          wanderM: state.wanderM[i as 0 | 1],
          online: this.cameraSwitches.online[i as 0 | 1],
          frozen: this.cameraSwitches.frozen[i as 0 | 1],
        })),
        segments: state.segments,
        plate: state.plate === undefined ? undefined : scenePlate(this.plate, state.plate),
      }),
    );
    if (nowS - this.lastHistoryS >= 0.0099) {
      this.lastHistoryS = nowS;
      this.history.push(state);
      this.noteMotions(nowS);
    }
  }

  /** Encoders as an observer sees them; what stands still within their noise stands still. */
  private noteMotions(nowS: number): void {
    this.ur.jointPositions(nowS).forEach((q, i) => this.motions.observe("arm", i + 1, q, nowS, 1e-6));
    referenceCellStages.forEach((model, i) =>
      this.motions.observe("stage", i + 1, this.aries.truePosition(i + 1, nowS), nowS, model.step),
    );
    this.motions.observe("needle", 1, this.needle.positionM(nowS), nowS, 1e-6);
  }

  /** Faults of the scenario whose time or event has come. */
  private applyDue(nowS: number): void {
    for (const entry of [...this.pending]) {
      if (entry.sinceS === undefined && this.hasCome(entry.fault, nowS)) entry.sinceS = nowS;
      if (entry.sinceS === undefined || nowS < entry.sinceS + entry.fault.delayS) continue;
      this.pending.splice(this.pending.indexOf(entry), 1);
      this.fault(entry.fault);
    }
  }

  private hasCome({ atS, afterHooked, afterInserted }: Fault, nowS: number): boolean {
    const count = (kind: MechanicsEvent["kind"]): number =>
      this.events.filter((event) => event.kind === kind).length;
    return (
      (atS !== undefined && (atS === 0 || nowS - this.readyS >= atS)) ||
      (afterHooked !== undefined && count("hooked") >= afterHooked) ||
      (afterInserted !== undefined && count("left-tissue") >= afterInserted)
    );
  }

  /** Switches one fault; used by scenarios and by the control socket. @throws CellError COMMAND_INVALID */
  fault({ fault, target }: FaultNow): object {
    this.switches.set(fault, target);
    return { fault, target: target ?? null };
  }

  private cellFaults(): FaultTable {
    return {
      "needle-broken": {
        what: "the needle's end with the hook is gone",
        set: () => (this.mechanics.needleBroken = true),
      },
      "target-mounted": {
        what: "a calibration target on the needle's holder, in place of needle and tissue",
        value: "on: facing both views; view1 or view2: facing that one alone; off: taken away again",
        set: (value = "on") => {
          const mounting = targetMountings.find((one) => one === value);
          if (mounting === undefined)
            throw new RangeError(`${value} is none of ${targetMountings.join(", ")}`);
          this.mechanics.mountTarget(mounting);
        },
      },
      "link-drop": {
        what: "all connections of a controller close",
        value: "arm or stages",
        set: (value) => {
          if (value === "arm") this.ur.dropConnections();
          else if (value === "stages") this.ariesServer.dropConnections();
          else throw new RangeError(`${String(value)} is neither arm nor stages`);
        },
      },
    };
  }

  private truthMethods(): Record<string, (params: Record<string, unknown>) => unknown> {
    return {
      scene: () => ({
        seed: this.cell.seed,
        scenario: this.scenario.name,
        microscopes: this.cell.microscopes,
        tissue: this.cell.tissue,
        motion: this.mechanics.motion,
        phantom: this.mechanics.phantom,
        plate: this.plate,
      }),
      at: ({ timeS }) => this.history.at(Number(timeS)) ?? null,
      now: () => this.state ?? null,
      events: () => this.events,
      motions: () => this.motions.all(),
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.allSettled([
      this.control?.stop(),
      this.truth?.stop(),
      this.ur.stop(),
      this.ariesServer.close(),
      this.pty.close(),
      this.cameras.stop(),
    ]);
  }
}
