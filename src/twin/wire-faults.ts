/**
 * What a link can do to the bytes of a device: delay, split, lose, add. Emulators send through one of these, and the
 * twin's control socket switches the faults.
 */

type Write = (bytes: Buffer) => void;

export class WireFaults {
  /** Every reply leaves this much later. */
  delayS = 0;
  /** Replies leave in single bytes, this far apart; 0 sends them whole. */
  splitS = 0;
  /** The device hears but answers nothing. */
  silent = false;

  private readonly lost: number[] = [];
  private garbage: Buffer[] = [];
  private readonly timers = new Set<NodeJS.Timeout>();

  /** The next reply loses its byte number `index` (from the start; negative from the end). */
  dropByte(index: number): void {
    this.lost.push(index);
  }

  /** The next reply is preceded by these bytes. */
  insertGarbage(bytes: Buffer): void {
    this.garbage.push(bytes);
  }

  /** Sends one reply through the faulty link; order is kept among replies with the same delay. */
  send(bytes: Buffer, write: Write): void {
    if (this.silent) return;
    let sent = bytes;
    const index = this.lost.shift();
    if (index !== undefined) {
      const at = index < 0 ? bytes.length + index : index;
      sent = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    }
    sent = Buffer.concat([...this.garbage, sent]);
    this.garbage = [];
    if (this.splitS > 0)
      sent.forEach((_, i) => {
        this.later(this.delayS + i * this.splitS, sent.subarray(i, i + 1), write);
      });
    else if (this.delayS > 0) this.later(this.delayS, sent, write);
    else write(sent);
  }

  /** Replies still under way are lost; for the end of the emulator. */
  dispose(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  private later(delayS: number, bytes: Buffer, write: Write): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      write(bytes);
    }, delayS * 1e3);
    this.timers.add(timer);
  }
}
