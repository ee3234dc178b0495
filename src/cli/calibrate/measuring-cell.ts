/**
 * A cell opened for measuring, without a daemon: its devices linked and active, the guardian awake, every motion in an
 * audit log, both pictures exposed and in focus. Ctrl-C stops all motion.
 */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { systemClock } from "../../base/clock.js";
import type { Calibration } from "../../base/calibration-file.js";
import type { LoadedConfig } from "../../base/config.js";
import { asCellError, CellError } from "../../base/errors.js";
import { AdjustExposure } from "../../agent/skills/adjust-exposure.js";
import { AdjustFocus } from "../../agent/skills/adjust-focus.js";
import { Session } from "../../agent/skills/session.js";
import type { SkillContext, SkillOutcome } from "../../agent/skills/skill.js";
import type { Workbench } from "../../agent/skills/workbench.js";
import { StopLatch } from "../../agent/safety/stop-latch.js";
import type { AuditLog } from "../../record/audit-log.js";
import { CommandClient } from "../../service/command/client.js";
import { ConfiguredCell } from "../../service/daemon/configured-cell.js";
import { axesToHome, homeAxes } from "../../service/daemon/homing.js";
import { LatchKeeper } from "../../service/daemon/latch-memory.js";
import { createLogger } from "../../service/daemon/logger.js";
import { ProgressRegistry } from "../../service/daemon/progress.js";
import { Recordings } from "../../service/daemon/recordings.js";
import { clientName } from "../shared/connection.js";

interface Preparation {
  run(context: Pick<SkillContext, "signal" | "stage">): Promise<SkillOutcome>;
}

export interface MeasuringCell {
  readonly cell: ConfiguredCell;
  readonly bench: Workbench;
  readonly audit: AuditLog;
  /** Folder of the recording. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Two owners of one cell would move it against each other. @throws CellError COMMAND_INVALID while a daemon answers */
async function requireNoDaemon(endpoint: string): Promise<void> {
  const client = new CommandClient(endpoint, clientName());
  try {
    client.open();
    await client.call("status", {}, { timeoutS: 1 });
  } catch (error) {
    if (asCellError(error).category === "link") return;
    throw error;
  } finally {
    client.close();
  }
  throw new CellError("COMMAND_INVALID", `a daemon holds this cell (${endpoint})`, {
    remedy: "stop the daemon, measure, start it again",
  });
}

/**
 * Opens the cell, makes it ready, runs `work`, and closes it whatever happens; motion ends first.
 * @param name of the recording
 * @param calibration what the work builds on, where it is not the file that the configuration names
 * @param options prepare: expose and focus by the needle first; without, nothing is looked at
 * @throws CellError of files and devices; SAFETY_STOPPED while a stop is latched; CALIBRATION_REFUSED when a picture cannot
 * be exposed or focused
 */
export async function withMeasuringCell<T>(
  loaded: LoadedConfig,
  name: string,
  signal: AbortSignal,
  say: (line: string) => void,
  work: (cell: MeasuringCell) => Promise<T>,
  calibration?: Calibration,
  { prepare = true }: { readonly prepare?: boolean } = {},
): Promise<T> {
  const { config } = loaded;
  await requireNoDaemon(config.command.endpoint);
  await mkdir(config.record.folder, { recursive: true });
  const log = createLogger({ level: "warn", file: path.join(config.record.folder, "calibrate.log") });
  const clock = systemClock;
  const latch = new StopLatch();
  await new LatchKeeper(latch, { clock, log }).open(config.record.folder);
  if (latch.latched)
    throw new CellError("SAFETY_STOPPED", `a stop is latched: ${latch.state.reason}`, {
      remedy: "start the daemon, look at the cell, `surgiclaw reset`, stop the daemon, measure",
    });
  const recordings = new Recordings({
    loaded,
    clock,
    log,
    progress: new ProgressRegistry(),
    publish: () => undefined,
  });
  await recordings.open(config);
  say("linking the devices");
  const cell = await ConfiguredCell.open(config, log, signal, calibration);
  const stop = (): void => cell.stop();
  signal.addEventListener("abort", stop, { once: true });
  cell.devices.guardian.onChange = ({ alive }) => {
    if (!alive) stop();
  };
  try {
    const recording = await recordings.create(name, loaded, {});
    try {
      await recording.audit.append("operator:calibrate", "cell.motion.start", { name });
      say("powering up, homing");
      await cell.devices.activate(signal);
      await homeAxes(cell, axesToHome(cell), signal);
      const bench = cell.bench(new Session([], 0), latch, clock, (frame, label) => {
        void recording.frames.store(frame, label, 0);
      });
      const stage: SkillContext["stage"] = async (what, measurements = {}) => {
        await recording.audit.append("cell", "calibrate.stage", { name: what, ...measurements });
      };
      // These two need nothing of a skill's context but signal and stages.
      const skills: readonly (readonly [string, Preparation])[] = [
        ["exposure", new AdjustExposure(() => bench)],
        ["focus", new AdjustFocus(() => bench)],
      ];
      for (const [what, skill] of prepare ? skills : []) {
        say(what);
        requireSuccess(what, await skill.run({ signal, stage }));
      }
      return await work({ cell, bench, audit: recording.audit, folder: recording.folder, signal });
    } finally {
      cell.stop();
      await recording.audit.append("cell", "cell.motion.end", { name }).catch(() => undefined);
      await recording.close().catch(() => undefined);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    await cell.close();
  }
}

function requireSuccess(what: string, { status, detail }: SkillOutcome): void {
  if (status === "succeeded") return;
  throw new CellError("CALIBRATION_REFUSED", `${what} was not reached: ${detail}`, {
    remedy: "the needle's end must lie in both pictures, lit and near the focus",
  });
}
