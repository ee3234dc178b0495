/**
 * An insertion needle on a voice coil, controlled through a subset of Zaber ASCII. Motion is an exact function of time:
 * a row of motions laid end to end, so that a whole stroke sent ahead as a stream runs without anybody pacing it.
 *
 * Decided where the public manual leaves room for this actuator:
 * - `estop` brakes with the actuator's largest acceleration and leaves the driver on (as on version 7 firmware), so that
 *   a retract can follow at once; flag NI tells of it. Only `driver disable` or a fault switches the driver off.
 * - Absolute moves without a reference position are refused with BADDATA; `home` finds the reference at the upper stop.
 * - Each line of a stream comes to rest before the next one begins.
 */
import { monotonicNow } from "../../base/clock.js";
import { Random } from "../../base/random.js";
import {
  decodeRequest,
  encodeReply,
  LineAssembler,
  type NeedleReply,
  type NeedleRequest,
} from "../../cell/needle/codec.js";
import { PtyPort, type PtyOptions } from "../pty-port.js";
import { WireFaults } from "../wire-faults.js";
import { NeedleSettings } from "./needle-settings.js";
import { SlideMotion, type SlideState } from "./slide-motion.js";

export interface NeedleDriveOptions {
  readonly seed: number;
  readonly microstepM?: number;
  readonly strokeM?: number;
  readonly maxSpeedMS?: number;
  readonly maxAccelerationMS2?: number;
  readonly deviceId?: number;
  /** Where the slide stands at power-up, m from the upper stop. */
  readonly initialM?: number;
  /** The reference is already known. */
  readonly homed?: boolean;
  readonly clock?: () => number;
}

/** maxspeed: data per microstep/s. accel: data per microstep/s². */
const speedScale = 1.6384;
const accelerationScale = 1.6384e-4;

/** Entries that a stream holds ahead. */
const streamDepth = 32;

/** Speed of the search for the upper stop, m/s. */
const homingSpeedMS = 0.005;

/** Warning flags, the most severe first: a reply shows the first one that is set. */
const flagOrder = ["FO", "FD", "FQ", "FS", "FB", "FE", "WH", "WR", "NC", "NI", "ND"] as const;
type Flag = (typeof flagOrder)[number];

type StreamEntry =
  | { readonly kind: "line"; readonly target: number; readonly speed: number; readonly acceleration: number }
  | { readonly kind: "wait"; readonly durationS: number };

interface Stream {
  corked: boolean;
  speed: number;
  acceleration: number;
  readonly queue: StreamEntry[];
}

type Outcome = { readonly data?: string } | { readonly reject: string };
const fine: Outcome = {};
const reject = (reason: string): Outcome => ({ reject: reason });

export class NeedleDriveEmulator {
  readonly faults = new WireFaults();

  private readonly microstepM: number;
  private readonly strokeMicrosteps: number;
  private readonly topSpeed: number;
  private readonly topAcceleration: number;
  private readonly settings: NeedleSettings;
  private readonly clock: () => number;
  private readonly lines = new LineAssembler();
  private readonly scalePhase: number;
  private write: (bytes: Buffer) => void = () => undefined;

  private readonly flags = new Set<Flag>();
  /** Motions laid end to end; the last one's end is where the slide will rest. */
  private row: SlideMotion[] = [];
  private rest: number;
  /** What the drive believes minus where the slide is, microsteps; 0 once homed. */
  private offset = 0;
  private homing = false;
  private stream: Stream | undefined;
  private obstacle: number | undefined;
  /** When the slide runs into the obstacle. */
  private stallS: number | undefined;
  private alertTimer: NodeJS.Timeout | undefined;

