/** A two-way stream of bytes to one device: a TCP connection or a serial port. One owner each. */
import type { CellError } from "../../base/errors.js";

export interface ByteLink {
  /** For messages: `tcp 127.0.0.1:12321`, `serial /dev/ttyUSB0`. */
  readonly description: string;
  readonly isOpen: boolean;
  /** Descriptor of an open serial port, for the guardian; undefined on TCP. */
  readonly descriptor: number | undefined;
  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  open(signal?: AbortSignal): Promise<void>;
  /** Queues bytes in order. @throws CellError LINK_CLOSED when the link is not open */
  write(bytes: Uint8Array): void;
  /** Idempotent; never reports through `onClosed`. */
  close(): Promise<void>;
  /** Set once by the owner, before open(). */
  onData: (bytes: Uint8Array) => void;
  /** The other side or the cable closed an open link; called once for each open(). */
  onClosed: (reason: CellError) => void;
}
