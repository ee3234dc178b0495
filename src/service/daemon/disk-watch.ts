/** Room for recordings, looked at from time to time: `statfs` may block, so nobody waits for it. */
import { statfs } from "node:fs/promises";
import path from "node:path";

const periodS = 5;

export class DiskWatch {
  private free: number | "unknown" = "unknown";
  private why = "";
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly folder: () => string) {}

  /** Bytes that an ordinary user may still write; unknown when the folder cannot be asked. */
  get freeBytes(): number | "unknown" {
    return this.free;
  }

  get detail(): string {
    return this.free === "unknown" ? this.why : `${(this.free / 1e6).toFixed(0)} MB free in ${this.folder()}`;
  }

  /** The first look is over when it resolves. */
  async start(): Promise<void> {
    await this.look();
    this.timer ??= setInterval(() => void this.look(), periodS * 1e3);
  }

  end(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async look(): Promise<void> {
    const folder = this.folder();
    try {
      const { bavail, bsize } = await statfs(folder).catch(() => statfs(path.dirname(folder)));
      this.free = bavail * bsize;
    } catch (error) {
      this.free = "unknown";
      this.why = `${folder}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}
