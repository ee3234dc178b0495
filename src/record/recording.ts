/** The folder of one procedure: audit log, frames, the inputs as they were, and the summary. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../base/clock.js";
import { CellError } from "../base/errors.js";
import { AuditLog } from "./audit-log.js";
import { CheckpointKeeper, type CheckpointOptions } from "./checkpoint-keeper.js";
import { replaceFile, syncFolder, writeDurably } from "./durable-file.js";
import { FrameStore, type FrameEncoder, type StorableFrame } from "./frame-store.js";

export interface RecordingOptions<Frame extends StorableFrame> {
  /** Where recordings lie, e.g. `runs`. */
  readonly root: string;
  /** Of the procedure; becomes part of the folder's name. */
  readonly name: string;
  /** Inputs kept word for word, by file name: `config.yaml`, `procedure.yaml`, … */
  readonly inputs: Readonly<Record<string, string>>;
  readonly encoder: FrameEncoder<Frame>;
  readonly clock?: Clock;
  readonly wall?: () => Date;
  /** Signs the chain's head from time to time and at its end. */
  readonly checkpoints?: CheckpointOptions;
  /** A frame that could not be kept. */
  readonly onLostFrame?: (frame: { camera: string; sequence: number }, error: CellError) => void;
}

export class Recording<Frame extends StorableFrame = StorableFrame> {
  private constructor(
    readonly folder: string,
    readonly audit: AuditLog,
    readonly frames: FrameStore<Frame>,
    private readonly checkpoints: CheckpointKeeper | undefined,
  ) {}

  /**
   * Makes `ROOT/<wall time>-<name>/`; never writes into one that exists.
   * @throws CellError AUDIT_WRITE when the disk refuses
   */
  static async create<Frame extends StorableFrame>(
    options: RecordingOptions<Frame>,
  ): Promise<Recording<Frame>> {
    const wall = options.wall ?? (() => new Date());
    try {
      await mkdir(options.root, { recursive: true });
      const folder = await freshFolder(options.root, `${folderTime(wall())}-${safeName(options.name)}`);
      for (const [file, text] of Object.entries(options.inputs)) {
        await writeDurably(path.join(folder, path.basename(file)), text);
      }
      await mkdir(path.join(folder, "frames"));
      await syncFolder(folder);
      const audit = await AuditLog.open(path.join(folder, "audit.jsonl"), {
        stream: path.basename(folder),
        wall,
        ...(options.clock === undefined ? {} : { clock: options.clock }),
      });
      const frames = new FrameStore<Frame>({
        folder: path.join(folder, "frames"),
        encoder: options.encoder,
        // The entry ties file to observation; should the write fail, the loop meets the same failure at its own.
        onStored: (stored) => void audit.append("frames", "frame.stored", stored).catch(() => undefined),
        onLost: (frame, error) => {
          void audit.append("frames", "frame.lost", { ...frame, why: error.message }).catch(() => undefined);
          options.onLostFrame?.(frame, error);
        },
      });
      const keeper =
        options.checkpoints === undefined
          ? undefined
          : await CheckpointKeeper.start(folder, audit, options.checkpoints, options.clock, wall);
      return new Recording(folder, audit, frames, keeper);
    } catch (error) {
      if (error instanceof CellError) throw error;
      throw new CellError("AUDIT_WRITE", `no recording can be made in ${options.root}`, { cause: error });
    }
  }

  /** Writes `summary.json`, whole or not at all. */
  async writeSummary(summary: unknown): Promise<string> {
    const file = path.join(this.folder, "summary.json");
    await replaceFile(file, `${JSON.stringify(summary, undefined, 2)}\n`);
    return file;
  }

  /** Waits for the frames under way and closes the chain. Idempotent. */
  async close(): Promise<void> {
    await this.frames.drain();
    try {
      await this.audit.close();
    } finally {
      await this.checkpoints?.close();
    }
  }
}

/** `2026-11-30T16-20-11.482Z`: sorts by time, legal everywhere. */
const folderTime = (at: Date): string => at.toISOString().replaceAll(":", "-");

const safeName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 60) || "run";

async function freshFolder(root: string, name: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const folder = path.join(root, attempt === 1 ? name : `${name}-${attempt}`);
    try {
      await mkdir(folder);
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || attempt >= 100) throw error;
    }
  }
}
