/**
 * What a link can do to the bytes of a device: delay, split, lose, repeat, damage, add. Emulators send through one of
 * these and let it hear what arrives; the twin's control socket switches the faults.
 */

type Write = (bytes: Buffer) => void;

/** What happens to one reply. Indices count from its start, negative ones from its end. */
export type ReplyFault =
  | { readonly kind: "lost" }
  | { readonly kind: "late"; readonly delayS: number }
  | { readonly kind: "repeated" }
  | { readonly kind: "cut"; readonly count: number }
  | { readonly kind: "byte-lost"; readonly index: number }
  | { readonly kind: "byte-damaged"; readonly index: number }
  | { readonly kind: "garbage-before"; readonly bytes: Buffer };

export class WireFaults {
  /** Every reply leaves this much later. */
  delayS = 0;
  /** Replies leave in single bytes, this far apart; 0 sends them whole. */
  splitS = 0;
  /** The device hears but answers nothing. */
  silent = false;
  /** The line hands back what it is given, as a two-wire adapter does. */
  echo = false;
  /** The speeds of the two ends differ: replies arrive as noise. */
  wrongSpeed = false;

  private sent = 0;
  private readonly planned = new Map<number, ReplyFault[]>();
  private readonly timers = new Set<NodeJS.Timeout>();

  /** Replies sent so far, lost ones included. */
  get count(): number {
    return this.sent;
  }

  /** The `nth` reply from now (1: the next) suffers this. Several faults of one reply add up. */
  plan(fault: ReplyFault, nth = 1): void {
    const at = this.sent + nth;
    this.planned.set(at, [...(this.planned.get(at) ?? []), fault]);
  }

  /** The next reply loses a byte. */
  dropByte(index: number): void {
    this.plan({ kind: "byte-lost", index });
  }

  /** The next reply is preceded by these bytes. */
  insertGarbage(bytes: Buffer): void {
    this.plan({ kind: "garbage-before", bytes });
  }

  /** All as on a good line again; what is under way still arrives. */
  clear(): void {
    this.delayS = 0;
    this.splitS = 0;
    this.silent = false;
    this.echo = false;
    this.wrongSpeed = false;
    this.planned.clear();
  }

  /** What arrives at the device. */
  hear(bytes: Uint8Array, write: Write): void {
    if (this.echo) write(Buffer.from(bytes));
  }

  /** Sends one reply through the faulty link; order is kept among replies with the same delay. */
  send(bytes: Buffer, write: Write): void {
    this.sent++;
    const faults = this.planned.get(this.sent) ?? [];
    this.planned.delete(this.sent);
    if (this.silent) return;
    let sent = bytes;
    let delayS = this.delayS;
    let times = 1;
    for (const fault of faults) {
      if (fault.kind === "late") delayS += fault.delayS;
      else if (fault.kind === "repeated") times++;
      else sent = damaged(sent, fault);
    }
    if (this.wrongSpeed) sent = noise(sent);
    if (sent.length === 0) return;
    for (; times > 0; times--) this.pass(sent, delayS, write);
  }

  /** Replies still under way are lost; for the end of the emulator. */
  dispose(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  private pass(bytes: Buffer, delayS: number, write: Write): void {
    if (this.splitS > 0)
      bytes.forEach((_, i) => {
        this.later(delayS + i * this.splitS, bytes.subarray(i, i + 1), write);
      });
    else if (delayS > 0) this.later(delayS, bytes, write);
    else write(bytes);
  }

  private later(delayS: number, bytes: Buffer, write: Write): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      write(bytes);
    }, delayS * 1e3);
    this.timers.add(timer);
  }
}

function damaged(bytes: Buffer, fault: Exclude<ReplyFault, { kind: "late" | "repeated" }>): Buffer {
  switch (fault.kind) {
    case "lost":
      return Buffer.alloc(0);
    case "cut":
      return bytes.subarray(0, fault.count);
    case "garbage-before":
      return Buffer.concat([fault.bytes, bytes]);
    case "byte-lost": {
      const at = place(bytes, fault.index);
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    }
    case "byte-damaged": {
      const copy = Buffer.from(bytes);
      const at = place(bytes, fault.index);
      // One bit, as a disturbance on the line does; the sign bit of ASCII stays clear.
      copy[at] = (copy[at] ?? 0) ^ 0x01;
      return copy;
    }
  }
}

const place = (bytes: Buffer, index: number): number => (index < 0 ? bytes.length + index : index);

/** Bytes sampled at the wrong speed: framing is lost, so fewer arrive, with bits smeared together. */
function noise(bytes: Buffer): Buffer {
  const heard = bytes.filter((_, i) => i % 2 === 0);
  return Buffer.from(heard.map((byte, i) => ((byte << 1) | 0x80) ^ (bytes[i] ?? 0)));
}
