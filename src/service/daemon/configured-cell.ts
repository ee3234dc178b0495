/** What a cell has once it is configured: its files read, its devices linked, the guardian awake, the reasoner started. */
import path from "node:path";
import { calibratedEdges, calibratedMaps, type Calibration } from "../../base/calibration-file.js";
import { readCellFile, type CellFile } from "../../base/cell-file.js";
import type { Clock } from "../../base/clock.js";
import type { Config } from "../../base/config.js";
import { CellError } from "../../base/errors.js";
import { FrameTree } from "../../base/frame-tree.js";
import type { Reasoner } from "../../agent/reasoners/reasoner.js";
import { RulesReasoner } from "../../agent/reasoners/rules.js";
import { ZeromqWorkerReasoner } from "../../agent/reasoners/zeromq-worker.js";
import type { StopLatch } from "../../agent/safety/stop-latch.js";
import type { Session } from "../../agent/skills/session.js";
import { Workbench } from "../../agent/skills/workbench.js";
import { cellAddon, type FrameLease } from "../../cell/native.js";
import { checkDevices, loadCalibration } from "../../record/calibration-store.js";
import { DeviceSet } from "./device-set.js";
import type { Logger } from "./logger.js";
import { ServoRunner } from "./servo-runner.js";

/** Keeps a frame of a step in the recording under a label. */
export type KeepFrame = (frame: FrameLease, label: string) => void;

/** @throws CellError SAFETY_STOPPED while a stop is latched */
export function assertNotLatched(latch: StopLatch): void {
  if (latch.latched) throw new CellError("SAFETY_STOPPED", `a stop is latched: ${latch.state.reason}`);
}

export class ConfiguredCell {
  readonly servo: ServoRunner;

  private constructor(
    readonly file: CellFile,
    readonly calibration: Calibration,
    readonly devices: DeviceSet,
    readonly reasoner: Reasoner,
  ) {
    this.servo = new ServoRunner(devices);
  }

  /**
   * Reads the files, links the devices, starts the reasoner. What was opened is closed again when it rejects.
   * @param measured the calibration to work with instead of the file that the configuration names
   * @throws CellError CONFIG_INVALID, CALIBRATION_… for files, DEVICE_… and LINK_… for devices
   */
  static async open(
    config: Config,
    log: Logger,
    signal: AbortSignal,
    measured?: Calibration,
  ): Promise<ConfiguredCell> {
    const file = await readCellFile(config.cell.file);
    if (file.id !== config.cell.id)
      throw new CellError("CONFIG_INVALID", `cell.file describes ${file.id}, cell.id is ${config.cell.id}`);
    const calibration =
      measured ?? (await loadCalibration(config.calibration.file, config.cell.id, Date.now()));
    const guardianLog = path.join(config.record.folder, "guardian.log");
    const devices = await DeviceSet.make({ config, cellFile: file, log, guardianLog });
    const reasoner = await startReasoner(config);
    const configured = new ConfiguredCell(file, calibration, devices, reasoner);
    try {
      await devices.connect(signal, log);
      checkDevices(calibration, devices.serials());
    } catch (error) {
      await configured.close();
      throw error;
    }
    return configured;
  }

  /** What the skills of one session work with. Nothing moves through it without the guardian, or over a latched stop. */
  bench(session: Session, latch: StopLatch, clock: Clock, keep: KeepFrame): Workbench {
    const { devices, file, calibration } = this;
    return new Workbench(
      {
        file,
        tree: new FrameTree(file.frames),
        edges: calibratedEdges(calibration),
        measuredViews: calibratedMaps(calibration),
        devices,
        geometry: cellAddon().geometry,
        clock,
        keep,
        tellGuardian: (inTissue) => devices.guardian.setNeedle(inTissue, devices.needle.microsteps(0)),
        assertMayMove: () => {
          devices.guardian.assertAlive();
          assertNotLatched(latch);
        },
      },
      session,
    );
  }

  /** Ends all motion now, whatever is believed. */
  stop(): void {
    this.servo.stop();
    this.devices.stop();
  }

  async close(): Promise<void> {
    this.servo.stop();
    await this.devices.close();
    await this.reasoner.close?.();
  }
}

async function startReasoner({ reasoner }: Config): Promise<Reasoner> {
  const { kind, endpoint, mode, deadlineS, ...profile } = reasoner;
  if (kind === "rules") return new RulesReasoner();
  const worker = new ZeromqWorkerReasoner({ endpoint, mode, budgetS: deadlineS, profile });
  await worker.start();
  return worker;
}
