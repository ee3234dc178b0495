/** Makes the recordings of this daemon: where they lie, how frames are encoded, who signs their checkpoints. */
import path from "node:path";
import type { Config, LoadedConfig } from "../../base/config.js";
import { cellAddon, type FrameLease } from "../../cell/native.js";
import { CheckpointSigner } from "../../record/checkpoint.js";
import { Recording } from "../../record/recording.js";
import type { CellContext } from "./cell.js";

export class Recordings {
  private signer: CheckpointSigner | undefined;

  constructor(private readonly context: CellContext) {}

  /** Reads the signing key, or makes one. @throws CellError CONFIG_UNREADABLE */
  async open({ record }: Config): Promise<void> {
    this.signer ??= await CheckpointSigner.open(
      record.signingKey ?? path.join(record.folder, "audit-key.pem"),
    );
  }

  /** @param inputs kept word for word beside the configuration, by file name. @throws CellError AUDIT_WRITE */
  async create(
    name: string,
    { config, text }: LoadedConfig,
    inputs: Readonly<Record<string, string>>,
  ): Promise<Recording<FrameLease>> {
    const { clock, log, publish } = this.context;
    const { geometry } = cellAddon();
    const { signer } = this;
    return Recording.create<FrameLease>({
      root: config.record.folder,
      name,
      inputs: { "config.yaml": text, ...inputs },
      encoder: { extension: "jpg", encode: (frame) => geometry.encodeJpeg(frame, 85, 1) },
      clock,
      onLostFrame: (frame, error) => log.warn({ ...frame, why: error.message }, "frame not kept"),
      ...(signer === undefined
        ? {}
        : {
            checkpoints: {
              signer,
              periodS: config.record.checkpointS,
              // Out as events, too, for another machine to keep.
              onCheckpoint: (checkpoint) =>
                publish({ topic: "checkpoint", event: { ...checkpoint, atS: checkpoint.monotonicS } }),
              onFailure: (error) => log.warn({ why: error.message }, "checkpoint not kept"),
            },
          }),
    });
  }

  /** Work that a person asked for beside a procedure, and that moves something: on disk before it moves, and when it ended. */
  async around<T>(
    name: string,
    by: string,
    loaded: LoadedConfig,
    request: object,
    work: (keep: (frame: FrameLease, label: string) => void) => Promise<T>,
  ): Promise<T> {
    const recording = await this.create(name, loaded, {});
    try {
      await recording.audit.append(`operator:${by}`, "cell.motion.start", { name, ...request });
      return await work((frame, label) => void recording.frames.store(frame, label, 0));
    } finally {
      await recording.audit.append("cell", "cell.motion.end", { name }).catch(() => undefined);
      await recording.close().catch(() => undefined);
    }
  }
}
