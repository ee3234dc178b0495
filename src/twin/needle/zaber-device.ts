/**
 * One device of a Zaber chain: its settings, its axes, and what it answers to a command. Public manual, version 7
 * firmware, a subset. Decided where the manual leaves room for this actuator:
 * - `estop` brakes with the actuator's largest acceleration and leaves the driver on, so that a retract can follow at
 *   once; flag NI tells of it. Only `driver disable` or a fault switches the driver off.
 * - Absolute moves without a reference position are refused with BADDATA; `home` finds the reference at the upper stop.
 */
import type { NeedleReply, NeedleRequest } from "../../cell/needle/codec.js";
import { flagOrder, type Flag, type Slide } from "./slide.js";
import { home, move, stop } from "./zaber-motion.js";
import { accelerationScale, fine, reject, speedScale, type Outcome } from "./zaber-outcome.js";
import { ZaberSettings } from "./zaber-settings.js";
import { ZaberStream, type StreamAxis } from "./zaber-stream.js";

export interface ZaberDeviceOptions {
  readonly deviceId: number;
  readonly address?: number;
  readonly serialNumber?: number;
  /** One, or several alike. */
  readonly slides: readonly Slide[];
}

const helpText = [
  "get|set SETTING [VALUE]",
  "home; stop; estop; move abs|rel|vel|min|max|sin ...",
  "stream 1 setup|fifo|set|line|wait|info ...",
  "warnings [clear]; driver enable|disable; tools parking|echo",
  "system reset|restore; renumber",
];

/** Commands that make no sense for a single axis. */
const deviceOnly = new Set(["stream", "system", "renumber", "help"]);

export class ZaberDevice {
  readonly settings: ZaberSettings;
  readonly slides: readonly Slide[];
  private readonly axes: readonly StreamAxis[];
  private readonly stream: ZaberStream;

  constructor(options: ZaberDeviceOptions) {
    const [first] = options.slides;
    if (first === undefined) throw new RangeError("a Zaber device has at least one axis");
    this.slides = options.slides;
    this.settings = new ZaberSettings({
      deviceId: options.deviceId,
      serialNumber: options.serialNumber ?? 60001,
      axisCount: options.slides.length,
      strokeMicrosteps: first.options.strokeMicrosteps,
      maxSpeedData: Math.round(first.options.topSpeed * speedScale),
      maxAccelerationData: Math.round(first.options.topAcceleration * accelerationScale),
    });
    this.settings.set("comm.address", options.address ?? 1);
    this.axes = options.slides.map((slide, i) => ({
      slide,
      setting: (name) => this.settings.value(name, i + 1),
    }));
    this.stream = new ZaberStream(this.axes);
  }

  get address(): number {
    return this.settings.value("comm.address");
  }

  get alerts(): boolean {
    return this.settings.value("comm.alert") === 1;
  }

  get checksums(): boolean {
    return this.settings.value("comm.checksum") === 1;
  }

  update(now: number): void {
    for (const slide of this.slides) slide.update(now);
  }

  /** Power fails and returns: settings stay, what ran is forgotten. */
  powerCycle(now: number): void {
    this.stream.disable();
    for (const slide of this.slides) slide.powerCycle(now);
  }

  /** Busy state and most severe flag of an axis, or of the device as a whole (axis 0). */
  state(axis: number): Pick<NeedleReply, "busy" | "flag"> {
    const slides = this.addressed(axis);
    const flag = flagOrder.find((one) => slides.some((slide) => slide.flags.has(one)));
    return { busy: slides.some((slide) => slide.busy), flag: flag ?? "--" };
  }

  /** What the device answers: one reply, and lines of information after it. */
  answer(request: NeedleRequest, now: number): NeedleReply[] {
    this.update(now);
    const outcome = this.execute(request, now);
    this.update(now);
    const head = { device: this.address, axis: request.axis, id: request.id, ...this.state(request.axis) };
    const rejected = "reject" in outcome;
    const replies: NeedleReply[] = [
      {
        type: "reply",
        ...head,
        accepted: !rejected,
        data: rejected ? outcome.reject : (outcome.data ?? "0"),
      },
    ];
    if (!rejected)
      for (const data of outcome.info ?? []) replies.push({ type: "info", ...head, accepted: true, data });
    return replies;
  }

  private addressed(axis: number): readonly Slide[] {
    if (axis === 0) return this.slides;
    const slide = this.slides[axis - 1];
    return slide === undefined ? this.slides : [slide];
  }

  private execute(request: NeedleRequest, now: number): Outcome {
    const { axis } = request;
    if (request.badId === true) return reject("BADMESSAGEID");
    if (axis > this.slides.length) return reject("BADAXIS");
    const [verb = "", ...words] = request.command.split(" ");
    if (axis !== 0 && deviceOnly.has(verb)) return reject("DEVICEONLY");
    switch (verb) {
      case "":
        return fine;
      case "home":
        return this.everyAxis(axis, (one) => home(one, words, now));
      case "move":
        return this.everyAxis(axis, (one) => move(one, words, now));
      case "stop":
      case "estop":
        if (words.length > 0) return reject("BADCOMMAND");
        this.stream.disable();
        return this.everyAxis(axis, (one) => stop(one, verb === "estop", now));
      case "get":
        return this.get(words, axis, now);
      case "set":
        return this.set(words, axis, now);
      case "warnings":
        return this.warnings(words, axis);
      case "driver":
        return this.driver(words, axis, now);
      case "stream":
        return this.stream.execute(words, now);
      case "tools":
        return this.tools(words, axis, now);
      case "system":
        return this.system(words, now);
      case "renumber":
        return this.renumber(words);
      case "help":
        return words.length === 0 ? { info: helpText } : reject("BADDATA");
      default:
        return reject("BADCOMMAND");
    }
  }

