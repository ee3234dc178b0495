/**
 * Observers that know the truth, as controls: what a perfect observer would give (`oracle`), and what observers of known
 * faults would. They read the reference file, which nothing that learns or looks is given.
 */
import { Random } from "../../../base/random.js";
import { CellError } from "../../../base/errors.js";
import type { PhaseReference } from "../phase-reference.js";
import { phaseIndex } from "../task-vocabulary.js";
import type { Observer, ObserverQuestion, ObserverReply } from "./observer.js";

/** How an oracle is made worse; all zero: it is perfect. */
export interface Degradation {
  readonly seed: number;
  /** Chance to name a neighbouring phase; at the ends of the order there is only one. */
  readonly confuse: number;
  /** Standard deviation of the arrival's middle, steps. */
  readonly arrivalSigma: number;
  /** Half the width of the bracket, steps. */
  readonly bracketHalfWidth: number;
  /** Chance to give no arrival. */
  readonly forgetArrival: number;
  /** Chance of a reply that is no record. */
  readonly garble: number;
}

export const perfect: Degradation = {
  seed: 0,
  confuse: 0,
  arrivalSigma: 0,
  bracketHalfWidth: 0,
  forgetArrival: 0,
  garble: 0,
};

/** Sure whether it is right or not: a degraded oracle does not know that it is one. */
const confidence = 1;

export class OracleObserver implements Observer {
  readonly name: string;
  readonly needsPictures = false;

  constructor(
    private readonly reference: PhaseReference,
    private readonly faults: Degradation = perfect,
  ) {
    this.name = faults === perfect ? "oracle" : `degraded-oracle ${JSON.stringify(faults)}`;
  }

  observe(question: ObserverQuestion): Promise<ObserverReply> {
    const truth = this.reference.get(question.episode);
    if (truth === undefined) {
      return Promise.reject(
        new CellError("PHASE_FILE_INVALID", `the reference does not hold episode ${question.episode}`),
      );
    }
    if (question.form !== "steps") {
      return Promise.reject(new CellError("COMMAND_INVALID", "an oracle knows steps, not seconds"));
    }
    const { phases } = question.vocabulary;
    const { confuse, arrivalSigma, bracketHalfWidth, forgetArrival, garble, seed } = this.faults;
    // Each episode draws from a stream of its own: the order of questions changes nothing.
    const random = new Random(seed, `degraded-oracle/${question.episode}`);
    const [garbled, confused, side, forgotten] = [0, 0, 0, 0].map(() => random.uniform());
    const noise = random.normal(0, arrivalSigma);
    let index = phaseIndex(question.vocabulary, truth.phase);
    if ((confused ?? 1) < confuse) {
      const neighbours = [index - 1, index + 1].filter((other) => other >= 0 && other < phases.length);
      index = neighbours[Math.floor((side ?? 0) * neighbours.length)] ?? index;
    }
    // An attempt that truly reached nothing has no arrival to tell.
    const known = truth.arrival !== null && index > 0 && !((forgotten ?? 1) < forgetArrival);
    const clamp = (step: number): number => Math.min(question.steps - 1, Math.max(0, step));
    const middle = clamp(Math.round((truth.arrival ?? 0) + noise));
    const record = {
      phase: phases[index]?.label ?? "",
      arrival: known ? [clamp(middle - bracketHalfWidth), clamp(middle + bracketHalfWidth)] : null,
      confidence,
    };
    const text = (garbled ?? 1) < garble ? `It looks like ${record.phase}.` : JSON.stringify(record);
    return Promise.resolve({ text, finishReason: "stop" });
  }
}
