/** One axis as the driver knows it: its stage, its limits in whole pulses, and how it is approached. */
import { CellError } from "../../base/errors.js";
import { finite } from "../../base/units.js";
import { loadProfile, type StageAxisProfile } from "../profile.js";

export interface KohzuAxis {
  readonly number: number;
  readonly kind: "linear" | "rotary";
  readonly model: string;
  /** Metres or radians per pulse. */
  readonly step: number;
  /** Inclusive; compared as whole numbers, never as lengths. */
  readonly minPulses: number;
  readonly maxPulses: number;
  /** A one-sided approach comes from the smaller side, this many pulses away. */
  readonly approachPulses: number;
  readonly originMethod: number;
  readonly moveTable: number;
  readonly originTable: number;
  /** The fastest the stage may be driven. */
  readonly maxPps: number;
}

/** Which stage hangs on which axis of the controller. */
export interface AxisAssignment {
  readonly axis: number;
  readonly profile: string;
  /** The axis of a two-axis stage. */
  readonly part?: "upper" | "lower" | undefined;
}

function axisOf(number: number, kind: KohzuAxis["kind"], model: string, stage: StageAxisProfile): KohzuAxis {
  // Rounded once here: 7.35 mm of 0.5 µm are 14700 pulses, whatever the last bit of the quotient says.
  const limit = Math.round(stage.softLimit.value / stage.step.value);
  return {
    number,
    kind,
    model,
    step: stage.step.value,
    minPulses: -limit,
    maxPulses: limit,
    approachPulses: stage.approach.value,
    originMethod: stage.originMethod.value,
    moveTable: stage.moveTable.value,
    originTable: stage.originTable.value,
    maxPps: Math.round(stage.maxSpeed.value / stage.step.value),
  };
}

/** Loads the stages of a controller. @throws CellError PROFILE_INVALID, CONFIG_INVALID */
export async function loadAxes(assignments: readonly AxisAssignment[]): Promise<KohzuAxis[]> {
  const seen = new Set<number>();
  const axes: KohzuAxis[] = [];
  for (const { axis, profile, part } of assignments) {
    if (seen.has(axis)) throw new CellError("CONFIG_INVALID", `stage axis ${axis} is assigned twice`);
    seen.add(axis);
    if (part === undefined) {
      const stage = await loadProfile(profile, "linear-stage");
      axes.push(axisOf(axis, "linear", stage.model, stage));
    } else {
      const stage = await loadProfile(profile, "goniometer");
      axes.push(axisOf(axis, "rotary", `${stage.model} ${part}`, stage.axes[part]));
    }
  }
  return axes.sort((a, b) => a.number - b.number);
}

/** The nearest whole pulse of a position in m or rad; whether the axis may go there is judged by its envelope. @throws CellError UNIT_NOT_FINITE */
export function toPulses(axis: KohzuAxis, position: number): number {
  const pulses = Math.round(finite(position, `the target of axis ${axis.number}`) / axis.step);
  return pulses === 0 ? 0 : pulses;
}