  /** For every axis addressed; the first that refuses speaks for all. A plan that was sent ahead ends with any motion. */
  private everyAxis(axis: number, act: (one: StreamAxis) => Outcome): Outcome {
    const chosen = axis === 0 ? this.axes : this.axes.slice(axis - 1, axis);
    for (const one of chosen) {
      const outcome = act(one);
      if ("reject" in outcome) return outcome;
    }
    this.stream.disable();
    return fine;
  }

  private get(words: readonly string[], axis: number, now: number): Outcome {
    const [name = ""] = words;
    if (words.length !== 1) return reject("BADCOMMAND");
    const chosen = axis === 0 ? this.slides.map((_, i) => i + 1) : [axis];
    const each = (value: (slide: Slide, one: number) => string): Outcome => ({
      data: chosen
        .map((one) => {
          const slide = this.slides[one - 1];
          return slide === undefined ? "NA" : value(slide, one);
        })
        .join(" "),
    });
    if (name === "pos" || name === "encoder.pos") return each((slide) => String(slide.reading(now)));
    if (name === "driver.enabled") return each((slide) => (slide.immovable === "DRIVERDISABLED" ? "0" : "1"));
    if (name === "parking.state") return each((slide) => (slide.parked ? "1" : "0"));
    if (!this.settings.has(name)) return reject("BADCOMMAND");
    if (!this.settings.isDeviceScope(name)) return each((_, one) => this.settings.show(name, one));
    return axis === 0 ? { data: this.settings.show(name) } : reject("DEVICEONLY");
  }

  private set(words: readonly string[], axis: number, now: number): Outcome {
    const [name = "", text = ""] = words;
    if (words.length !== 2 || !/^-?\d+$/.test(text)) return reject("BADDATA");
    const value = Number(text);
    if (name === "pos")
      return this.everyAxis(axis, ({ slide }) => {
        if (slide.busy) return reject("STATUSBUSY");
        slide.tell(now, value);
        return fine;
      });
    if (!this.settings.has(name)) return reject("BADCOMMAND");
    if (this.settings.isDeviceScope(name) && axis !== 0) return reject("DEVICEONLY");
    const chosen = this.settings.isDeviceScope(name)
      ? [0]
      : axis === 0
        ? this.slides.map((_, i) => i + 1)
        : [axis];
    for (const one of chosen) {
      const reason = this.settings.set(name, value, one);
      if (reason !== undefined) return reject(reason);
    }
    return fine;
  }

  private warnings(words: readonly string[], axis: number): Outcome {
    if (words.length > 0 && words.join(" ") !== "clear") return reject("BADCOMMAND");
    const slides = this.addressed(axis);
    const set: Flag[] = flagOrder.filter((flag) => slides.some((slide) => slide.flags.has(flag)));
    if (words.length > 0) for (const slide of slides) slide.clear();
    return { data: [String(set.length).padStart(2, "0"), ...set].join(" ") };
  }

  private driver(words: readonly string[], axis: number, now: number): Outcome {
    const phrase = words.join(" ");
    if (phrase !== "enable" && phrase !== "disable") return reject("BADCOMMAND");
    for (const slide of this.addressed(axis))
      if (phrase === "disable") slide.disable(now);
      else slide.enable();
    if (phrase === "disable") this.stream.disable();
    return fine;
  }

  private tools(words: readonly string[], axis: number, now: number): Outcome {
    const phrase = words.join(" ");
    if (words[0] === "echo") return { data: words.slice(1).join(" ") || "0" };
    if (phrase !== "parking park" && phrase !== "parking unpark") return reject("BADCOMMAND");
    return this.everyAxis(axis, ({ slide }) => {
      slide.update(now);
      if (slide.busy) return reject("STATUSBUSY");
      if (phrase === "parking park" && !slide.referenced) return reject("BADDATA");
      slide.parked = phrase === "parking park";
      return fine;
    });
  }

  private system(words: readonly string[], now: number): Outcome {
    const phrase = words.join(" ");
    if (phrase === "reset") this.powerCycle(now);
    else if (phrase === "restore") this.settings.restore();
    else return reject("BADCOMMAND");
    return fine;
  }

  /** The line numbers a whole chain; here a single device is given an address. */
  private renumber([text = "", ...more]: readonly string[]): Outcome {
    if (more.length > 0 || !/^\d{1,2}$/.test(text)) return reject("BADDATA");
    const reason = this.settings.set("comm.address", Number(text));
    return reason === undefined ? fine : reject(reason);
  }
}
