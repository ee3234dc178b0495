/**
 * A serial port as a ByteLink. The port is locked for one owner and always kept flowing, since an unplugged port that
 * nobody reads reports nothing. Nothing here relies on flush(): it clears only the kernel's queue, not a half line.
 */
import { SerialPort } from "serialport";
import { systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import type { ByteLink } from "./byte-link.js";
import { makePrompt, type PromptPort } from "./prompt-port.js";

export interface SerialSettings {
  readonly path: string;
  readonly baudRate: number;
}

/** How long a port that closes waits for bytes on their way. */
const lastBytesS = 0.1;

export class SerialLink implements ByteLink {
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;
  readonly description: string;
  private port: SerialPort | undefined;
  private prompt: PromptPort | undefined;
  /** Resolves when the last bytes have left. */
  private written: Promise<void> = Promise.resolve();
  /** Resolves when the port of the last owner is let go. */
  private closing: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: SerialSettings,
    private readonly openTimeoutS = 3,
  ) {
    this.description = `serial ${settings.path}`;
  }

  get isOpen(): boolean {
    return this.port !== undefined;
  }

  get descriptor(): number | undefined {
    return this.port === undefined ? undefined : this.prompt?.descriptor;
  }

  holdReading(on: boolean): void {
    if (on) this.prompt?.hold();
    else this.prompt?.release();
  }

  async open(signal?: AbortSignal): Promise<void> {
    if (this.port !== undefined) return;
    if (signal?.aborted === true)
      throw new CellError("LINK_ABORTED", `${this.description}: opening was cancelled`);
    await this.closing;
    const port = new SerialPort({ ...this.settings, lock: true, autoOpen: false });
    // Without a listener an unplugged port would end the process; "close" tells the rest.
    port.on("error", () => undefined);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new CellError("LINK_CONNECT", `${this.description}: not open after ${this.openTimeoutS} s`));
      }, this.openTimeoutS * 1e3);
      port.open((error) => {
        clearTimeout(timer);
        if (!error) resolve();
        else if (/lock/i.test(error.message))
          reject(new CellError("LINK_BUSY", `${this.description}: ${error.message}`, { cause: error }));
        else reject(new CellError("LINK_CONNECT", `${this.description}: ${error.message}`, { cause: error }));
      });
    });
    this.prompt = port.port === undefined ? undefined : makePrompt(port.port);
    this.port = port;
    port.on("data", (bytes: Buffer) => {
      if (this.port === port) this.onData(bytes);
    });
    // The stream may report its end twice, once without and once with the reason.
    port.on("close", (error?: Error | null) => {
      this.lose(port, error?.message ?? "the port was closed");
    });
    port.on("error", (error) => {
      this.lose(port, error.message);
    });
  }

  write(bytes: Uint8Array): void {
    const { port } = this;
    if (port === undefined) throw new CellError("LINK_CLOSED", `${this.description} is not open`);
    this.written = new Promise((resolve) => {
      port.write(Buffer.from(bytes), (error) => {
        resolve();
        if (error) this.lose(port, error.message);
      });
    });
  }

  async close(): Promise<void> {
    const { port } = this;
    this.port = undefined;
    this.prompt?.release();
    if (port !== undefined) this.closing = this.shut(port);
    await this.closing;
  }

  private async shut(port: SerialPort): Promise<void> {
    // What was written may be a stop: it leaves before the port closes, unless the line takes nothing.
    await Promise.race([this.written, systemClock.sleep(lastBytesS)]);
    if (!port.isOpen) return;
    await new Promise<void>((resolve) => {
      port.close(() => {
        resolve();
      });
    });
  }

  private lose(port: SerialPort, reason: string): void {
    if (this.port !== port) return;
    this.port = undefined;
    this.prompt?.release();
    if (port.isOpen) port.close(() => undefined);
    this.onClosed(new CellError("LINK_CLOSED", `${this.description}: ${reason}`));
  }
}
