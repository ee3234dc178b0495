/**
 * Stream 1 of an emulated Zaber device: motions that are queued ahead and run by the drive alone. Decided where the
 * manual leaves room for this actuator: each line comes to rest before the next one begins.
 */
import {
  accelerationScale,
  fine,
  reject,
  speedScale,
  type Outcome,
  type RejectReason,
} from "./zaber-outcome.js";
import type { Ahead, Slide } from "./slide.js";

/** Entries that a stream holds ahead. */
const streamDepth = 32;

const longestWaitMs = 60_000;

export interface StreamAxis {
  readonly slide: Slide;
  /** Current settings of the axis, data units and microsteps. */
  setting(name: "maxspeed" | "accel" | "limit.min" | "limit.max"): number;
}

interface Live {
  readonly axis: StreamAxis;
  readonly number: number;
  corked: boolean;
  /** Something of it has moved: what is queued after the slide came to rest comes late. */
  begun: boolean;
  speed: number;
  acceleration: number;
  readonly queue: Ahead[];
}

export class ZaberStream {
  private live: Live | undefined;

  constructor(private readonly axes: readonly StreamAxis[]) {}

  /** Forgets everything that was queued; what runs is not touched. */
  disable(): void {
    this.live = undefined;
  }

  /** `stream 1 …` without the first word. */
  execute(words: readonly string[], now: number): Outcome {
    const [number, verb = "", ...rest] = words;
    if (number !== "1") return reject("BADDATA");
    const phrase = rest.join(" ");
    if (verb === "setup") return this.setUp(phrase);
    const { live } = this;
    if (verb === "info")
      return { data: live === undefined ? "disabled - - - - -" : `live ${live.number} - - - -` };
    if (live === undefined) return reject("BADCOMMAND");
    if (verb === "fifo") return this.fifo(live, phrase, now);
    const last = rest.at(-1) ?? "";
    if (!/^-?\d+$/.test(last)) return reject("BADDATA");
    const value = Number(last);
    if (verb === "set") return this.setting(live, rest[0], value);
    if (verb !== "wait" && verb !== "line") return reject("BADCOMMAND");
    if (live.queue.length >= streamDepth) return reject("AGAIN");
    const entry = verb === "wait" ? this.wait(value) : this.line(live, rest[0], value, now);
    if ("reject" in entry) return entry;
    const { immovable } = live.axis.slide;
    if (immovable !== undefined) return reject(immovable);
    live.queue.push(entry);
    live.axis.slide.flags.delete("FS");
    this.feed(live, now);
    return fine;
  }

  private setUp(phrase: string): Outcome {
    if (phrase === "disable") {
      this.live = undefined;
      return fine;
    }
    const match = /^live ([1-9])$/.exec(phrase);
    const number = Number(match?.[1]);
    const axis = this.axes[number - 1];
    if (axis === undefined) return reject("BADDATA");
    if (axis.slide.busy) return reject("STATUSBUSY");
    const [speed, acceleration] = [
      axis.setting("maxspeed") / speedScale,
      axis.setting("accel") / accelerationScale,
    ];
    this.live = { axis, number, corked: false, begun: false, speed, acceleration, queue: [] };
    return fine;
  }

  private fifo(live: Live, phrase: string, now: number): Outcome {
    const { slide } = live.axis;
    if (phrase === "cork") {
      if (slide.busy) return reject("STATUSBUSY");
      live.corked = true;
      return fine;
    }
    if (phrase !== "uncork") return reject("BADCOMMAND");
    if (slide.immovable !== undefined) return reject(slide.immovable);
    live.corked = false;
    live.begun = false;
    slide.flags.delete("NI");
    this.feed(live, now);
    return fine;
  }

  /** Lays all that is queued behind what runs: from then on it is a function of time alone. */
  private feed(live: Live, now: number): void {
    if (live.corked || live.queue.length === 0) return;
    if (live.begun && !live.axis.slide.busy) live.axis.slide.flags.add("ND");
    live.axis.slide.ahead(now, live.queue.splice(0));
    live.begun = true;
  }

  private wait(value: number): Ahead | { readonly reject: RejectReason } {
    return value < 0 || value > longestWaitMs ? reject("BADDATA") : { kind: "wait", durationS: value / 1e3 };
  }

  private line(
    live: Live,
    form: string | undefined,
    value: number,
    now: number,
  ): Ahead | { readonly reject: RejectReason } {
    const { slide } = live.axis;
    if (form !== "abs" && form !== "rel") return reject("BADCOMMAND");
    if (form === "abs" && !slide.referenced) return reject("BADDATA");
    const target = form === "abs" ? value : (this.queuedEnd(live) ?? slide.reading(now)) + value;
    if (target < live.axis.setting("limit.min") || target > live.axis.setting("limit.max")) {
      slide.flags.add("FB");
      return reject("BADDATA");
    }
    return { kind: "line", target, speed: live.speed, acceleration: live.acceleration };
  }

  private queuedEnd(live: Live): number | undefined {
    const last = [...live.queue].reverse().find((entry) => entry.kind === "line");
    return last?.kind === "line" ? last.target : live.axis.slide.busy ? live.axis.slide.commanded : undefined;
  }

  private setting(live: Live, name: string | undefined, value: number): Outcome {
    const { topSpeed, topAcceleration } = live.axis.slide.options;
    if (name === "maxspeed" && value > 0 && value / speedScale <= topSpeed * 1.000001)
      live.speed = value / speedScale;
    else if (name === "tanaccel" && value > 0 && value / accelerationScale <= topAcceleration * 1.000001)
      live.acceleration = value / accelerationScale;
    else return reject("BADDATA");
    return fine;
  }
}