  constructor(options: NeedleDriveOptions) {
    this.microstepM = options.microstepM ?? 1e-7;
    this.strokeMicrosteps = Math.round((options.strokeM ?? 6e-3) / this.microstepM);
    this.topSpeed = (options.maxSpeedMS ?? 0.5) / this.microstepM;
    this.topAcceleration = (options.maxAccelerationMS2 ?? 30) / this.microstepM;
    this.clock = options.clock ?? monotonicNow;
    this.settings = new NeedleSettings({
      deviceId: options.deviceId ?? 50951,
      strokeMicrosteps: this.strokeMicrosteps,
      maxSpeedData: Math.round(this.topSpeed * speedScale),
      maxAccelerationData: Math.round(this.topAcceleration * accelerationScale),
    });
    this.scalePhase = new Random(options.seed, "needle scale").uniform(0, 2 * Math.PI);
    this.rest = (options.initialM ?? 0) / this.microstepM;
    if (options.homed !== true) this.loseReference();
  }

  /** Where the slide truly is, m below the upper stop; the scale's interpolation error included. Changes nothing. */
  positionM(nowS: number = this.clock()): number {
    const nominal = this.slideAt(nowS).position * this.microstepM;
    const error = (x: number): number => 0.1e-6 * Math.sin((2 * Math.PI * x) / 20e-6 + this.scalePhase);
    return nominal + error(nominal) - error(0);
  }

  isMoving(nowS: number = this.clock()): boolean {
    this.update(nowS);
    return this.row.length > 0;
  }

  /** Connects the serial line. @returns what to feed with the bytes that arrive */
  attach(write: (bytes: Buffer) => void): (bytes: Uint8Array) => void {
    this.write = write;
    return (bytes) => {
      let lines: string[];
      try {
        lines = this.lines.push(bytes);
      } catch {
        return; // longer than any command: forgotten
      }
      for (const line of lines) this.receive(line);
    };
  }

  /** Something hard in the way at this depth, m: the slide stalls there. Undefined takes it away. */
  block(positionM: number | undefined): void {
    this.obstacle = positionM === undefined ? undefined : positionM / this.microstepM;
    const now = this.clock();
    this.update(now);
    const [motion] = this.row;
    if (motion !== undefined) this.row = [this.obstructed(motion), ...this.row.slice(1)];
    if (this.stallS !== undefined) this.row.length = 1;
  }

  /** The driver switches itself off, as on overcurrent. */
  failDriver(): void {
    const now = this.clock();
    this.update(now);
    this.brake(now);
    this.flags.add("FD");
  }

  /** Power fails and returns: the slide stays where it is, the reference is lost. */
  powerCycle(): void {
    const now = this.clock();
    this.update(now);
    this.rest = this.slideAt(now).position;
    this.row = [];
    this.stream = undefined;
    this.homing = false;
    this.stallS = undefined;
    this.flags.clear();
    this.lines.reset();
    this.loseReference();
  }

  dispose(): void {
    clearTimeout(this.alertTimer);
    this.faults.dispose();
  }

  private loseReference(): void {
    this.flags.add("WR");
    this.offset = -Math.round(this.rest);
  }

  private slideAt(now: number): SlideState {
    for (const motion of this.row) if (now < motion.endS) return motion.at(now);
    return { position: this.row.at(-1)?.end ?? this.rest, speed: 0 };
  }

  /** Drops motions that have ended and begins what a stream holds, at the very time its predecessor ended. */
  private update(now: number): void {
    this.feedStream(now);
    if (this.stallS !== undefined && now >= this.stallS) {
      this.rest = this.slideAt(this.stallS).position;
      this.row = [];
      this.stream = undefined;
      this.homing = false;
      this.stallS = undefined;
      this.flags.add("FS");
    }
    const last = this.row.at(-1);
    if (last !== undefined && now >= last.endS && this.streamIdle()) {
      this.rest = last.end;
      this.row = [];
      if (this.homing) {
        this.homing = false;
        this.offset = 0;
        this.rest = 0;
        this.flags.delete("WR");
      }
    }
  }

  private streamIdle(): boolean {
    return this.stream === undefined || this.stream.corked || this.stream.queue.length === 0;
  }

