/** The newest state of the arm as RTDE tells it, what it means, and waiting for what it shall become. */
import { CellError } from "../../base/errors.js";
import { monotonicNow } from "../../base/clock.js";
import { robotModeName, safetyModeName } from "./codec/enums.js";
import { forward, type DhParameters } from "./kinematics.js";
import type { RtdeClient, RtdeSample } from "./rtde-client.js";
import {
  singularityLevel,
  singularityMeasures,
  type SingularityLevel,
  type SingularityLimits,
} from "./singularity.js";
import { readSample, type UrSample } from "./ur-sample.js";
import type { UrState } from "./ur-types.js";

export interface ArmWatchLimits {
  /** A joint slower than this stands. */
  readonly standstillRadS: number;
  readonly singularity: SingularityLimits;
  /** Oldest sample on which a motion may begin or go on. */
  readonly maxSampleAgeS: number;
}

export class ArmWatch {
  sample: UrSample | undefined;
  /** Monotonic time at which the present protective stop was first seen. */
  protectiveSinceS: number | undefined;
  singularity: SingularityLevel = "clear";

  constructor(
    private readonly rtde: RtdeClient,
    readonly limits: ArmWatchLimits,
    private readonly geometry: () => DhParameters,
  ) {}

  /** Takes a sample for the newest state. */
  take(raw: RtdeSample): UrSample {
    const sample = readSample(raw);
    this.sample = sample;
    if (sample.protectiveStopped) this.protectiveSinceS ??= monotonicNow();
    else this.protectiveSinceS = undefined;
    this.singularity = singularityLevel(
      singularityMeasures(this.geometry(), sample.q),
      this.singularity,
      this.limits.singularity,
    );
    return sample;
  }

  /** The link is gone: nothing is known. */
  forget(): void {
    this.sample = undefined;
  }

  get connected(): boolean {
    return this.rtde.connected;
  }

  ageOf(sample: UrSample): number {
    return Math.max(0, monotonicNow() - sample.measuredS);
  }

  stands(sample: UrSample): boolean {
    return sample.qd.every((speed) => Math.abs(speed) < this.limits.standstillRadS);
  }

  /** @throws CellError DEVICE_EMERGENCY_STOP while a safety stop is on. */
  refuseUnsafe(sample: UrSample): void {
    if (sample.unsafe) throw new CellError("DEVICE_EMERGENCY_STOP", `UR: safety mode ${safetyText(sample)}`);
  }

  /** A sample on which a motion may begin. @throws CellError LINK_TIMEOUT, DEVICE_EMERGENCY_STOP */
  freshAndSafe(): UrSample {
    const { sample } = this;
    if (!sample || this.ageOf(sample) > this.limits.maxSampleAgeS) {
      const age = sample ? `${this.ageOf(sample).toFixed(3)} s old` : "missing";
      throw new CellError("LINK_TIMEOUT", `UR: the arm's position is ${age}; no motion on that`);
    }
    this.refuseUnsafe(sample);
    return sample;
  }

  /** Waits for a state of the newest sample. @throws CellError LINK_TIMEOUT, LINK_ABORTED */
  until<T>(
    ready: (sample: UrSample | undefined) => T | undefined,
    limitS: number,
    what: string,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.rtde.until(() => ready(this.sample), limitS, what, signal);
  }

  /** At rest twice, in two samples: one could be the turning point of an overshoot. */
  async untilStanding(limitS: number, signal?: AbortSignal): Promise<void> {
    let first: number | undefined;
    await this.until(
      (sample) => {
        if (!sample || !this.stands(sample)) first = undefined;
        else if (first === undefined) first = sample.timestampS;
        else if (sample.timestampS > first) return sample;
        return undefined;
      },
      limitS,
      "UR: standstill",
      signal,
    );
  }
}

export const safetyText = (sample: UrSample): string =>
  safetyModeName(sample.safetyMode) ?? `MODE_${sample.safetyMode}`;

/** The part of the arm's state that its newest sample tells. */
export function seenState(
  watch: ArmWatch,
  dh: DhParameters,
): Omit<UrState, "lifecycle" | "desired" | "fault" | "connected" | "crossCheck"> {
  const { sample } = watch;
  return {
    ageS: sample ? watch.ageOf(sample) : Infinity,
    q: sample?.q,
    qd: sample?.qd,
    baseFromFlange: sample && forward(dh, sample.q),
    robotMode: sample ? (robotModeName(sample.robotMode) ?? `MODE_${sample.robotMode}`) : "UNKNOWN",
    safetyMode: sample ? safetyText(sample) : "UNKNOWN",
    emergencyStopped: sample?.emergencyStopped ?? false,
    protectiveStopped: sample?.protectiveStopped ?? false,
    moving: sample ? !watch.stands(sample) : false,
    singularity: sample && { level: watch.singularity, measures: singularityMeasures(dh, sample.q) },
  };
}
