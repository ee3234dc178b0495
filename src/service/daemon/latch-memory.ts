/**
 * The stop latch across a crash: a small file that is whole or absent. A daemon that finds it starts latched, so that what
 * a person stopped stays stopped until a person resets it. The stop itself never waits for the disk.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { asCellError, type CellError } from "../../base/errors.js";
import type { StopLatch } from "../../agent/safety/stop-latch.js";
import { replaceFile } from "../../record/durable-file.js";
import type { CellContext } from "./cell.js";

const memorySchema = z.strictObject({ latched: z.boolean(), reason: z.string() });
export type LatchMemoryContent = z.output<typeof memorySchema>;

export class LatchMemory {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: string,
    private readonly onFailure: (error: CellError) => void,
  ) {}

  /** What an earlier daemon left; a file that cannot be understood counts as a stop. */
  async read(): Promise<LatchMemoryContent> {
    let text: string;
    try {
      text = await readFile(this.file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { latched: false, reason: "" };
      return { latched: true, reason: `${this.file} cannot be read: ${(error as Error).message}` };
    }
    try {
      return memorySchema.parse(JSON.parse(text));
    } catch {
      return { latched: true, reason: `${this.file} is damaged` };
    }
  }

  /** In the order of the calls; resolves when it is on disk, or could not be. */
  write(content: LatchMemoryContent): Promise<void> {
    this.writing = this.writing
      .then(() => replaceFile(this.file, `${JSON.stringify(content)}\n`))
      .catch((error: unknown) => this.onFailure(asCellError(error)));
    return this.writing;
  }
}

/** Keeps the latch of a cell in its memory, and knows which stop was only the daemon's own end. */
export class LatchKeeper {
  private memory: LatchMemory | undefined;
  private last: Promise<void> = Promise.resolve();
  /** Whether a stop was latched before the daemon itself began to end. */
  private latchedBefore: boolean | undefined;

  constructor(
    private readonly latch: StopLatch,
    private readonly context: Pick<CellContext, "clock" | "log">,
  ) {}

  /** A stop that an earlier daemon left latched is latched again. Once. */
  async open(folder: string): Promise<void> {
    if (this.memory !== undefined) return;
    const { clock, log } = this.context;
    const memory = new LatchMemory(path.join(folder, "stop-latch.json"), (error) =>
      log.error({ why: error.message }, "the stop latch is not on disk"),
    );
    this.memory = memory;
    const { latched, reason } = await memory.read();
    if (latched) this.latch.engage(`latched before this start: ${reason}`, clock.now());
    this.latch.onChange = (state) => {
      if (this.latchedBefore === undefined)
        this.last = memory.write({ latched: state.latched, reason: state.reason });
    };
  }

  /** Resolves when the last change is on disk, or has had its time. */
  async kept(): Promise<void> {
    const over = new AbortController();
    const enough = this.context.clock.sleep(1, over.signal).catch(() => undefined);
    await Promise.race([this.last, enough]);
    over.abort();
  }

  /** The stop that follows is the daemon's own: nothing that a person has to reset at the next start. */
  daemonStops(): void {
    this.latchedBefore ??= this.latch.latched;
  }

  async endOfStop(): Promise<void> {
    if (this.latchedBefore === false) await this.memory?.write({ latched: false, reason: "" });
    else await this.kept();
    this.latchedBefore = undefined;
  }
}