  private feedStream(now: number): void {
    const { stream } = this;
    if (stream === undefined || stream.corked) return;
    // All that is queued is laid out at once: what follows is then a function of time alone.
    for (let entry = stream.queue.shift(); entry !== undefined; entry = stream.queue.shift()) {
      const before = this.row.at(-1);
      const startS = before?.endS ?? now;
      const from = before?.end ?? this.rest;
      const motion =
        entry.kind === "wait"
          ? SlideMotion.wait(startS, from, entry.durationS)
          : SlideMotion.to(
              startS,
              { position: from, speed: 0 },
              entry.target,
              entry.speed,
              entry.acceleration,
            );
      this.row.push(this.obstructed(motion));
      if (this.stallS !== undefined) stream.queue.length = 0;
    }
  }

  /** A motion that runs into the obstacle ends there, stalled. */
  private obstructed(motion: SlideMotion): SlideMotion {
    if (this.obstacle === undefined) return motion;
    const time = motion.timeAt(this.obstacle);
    if (time === undefined) return motion;
    this.stallS = time;
    return motion.cut(time);
  }

  private get busy(): boolean {
    return this.row.length > 0;
  }

  private go(now: number, target: number, speed: number, acceleration: number): void {
    const state = this.slideAt(now);
    if (this.busy) this.flags.add("NI");
    else this.flags.delete("NI");
    this.stream = undefined;
    this.homing = false;
    this.stallS = undefined;
    // The slide has a hard stop at either end of its stroke.
    const reachable = Math.min(Math.max(target, 0), this.strokeMicrosteps);
    this.row = [this.obstructed(SlideMotion.to(now, state, reachable, speed, acceleration))];
    this.scheduleAlert(now);
  }

  private brake(now: number, deceleration = this.topAcceleration): void {
    this.stream = undefined;
    this.homing = false;
    if (!this.busy) return;
    this.flags.add("NI");
    this.stallS = undefined;
    this.row = [SlideMotion.brake(now, this.slideAt(now), deceleration)];
    this.scheduleAlert(now);
  }

  private scheduleAlert(now: number): void {
    clearTimeout(this.alertTimer);
    if (this.settings.value("comm.alert") === 0) return;
    const endS = this.row.at(-1)?.endS ?? now;
    this.alertTimer = setTimeout(
      () => {
        this.update(this.clock());
        this.send({ type: "alert", device: 1, axis: 1, id: undefined, accepted: true, data: "" });
      },
      (endS - now) * 1e3 + 1,
    );
  }

  private receive(line: string): void {
    const request = decodeRequest(line);
    if (request === undefined || (request.device !== 1 && request.device !== 0)) return;
    const now = this.clock();
    this.update(now);
    const outcome = request.axis > 1 ? reject("BADAXIS") : this.execute(request, now);
    this.update(now);
    const rejected = "reject" in outcome;
    this.send({
      type: "reply",
      device: 1,
      axis: request.axis,
      id: request.id,
      accepted: !rejected,
      data: rejected ? outcome.reject : (outcome.data ?? "0"),
    });
  }

  private send(reply: Omit<NeedleReply, "busy" | "flag">): void {
    const flag = flagOrder.find((one) => this.flags.has(one)) ?? "--";
    const text = encodeReply({ ...reply, busy: this.busy, flag }, this.settings.value("comm.checksum") === 1);
    this.faults.send(Buffer.from(text, "latin1"), (bytes) => this.write(bytes));
  }

  private execute(request: NeedleRequest, now: number): Outcome {
    const [verb = "", ...words] = request.command.split(" ");
    switch (verb) {
      case "":
        return fine;
      case "home":
        return this.home(words, now);
      case "move":
        return this.move(words, now);
      case "stop":
        if (words.length > 0) return reject("BADCOMMAND");
        this.brake(now, this.acceleration());
        return fine;
      case "estop":
        if (words.length > 0) return reject("BADCOMMAND");
        this.brake(now);
        return fine;
      case "get":
        return this.get(words, request.axis, now);
      case "set":
        return this.set(words, request.axis, now);
      case "warnings":
        return this.warnings(words);
      case "driver":
        return this.driver(words, now);
      case "stream":
        return this.streamCommand(words, now);
      case "tools":
        return words[0] === "echo" ? { data: words.slice(1).join(" ") || "0" } : reject("BADCOMMAND");
      case "system":
        if (words.join(" ") !== "reset") return reject("BADCOMMAND");
        this.powerCycle();
        return fine;
      default:
        return reject("BADCOMMAND");
    }
  }

