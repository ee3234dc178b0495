/**
 * Keeps the frames of every step. Encoding and writing happen in threads beside the procedure: a decision waits only for
 * the hashes, which are in the audit log already. The store holds its own lease on a frame until the file is written.
 */
import { createHash } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import { asCellError, CellError } from "../base/errors.js";
import { writeDurably } from "./durable-file.js";

/** What the store needs of a frame; a lease of the grabber fits. */
export interface StorableFrame {
  readonly camera: string;
  readonly sequence: number;
  readonly width: number;
  readonly height: number;
  release(): void;
}

/** Turns a frame into the bytes of a file, off the event loop. */
export interface FrameEncoder<Frame extends StorableFrame> {
  /** Without the dot. */
  readonly extension: string;
  encode(frame: Frame): Promise<Uint8Array>;
}

export interface StoredFrame {
  /** Relative to the recording. */
  readonly file: string;
  readonly camera: string;
  readonly sequence: number;
  readonly observationId: string;
  /** Of the file; the hash of the pixels is in the observation. */
  readonly fileSha256: string;
  readonly bytes: number;
}

export interface FrameStoreOptions<Frame extends StorableFrame> {
  readonly folder: string;
  readonly encoder: FrameEncoder<Frame>;
  /** Frames waiting at once; each holds a lease of the grabber's ring. */
  readonly backlog?: number;
  readonly onStored?: (stored: StoredFrame) => void;
  readonly onLost?: (frame: { camera: string; sequence: number }, error: CellError) => void;
}

export interface FrameStoreCounters {
  readonly stored: number;
  readonly lost: number;
  readonly waiting: number;
}

export class FrameStore<Frame extends StorableFrame> {
  private readonly pending = new Set<Promise<void>>();
  private stored = 0;
  private lost = 0;
  private ready: Promise<unknown> | undefined;

  constructor(private readonly options: FrameStoreOptions<Frame>) {}

  get counters(): FrameStoreCounters {
    return { stored: this.stored, lost: this.lost, waiting: this.pending.size };
  }

  /**
   * Takes over the lease and returns at once with the name the file will have. A full backlog or a failed write loses
   * the frame, counts it and says so; it never holds up the procedure.
   */
  store(frame: Frame, observationId: string, step: number): string {
    const { camera, sequence } = frame;
    const name = `${String(step).padStart(4, "0")}-${fileName(camera)}-${sequence}.${this.options.encoder.extension}`;
    if (this.pending.size >= (this.options.backlog ?? 8)) {
      frame.release();
      this.lose({ camera, sequence }, new CellError("INTERNAL", `${this.pending.size} frames wait already`));
      return name;
    }
    const work = this.write(frame, name, observationId)
      .catch((error: unknown) => this.lose({ camera, sequence }, asCellError(error)))
      .finally(() => {
        frame.release();
        this.pending.delete(work);
      });
    this.pending.add(work);
    return name;
  }

  /** Resolves once nothing waits any more. */
  async drain(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  private async write(frame: Frame, name: string, observationId: string): Promise<void> {
    const { folder, encoder, onStored } = this.options;
    const bytes = await encoder.encode(frame);
    this.ready ??= mkdir(folder, { recursive: true });
    await this.ready;
    const file = path.join(folder, name);
    await writeDurably(`${file}.part`, bytes);
    await rename(`${file}.part`, file);
    this.stored++;
    onStored?.({
      file: path.join(path.basename(folder), name),
      camera: frame.camera,
      sequence: frame.sequence,
      observationId,
      fileSha256: createHash("sha256").update(bytes).digest("hex"),
      bytes: bytes.length,
    });
  }

  private lose(frame: { camera: string; sequence: number }, error: CellError): void {
    this.lost++;
    this.options.onLost?.(frame, error);
  }
}

/** A camera's name as part of a file name. */
const fileName = (camera: string): string => camera.replaceAll(/[^A-Za-z0-9_-]/g, "_");
