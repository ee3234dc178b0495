/**
 * A serial line with one or more Zaber devices on it, daisy-chained as the manual describes: a command to device 0 is
 * for all of them, every device answers for itself, alerts come unasked when a motion has ended.
 */
import { decodeRequest, encodeReply, LineAssembler, type NeedleReply } from "../../cell/needle/codec.js";
import type { WireFaults } from "../wire-faults.js";
import type { ZaberDevice } from "./zaber-device.js";

export class ZaberLine {
  private readonly lines = new LineAssembler();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(
    readonly devices: readonly ZaberDevice[],
    private readonly faults: WireFaults,
    private readonly clock: () => number,
    private readonly write: (bytes: Buffer) => void,
  ) {
    for (const device of devices)
      device.slides.forEach((slide, i) => {
        slide.onMotion = (endS) => {
          this.alertAt(device, i + 1, endS);
        };
      });
  }

  receive(bytes: Uint8Array): void {
    this.faults.hear(bytes, this.write);
    let lines: string[];
    try {
      lines = this.lines.push(bytes);
    } catch {
      return; // longer than any command: forgotten
    }
    for (const line of lines) this.take(line);
  }

  /** What had come half is forgotten, as when the power fails. */
  reset(): void {
    this.lines.reset();
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }

  private take(line: string): void {
    const request = decodeRequest(line);
    if (request === undefined) return;
    const now = this.clock();
    if (request.command === "renumber" && request.device === 0) {
      // The chain is numbered in the order of the cable; each device answers under its new address.
      this.devices.forEach((device, i) => device.settings.set("comm.address", i + 1));
      for (const device of this.devices) this.send(device, device.answer({ ...request, command: "" }, now));
      return;
    }
    for (const device of this.devices) {
      if (request.device !== 0 && request.device !== device.address) continue;
      const replies = device.answer(request, now);
      if (request.unanswered !== true) this.send(device, replies);
    }
  }

  private send(device: ZaberDevice, replies: readonly NeedleReply[]): void {
    for (const reply of replies)
      this.faults.send(Buffer.from(encodeReply(reply, device.checksums), "latin1"), this.write);
  }

  private alertAt(device: ZaberDevice, axis: number, endS: number): void {
    const key = `${this.devices.indexOf(device)} ${axis}`;
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    if (!device.alerts || endS === Infinity) return;
    const timer = setTimeout(
      () => {
        this.timers.delete(key);
        device.update(this.clock());
        const state = device.state(axis);
        if (state.busy || !device.alerts) return;
        const head = { device: device.address, axis, id: undefined, accepted: true, data: "" };
        this.send(device, [{ type: "alert", ...head, ...state }]);
      },
      Math.max(0, endS - this.clock()) * 1e3 + 1,
    );
    this.timers.set(key, timer);
  }
}