  private acceleration(): number {
    return this.settings.value("accel") / accelerationScale;
  }

  /** Why no motion is possible, if so. */
  private immovable(): Outcome | undefined {
    if (this.flags.has("FO") || this.flags.has("FD")) return reject("DRIVERDISABLED");
    return undefined;
  }

  private home(words: readonly string[], now: number): Outcome {
    if (words.length > 0) return reject("BADCOMMAND");
    const held = this.immovable();
    if (held) return held;
    this.flags.delete("FS");
    this.go(now, 0, homingSpeedMS / this.microstepM, this.topAcceleration / 10);
    this.homing = true;
    return fine;
  }

  private move(words: readonly string[], now: number): Outcome {
    const [form = "", ...given] = words;
    const values = given.map(Number);
    if (values.some((value) => !Number.isInteger(value))) return reject("BADDATA");
    const held = this.immovable();
    if (held) return held;
    const counted = form === "abs" || form === "rel" || form === "vel" ? 1 : 0;
    if (given.length < counted || given.length > counted + (form === "vel" ? 1 : 2)) return reject("BADDATA");
    const [speedData, accelerationData] = form === "vel" ? [undefined, values[1]] : values.slice(counted);
    const speed = (speedData ?? this.settings.value("maxspeed")) / speedScale;
    const acceleration = (accelerationData ?? this.settings.value("accel")) / accelerationScale;
    if (!(speed > 0 && speed <= this.topSpeed * 1.000001)) return reject("BADDATA");
    if (!(acceleration > 0 && acceleration <= this.topAcceleration * 1.000001)) return reject("BADDATA");
    const [low, high] = [this.settings.value("limit.min"), this.settings.value("limit.max")];
    const here = this.slideAt(now).position + this.offset;
    const first = values[0] ?? 0;
    if (form === "vel") {
      const wanted = Math.abs(first) / speedScale;
      if (wanted > this.topSpeed) return reject("BADDATA");
      if (first === 0) this.brake(now, acceleration);
      else this.go(now, (first > 0 ? high : low) - this.offset, wanted, acceleration);
      return fine;
    }
    const targets: Readonly<Record<string, number>> = {
      abs: first,
      rel: Math.round(here) + first,
      min: low,
      max: high,
    };
    const target = targets[form];
    if (target === undefined) return reject("BADCOMMAND");
    if (this.flags.has("WR") && form !== "rel") return reject("BADDATA");
    if (target < low || target > high) return reject("BADDATA");
    this.flags.delete("FS");
    this.go(now, target - this.offset, speed, acceleration);
    return fine;
  }

  private get(words: readonly string[], axis: number, now: number): Outcome {
    const [name = ""] = words;
    if (words.length !== 1) return reject("BADCOMMAND");
    if (name === "pos" || name === "encoder.pos")
      return { data: String(Math.round(this.slideAt(now).position + this.offset)) };
    if (name === "driver.enabled") return { data: this.flags.has("FO") || this.flags.has("FD") ? "0" : "1" };
    if (!this.settings.has(name)) return reject("BADCOMMAND");
    if (axis !== 0 && this.settings.isDeviceScope(name)) return reject("DEVICEONLY");
    return { data: this.settings.show(name) };
  }

  private set(words: readonly string[], axis: number, now: number): Outcome {
    const [name = "", text = ""] = words;
    if (words.length !== 2 || !/^-?\d+$/.test(text)) return reject("BADDATA");
    const value = Number(text);
    if (name === "pos") {
      if (this.busy) return reject("STATUSBUSY");
      this.offset = value - Math.round(this.slideAt(now).position);
      this.flags.delete("WR");
      return fine;
    }
    if (!this.settings.has(name)) return reject("BADCOMMAND");
    if (axis !== 0 && this.settings.isDeviceScope(name)) return reject("DEVICEONLY");
    const reason = this.settings.set(name, value);
    return reason === undefined ? fine : reject(reason);
  }

