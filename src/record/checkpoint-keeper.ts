/**
 * Takes signed checkpoints of one recording's chain: every period, while something new is on disk, and at the end. Each goes
 * into `checkpoints.jsonl` beside the log and to whoever sends it off the machine. The public key lies beside, too.
 */
import path from "node:path";
import { systemClock, type Clock } from "../base/clock.js";
import { asCellError, type CellError } from "../base/errors.js";
import type { AuditLog } from "./audit-log.js";
import { appendCheckpoint, type Checkpoint, type CheckpointSigner } from "./checkpoint.js";
import { writeDurably } from "./durable-file.js";

export const checkpointsFile = "checkpoints.jsonl";
export const checkpointKeyFile = "audit-key.pub";

export interface CheckpointOptions {
  readonly signer: CheckpointSigner;
  readonly periodS: number;
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
  /** One that could not be kept; the chain itself goes on. */
  readonly onFailure?: (error: CellError) => void;
}

export class CheckpointKeeper {
  private readonly timer: NodeJS.Timeout;
  private taken = 0;
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: string,
    private readonly audit: AuditLog,
    private readonly options: CheckpointOptions,
    private readonly clock: Clock,
    private readonly wall: () => Date,
  ) {
    this.timer = setInterval(() => this.take(), options.periodS * 1e3);
    // Nothing waits for the next checkpoint.
    this.timer.unref();
  }

  static async start(
    folder: string,
    audit: AuditLog,
    options: CheckpointOptions,
    clock: Clock = systemClock,
    wall: () => Date = () => new Date(),
  ): Promise<CheckpointKeeper> {
    await writeDurably(path.join(folder, checkpointKeyFile), options.signer.publicKeyPem);
    return new CheckpointKeeper(path.join(folder, checkpointsFile), audit, options, clock, wall);
  }

  /** Signs the newest durable entry, unless it has been signed. */
  take(): void {
    const { seq, hash } = this.audit.head;
    if (seq <= this.taken) return;
    this.taken = seq;
    const checkpoint = this.options.signer.sign({
      stream: this.audit.stream,
      seq,
      hash,
      monotonicS: this.clock.now(),
      wall: this.wall().toISOString(),
    });
    this.options.onCheckpoint?.(checkpoint);
    this.writing = this.writing
      .then(() => appendCheckpoint(this.file, checkpoint))
      .catch((error: unknown) => this.options.onFailure?.(asCellError(error)));
  }

  /** The last one, over whatever has reached the disk. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.take();
    await this.writing;
  }
}
