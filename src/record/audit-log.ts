/**
 * The audit log: append-only, hash-chained, on disk before `append` resolves. Writes and fdatasync run in the thread pool
 * of libuv, so the event loop is never held; entries that queue up while one sync is under way share the next. Nothing
 * may move on an entry that has not resolved, and after one failed write the log refuses everything.
 */
import { open, rename, type FileHandle } from "node:fs/promises";
import { createHash } from "node:crypto";
import path from "node:path";
import { systemClock, type Clock } from "../base/clock.js";
import { CellError } from "../base/errors.js";
import { logClosed, logOpened, logTailKept, sealEntry, type AuditEntry } from "./audit-entry.js";
import { readAuditLog, type AuditCheckpoint } from "./audit-verify.js";
import { syncFolder, writeDurably } from "./durable-file.js";

export interface AuditOptions {
  /** Names the chain; an existing file must carry the same. */
  readonly stream: string;
  readonly clock?: Clock;
  /** Wall time, for people alone. */
  readonly wall?: () => Date;
}

interface Waiting {
  readonly line: string;
  readonly entry: AuditEntry;
  readonly resolve: (entry: AuditEntry) => void;
  readonly reject: (error: unknown) => void;
}

/** What a crash left behind the last whole entry. */
export interface KeptTail {
  readonly bytes: number;
  readonly sha256: string;
  readonly keptAs: string;
}

export class AuditLog {
  private readonly waiting: Waiting[] = [];
  private writing = false;
  private failure: CellError | undefined;
  private durable: AuditCheckpoint;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly handle: FileHandle,
    readonly file: string,
    readonly stream: string,
    private readonly clock: Clock,
    private readonly wall: () => Date,
    private seq: number,
    private prev: string,
  ) {
    this.durable = { seq, hash: prev };
  }

  /**
   * Opens or continues a log. A torn tail (a crash in the middle of a write) is set aside in a file beside it and noted as
   * an entry; it was never acted on.
   * @throws CellError AUDIT_BROKEN when the entries do not verify, AUDIT_WRITE when the file cannot be written
   */
  static async open(file: string, options: AuditOptions): Promise<AuditLog> {
    const { stream, clock = systemClock, wall = () => new Date() } = options;
    try {
      const handle = await open(file, "a+");
      try {
        const reading = await readAuditLog(file);
        if (!reading.ok && !onlyTorn(reading)) {
          throw new CellError("AUDIT_BROKEN", `${file}: ${reading.why}`);
        }
        const known = reading.good.at(0)?.stream;
        if (known !== undefined && known !== stream) {
          throw new CellError("AUDIT_BROKEN", `${file} is the log of ${known}, not of ${stream}`);
        }
        const tail =
          reading.tornBytes > 0 ? await setTailAside(handle, file, reading.goodBytes, wall()) : undefined;
        await syncFolder(path.dirname(file));
        const log = new AuditLog(handle, file, stream, clock, wall, reading.entries, reading.head);
        await log.append("log", logOpened, { continued: reading.entries });
        if (tail !== undefined) await log.append("log", logTailKept, tail);
        return log;
      } catch (error) {
        await handle.close();
        throw error;
      }
    } catch (error) {
      if (error instanceof CellError) throw error;
      throw new CellError("AUDIT_WRITE", `${file} cannot be opened`, { cause: error });
    }
  }

  /**
   * Appends one entry; resolves once it is on disk. Order of calls is order of entries.
   * @throws CellError AUDIT_WRITE: then nothing may move
   */
  append(actor: string, action: string, data: unknown): Promise<AuditEntry> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (this.closing !== undefined && action !== logClosed) {
      return Promise.reject(new CellError("AUDIT_WRITE", `${this.file} is closed`));
    }
    let sealed: ReturnType<typeof sealEntry>;
    try {
      sealed = sealEntry({
        seq: this.seq + 1,
        stream: this.stream,
        monotonicS: this.clock.now(),
        wall: this.wall().toISOString(),
        actor,
        action,
        data,
        prev: this.prev,
      });
    } catch (error) {
      return Promise.reject(new CellError("AUDIT_WRITE", `${action} has no JSON form`, { cause: error }));
    }
    this.seq = sealed.entry.seq;
    this.prev = sealed.entry.hash;
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...sealed, resolve, reject });
      if (!this.writing) void this.drain();
    });
  }

  /** False after a failed write: it refuses everything from then on. */
  get writable(): boolean {
    return this.failure === undefined;
  }

  /** The newest entry that is on disk, for a checkpoint kept elsewhere. */
  get head(): AuditCheckpoint {
    return this.durable;
  }

  /** Ends the log with a closing entry. Idempotent; after a failed write it only closes the file. */
  close(): Promise<void> {
    this.closing ??= (async () => {
      try {
        if (this.failure === undefined) await this.append("log", logClosed, { entries: this.seq + 1 });
      } finally {
        await this.handle.close();
      }
    })();
    return this.closing;
  }

  private async drain(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0);
      try {
        await writeAll(this.handle, Buffer.from(batch.map(({ line }) => `${line}\n`).join("")));
        await this.handle.datasync();
      } catch (error) {
        this.failure = new CellError("AUDIT_WRITE", `${this.file}: entry ${batch[0]?.entry.seq ?? 0}`, {
          cause: error,
        });
        for (const { reject } of [...batch, ...this.waiting.splice(0)]) reject(this.failure);
        break;
      }
      const newest = batch.at(-1)?.entry;
      if (newest !== undefined) this.durable = { seq: newest.seq, hash: newest.hash };
      for (const { entry, resolve } of batch) resolve(entry);
    }
    this.writing = false;
  }
}

/** Nothing wrong but the unfinished last line. */
const onlyTorn = (reading: {
  firstBad: number | null;
  entries: number;
  tornBytes: number;
  why: string;
}): boolean =>
  reading.tornBytes > 0 &&
  reading.firstBad === reading.entries + 1 &&
  reading.why.includes("cut in the middle");

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

async function setTailAside(
  handle: FileHandle,
  file: string,
  goodBytes: number,
  wall: Date,
): Promise<KeptTail> {
  const { size } = await handle.stat();
  const tail = Buffer.alloc(size - goodBytes);
  await handle.read(tail, 0, tail.length, goodBytes);
  const keptAs = `${file}.torn-${wall.toISOString().replaceAll(":", "-")}`;
  await writeDurably(`${keptAs}.part`, tail);
  await rename(`${keptAs}.part`, keptAs);
  await handle.truncate(goodBytes);
  await handle.sync();
  return {
    bytes: tail.length,
    sha256: createHash("sha256").update(tail).digest("hex"),
    keptAs: path.basename(keptAs),
  };
}
