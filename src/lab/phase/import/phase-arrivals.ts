/** First arrivals of phases, in frames, from the labels of a recorded trial. */
import { z } from "zod";
import { CellError } from "../../../base/errors.js";
import type { Arrivals } from "../phase-reference.js";
import { phaseIndex, type TaskVocabulary } from "../task-vocabulary.js";
import type { LabelInterval } from "./label-intervals.js";

/** Names of gestures and the phase that each completes, for recordings without motion primitives. */
export const gestureMapSchema = z.strictObject({
  /** Whether a phase is reached when its gesture begins or when it ends. */
  at: z.enum(["start", "end"]),
  gestures: z.record(z.string(), z.string()),
});
export type GestureMap = z.infer<typeof gestureMapSchema>;

const arms = new Set(["L", "R"]);
const named = (argument: string | undefined, word: string): boolean =>
  argument?.toLowerCase().includes(word) === true;

/**
 * Peg Transfer from motion primitives. A primitive is done when its interval ends, and each phase counts from the
 * frame at which all it needs was done, never before the phase below it:
 *
 *   approach        Touch(arm, block)
 *   contact/grasp   Grasp(arm, block)
 *   lift            Untouch(block, pole)
 *   transfer        the other arm grasps the lifted block and the first one releases it
 *   stable success  then Touch(block, pole) and a Release
 *
 * A primitive that ends inside a gesture flagged as failed was not done.
 */
export function pegTransferArrivals(
  primitives: readonly LabelInterval[],
  gestures: readonly LabelInterval[],
): Arrivals {
  const failed = gestures.filter(({ succeeded }) => succeeded === false);
  const done = primitives
    .filter(({ end }) => !failed.some((gesture) => gesture.start <= end && end <= gesture.end))
    .sort((a, b) => a.end - b.end);
  const arrivals: Record<string, number> = {};
  const holding = new Set<string>();
  let handedOver = false;
  let onPole = false;
  const reach = (label: string, frame: number): void => {
    arrivals[label] ??= frame;
  };
  for (const {
    name,
    end,
    arguments: [first, second],
  } of done) {
    const byArm = first !== undefined && arms.has(first) && named(second, "block");
    const blockAndPole =
      (named(first, "block") && named(second, "pole")) || (named(first, "pole") && named(second, "block"));
    if (name === "Touch" && byArm && arrivals["contact/grasp"] === undefined) reach("approach", end);
    else if (name === "Grasp" && byArm) {
      holding.add(first);
      if (arrivals["lift"] === undefined) reach("contact/grasp", end);
      else if (holding.size > 1) handedOver = true;
    } else if (name === "Untouch" && blockAndPole && holding.size > 0) {
      onPole = false;
      reach("lift", end);
    } else if (name === "Touch" && blockAndPole) onPole = true;
    else if (name === "Release" && byArm) {
      const both = holding.size > 1;
      holding.delete(first);
      if (handedOver && both) reach("transfer", end);
      else if (arrivals["transfer"] !== undefined && onPole && holding.size === 0)
        reach("stable success", end);
    }
  }
  return arrivals;
}

/** Phases from gestures by a map. Failed gestures reach nothing; a phase counts once those below it had their turn. */
export function gestureArrivals(
  gestures: readonly LabelInterval[],
  map: GestureMap,
  vocabulary: TaskVocabulary,
): Arrivals {
  const arrivals: Record<string, number> = {};
  for (const [gesture, label] of Object.entries(map.gestures)) {
    if (phaseIndex(vocabulary, label) < 1) {
      throw new CellError(
        "PHASE_FILE_INVALID",
        `${gesture}: ${vocabulary.task} has no phase "${label}" to reach`,
      );
    }
  }
  let latest = 0;
  for (const { name, start, end, succeeded } of gestures) {
    const label = map.gestures[name];
    if (label === undefined || succeeded === false || arrivals[label] !== undefined) continue;
    const higher = Object.keys(arrivals).some(
      (other) => phaseIndex(vocabulary, other) > phaseIndex(vocabulary, label),
    );
    if (higher) continue;
    latest = Math.max(latest, map.at === "start" ? start : end);
    arrivals[label] = latest;
  }
  return arrivals;
}
