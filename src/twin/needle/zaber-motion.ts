/** `home`, `move …` and `stop` of one axis: from words to what its slide does. */
import { accelerationScale, fine, reject, speedScale, type Outcome } from "./zaber-outcome.js";
import type { StreamAxis } from "./zaber-stream.js";

/** Data values are whole numbers; the top speed in data is rounded, so a hair more is let pass. */
const slack = 1.000001;

export function home({ slide }: StreamAxis, words: readonly string[], now: number): Outcome {
  if (words.length > 0) return reject("BADCOMMAND");
  if (slide.immovable !== undefined) return reject(slide.immovable);
  slide.flags.delete("FS");
  slide.home(now);
  return fine;
}

/** `move abs|rel|vel|min|max|sin …`, the words after `move`. */
export function move(axis: StreamAxis, words: readonly string[], now: number): Outcome {
  const [form = "", ...given] = words;
  if (form === "sin") return sine(axis, given, now);
  const values = given.map(Number);
  if (given.some((text) => !/^-?\d+$/.test(text))) return reject("BADDATA");
  switch (form) {
    case "vel":
      return given.length === 1 || given.length === 2 ? velocity(axis, values, now) : reject("BADDATA");
    case "abs":
    case "rel":
      return given.length >= 1 && given.length <= 3 ? place(axis, form, values, now) : reject("BADDATA");
    case "min":
    case "max":
      return given.length <= 2 ? place(axis, form, [0, ...values], now) : reject("BADDATA");
    default:
      return reject("BADCOMMAND");
  }
}

/** Brakes with the set deceleration, or with the largest one. */
export function stop(axis: StreamAxis, largest: boolean, now: number): Outcome {
  if (largest) axis.slide.brake(now);
  else axis.slide.brake(now, axis.setting("accel") / accelerationScale);
  return fine;
}

function place(axis: StreamAxis, form: string, values: readonly number[], now: number): Outcome {
  const { slide } = axis;
  if (slide.immovable !== undefined) return reject(slide.immovable);
  const [first = 0, speedData = axis.setting("maxspeed"), accelerationData = axis.setting("accel")] = values;
  const [speed, acceleration] = [speedData / speedScale, accelerationData / accelerationScale];
  if (!within(axis, speed, acceleration)) return reject("BADDATA");
  const [low, high] = [axis.setting("limit.min"), axis.setting("limit.max")];
  const targets: Readonly<Record<string, number>> = {
    abs: first,
    rel: slide.reading(now) + first,
    min: low,
    max: high,
  };
  const target = targets[form] ?? NaN;
  if (!slide.referenced && form !== "rel") return reject("BADDATA");
  if (!(target >= low && target <= high)) return reject("BADDATA");
  slide.flags.delete("FS");
  slide.go(now, target, speed, acceleration);
  return fine;
}

function velocity(axis: StreamAxis, values: readonly number[], now: number): Outcome {
  const { slide } = axis;
  if (slide.immovable !== undefined) return reject(slide.immovable);
  const [first = 0, accelerationData = axis.setting("accel")] = values;
  const [speed, acceleration] = [Math.abs(first) / speedScale, accelerationData / accelerationScale];
  if (!within(axis, Math.max(speed, 1), acceleration)) return reject("BADDATA");
  if (first === 0) slide.brake(now, acceleration);
  else slide.go(now, axis.setting(first > 0 ? "limit.max" : "limit.min"), speed, acceleration);
  return fine;
}

/** `move sin amplitude period [count]` (microsteps, ms) and `move sin stop`. */
function sine(axis: StreamAxis, given: readonly string[], now: number): Outcome {
  const { slide } = axis;
  if (given.length === 1 && given[0] === "stop") {
    slide.endSine(now);
    return fine;
  }
  if (given.length < 2 || given.length > 3 || given.some((text) => !/^-?\d+(\.\d)?$/.test(text)))
    return reject("BADDATA");
  if (slide.immovable !== undefined) return reject(slide.immovable);
  if (slide.busy) return reject("STATUSBUSY");
  const [amplitude = 0, periodMs = 0, count = Infinity] = given.map(Number);
  if (periodMs < 0.1 || amplitude === 0 || count === 0) return reject("BADDATA");
  const [from, to] = [slide.reading(now), slide.reading(now) + 2 * amplitude];
  if (Math.min(from, to) < axis.setting("limit.min") || Math.max(from, to) > axis.setting("limit.max"))
    return reject("BADDATA");
  const omega = (2 * Math.PI) / (periodMs / 1e3);
  if (!within(axis, Math.abs(amplitude) * omega, Math.abs(amplitude) * omega ** 2)) return reject("BADDATA");
  slide.sine(now, amplitude, periodMs / 1e3, count);
  return fine;
}

function within({ slide }: StreamAxis, speed: number, acceleration: number): boolean {
  const { topSpeed, topAcceleration } = slide.options;
  return (
    speed > 0 && speed <= topSpeed * slack && acceleration > 0 && acceleration <= topAcceleration * slack
  );
}
