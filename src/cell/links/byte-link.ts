/** A two-way stream of bytes to one device: a TCP connection or a serial port. One owner each. */
import type { CellError } from "../../base/errors.js";

export interface ByteLink {
  /** For messages: `tcp 127.0.0.1:12321`, `serial /dev/ttyUSB0`. */
  readonly description: string;
  readonly isOpen: boolean;
  /**
   * Descriptor of an open line that others must share, for the guardian and for who borrows it; undefined on TCP, where
   * they connect by themselves.
   */
  readonly descriptor: number | undefined;
  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  open(signal?: AbortSignal): Promise<void>;
  /** Queues bytes in order. @throws CellError LINK_CLOSED when the link is not open */
  write(bytes: Uint8Array): void;
  /** While it is on nothing is read and nothing delivered: who borrows the line reads its descriptor. Writing goes on. */
  holdReading(on: boolean): void;
  /** Idempotent; never reports through `onClosed`. */
  close(): Promise<void>;
  /** Set once by the owner, before open(). */
  onData: (bytes: Uint8Array) => void;
  /** The other side or the cable closed an open link; called once for each open(). */
  onClosed: (reason: CellError) => void;
}