  private warnings(words: readonly string[]): Outcome {
    const set = flagOrder.filter((flag) => this.flags.has(flag));
    const data = [String(set.length).padStart(2, "0"), ...set].join(" ");
    if (words.length > 0) {
      if (words.join(" ") !== "clear") return reject("BADCOMMAND");
      // What is still so cannot be cleared.
      for (const flag of ["FQ", "FS", "FB", "FE", "NC", "NI", "ND"] as const) this.flags.delete(flag);
    }
    return { data };
  }

  private driver(words: readonly string[], now: number): Outcome {
    if (words.join(" ") === "disable") {
      this.brake(now);
      this.flags.add("FO");
      return fine;
    }
    if (words.join(" ") !== "enable") return reject("BADCOMMAND");
    this.flags.delete("FO");
    this.flags.delete("FD");
    return fine;
  }

  private streamCommand(words: readonly string[], now: number): Outcome {
    const [number, verb = "", ...rest] = words;
    if (number !== "1") return reject("BADDATA");
    const phrase = rest.join(" ");
    if (verb === "setup") {
      if (phrase === "disable") {
        this.stream = undefined;
        return fine;
      }
      if (phrase !== "live 1") return reject("BADDATA");
      if (this.busy) return reject("STATUSBUSY");
      const [speed, acceleration] = [this.settings.value("maxspeed") / speedScale, this.acceleration()];
      this.stream = { corked: false, speed, acceleration, queue: [] };
      return fine;
    }
    const { stream } = this;
    if (verb === "info") return { data: stream === undefined ? "disabled - - - - -" : "live 1 - - - -" };
    if (stream === undefined) return reject("BADCOMMAND");
    if (verb === "fifo" && (phrase === "cork" || phrase === "uncork")) {
      const held = phrase === "uncork" ? this.immovable() : undefined;
      if (held) return held;
      if (phrase === "cork" && this.busy) return reject("STATUSBUSY");
      stream.corked = phrase === "cork";
      if (!stream.corked) {
        this.flags.delete("NI");
        this.feedStream(now);
        this.scheduleAlert(now);
      }
      return fine;
    }
    const value = Number(rest.at(-1));
    if (!Number.isInteger(value)) return reject("BADDATA");
    if (verb === "set") return this.streamSetting(stream, rest[0], value);
    if (stream.queue.length >= streamDepth) return reject("AGAIN");
    if (verb === "wait") {
      if (value < 0 || value > 60_000) return reject("BADDATA");
      stream.queue.push({ kind: "wait", durationS: value / 1e3 });
    } else if (verb === "line" && rest[0] === "abs") {
      if (this.flags.has("WR")) return reject("BADDATA");
      if (value < this.settings.value("limit.min") || value > this.settings.value("limit.max")) {
        this.flags.add("FB");
        return reject("BADDATA");
      }
      const { speed, acceleration } = stream;
      stream.queue.push({ kind: "line", target: value - this.offset, speed, acceleration });
    } else return reject("BADCOMMAND");
    this.flags.delete("FS");
    return this.immovable() ?? fine;
  }

  private streamSetting(stream: Stream, name: string | undefined, value: number): Outcome {
    if (name === "maxspeed" && value > 0 && value / speedScale <= this.topSpeed * 1.000001)
      stream.speed = value / speedScale;
    else if (name === "tanaccel" && value > 0 && value / accelerationScale <= this.topAcceleration * 1.000001)
      stream.acceleration = value / accelerationScale;
    else return reject("BADDATA");
    return fine;
  }
}

/** Serves the drive on a pseudo-terminal. Close the port to pull the cable. */
export async function serveNeedleOnPty(drive: NeedleDriveEmulator, options: PtyOptions): Promise<PtyPort> {
  const port = new PtyPort(options);
  port.onData = drive.attach((bytes) => {
    port.write(bytes);
  });
  await port.open();
  return port;
}
