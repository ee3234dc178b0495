/**
 * The reasoner without a model: the reference policy order (skill-agent.md 4.4) over measured evidence, answered in the
 * same tagged text as any model, so that the same parser and the same gate stand behind it. A run that used it is never
 * reported as a result of a model.
 */
import { monotonicNow } from "../../base/clock.js";
import { toDegrees } from "../../base/units.js";
import { Skill, type SkillName } from "../safety/skill-names.js";
import { and, not, tri } from "../safety/conditions.js";
import type { CellState, Observation, ViewConditions } from "../safety/types.js";
import type { Reasoner, Reply } from "./reasoner.js";

export interface Choice {
  readonly skill: SkillName;
  /** What is seen and measured, and what follows from it. */
  readonly rationale: string;
  /** One sentence for the operator. */
  readonly answer: string;
}

/** The first rule that applies decides. Pure. */
export function chooseByRules(observation: Observation): Choice {
  const { state, visual } = observation;
  return (
    stopRule(state) ??
    recoverRule(state) ??
    exposureRule(observation) ??
    focusRule(observation) ??
    nothingMoreRule(state) ??
    registrationRule(observation) ??
    alignmentRule(observation) ?? {
      skill: Skill.insert,
      rationale:
        `${imageEvidence(visual.views)} Registered, and aligned in frame epoch ${state.frameEpoch}` +
        `${poseEvidence(observation)}. Electrode available, needle out of tissue, ` +
        `${String(state.targetsLeft)} target(s) left.`,
      answer: "All conditions for the insertion hold: implant the next electrode.",
    }
  );
}

/** Emergency stop, self-check, needle where it should not be. */
function stopRule(state: CellState): Choice | undefined {
  const because = (rationale: string, answer: string): Choice => ({ skill: Skill.stop, rationale, answer });
  if (
    and(not(tri(state.emergencyStop)), not(tri(state.protectiveStop)), not(tri(state.stopLatched))) !== true
  ) {
    return because(
      `Emergency stop ${word(state.emergencyStop)}, protective stop ${word(state.protectiveStop)}, ` +
        `latched stop ${word(state.stopLatched)}: no motion may follow.`,
      "A stop is latched or its state is not known: keep the cell stopped.",
    );
  }
  if (state.selfCheckOk !== true) {
    return because(
      `Self-check ${word(state.selfCheckOk)}${state.selfCheckDetail ? `: ${plain(state.selfCheckDetail)}` : ""}.`,
      "The self-check has not passed: stop.",
    );
  }
  if (state.needleIntact === false) {
    return because(
      "The hooked tip of the needle was searched for and is not there.",
      "The needle is broken: stop, a person has to change it.",
    );
  }
  if (state.needleOutOfTissue !== true) {
    return because(
      `Needle out of tissue: ${word(state.needleOutOfTissue)}, although no insertion is running.`,
      "The needle may stand in tissue: stop and withdraw it.",
    );
  }
  return undefined;
}

function recoverRule(state: CellState): Choice | undefined {
  const cameras = Object.entries(state.camerasOnline);
  const silent = cameras.filter(([, online]) => online !== true);
  if (silent.length > 0 || cameras.length === 0) {
    const list = silent.map(([camera, online]) => `${plain(camera)} online ${word(online)}`).join(", ");
    return {
      skill: Skill.recover,
      rationale: `Cameras: ${list || "none reported"}. Without all views nothing can be judged.`,
      answer: "A camera is offline: bring it back.",
    };
  }
  if (state.nearSingularity !== false) {
    return {
      skill: Skill.recover,
      rationale: `Near a singularity: ${word(state.nearSingularity)}; joints ${joints(state)} rad.`,
      answer: "The arm stands near a singularity: move it to a known pose.",
    };
  }
  return undefined;
}

/** Before focus: focus metrics fail on clipped images. */
function exposureRule({ visual }: Observation): Choice | undefined {
  if (visual.exposureInBand === true) return undefined;
  return {
    skill: Skill.exposure,
    rationale: `${imageEvidence(visual.views)} Exposure in band: ${word(visual.exposureInBand)}.`,
    answer: "The exposure is not in its band: adjust it.",
  };
}

function focusRule({ visual }: Observation): Choice | undefined {
  if (visual.sharp === true && visual.needleVisible === true && visual.usable === true) return undefined;
  return {
    skill: Skill.focus,
    rationale:
      `${imageEvidence(visual.views)} Sharp: ${word(visual.sharp)}, ` +
      `needle visible: ${word(visual.needleVisible)}.`,
    answer: "The needle is not seen sharply in both views: adjust the focus.",
  };
}

/** Nothing to implant, or nothing to implant it with: no skill mends that. */
function nothingMoreRule(state: CellState): Choice | undefined {
  const left = typeof state.targetsLeft === "number" && state.targetsLeft > 0;
  if (left && state.electrodeAvailable === true) return undefined;
  return {
    skill: Skill.stop,
    rationale:
      `Targets left: ${String(state.targetsLeft)}; electrode available: ` +
      `${word(state.electrodeAvailable)}.`,
    answer: left
      ? "Targets are left but no electrode: stop, a person has to load one."
      : "Nothing is left to do: stop.",
  };
}

function registrationRule({ state, visual }: Observation): Choice | undefined {
  if (state.registered === true) return undefined;
  return {
    skill: Skill.registration,
    rationale: `${imageEvidence(visual.views)} Registered: ${word(state.registered)}.`,
    answer: "Image and robot coordinates are not registered: register them.",
  };
}

function alignmentRule(observation: Observation): Choice | undefined {
  const { state, visual } = observation;
  if (and(tri(state.aligned), state.alignedEpoch === state.frameEpoch) === true) return undefined;
  return {
    skill: Skill.align,
    rationale:
      `${imageEvidence(visual.views)} Aligned: ${word(state.aligned)} (epoch ${state.alignedEpoch}, ` +
      `now ${state.frameEpoch})${poseEvidence(observation)}.`,
    answer: "The needle does not stand on the planned axis over the site: align it.",
  };
}

const word = (value: unknown): string => (value === true ? "yes" : value === false ? "no" : "unknown");

const joints = (state: CellState): string =>
  state.jointPositionsRad === "unknown"
    ? "unknown"
    : `[${state.jointPositionsRad.map((joint) => joint.toFixed(3)).join(", ")}]`;

/** The measured evidence, view by view. */
function imageEvidence(views: readonly ViewConditions[]): string {
  const described = views.map((view) => {
    const parts: string[] = [];
    if (view.exposure !== undefined) {
      const { mean, p99, clippedHigh } = view.exposure;
      parts.push(
        `mean ${mean.toFixed(0)}, p99 ${p99.toFixed(0)}, clipped ${(clippedHigh * 100).toFixed(2)} %`,
      );
    }
    if (view.edgeSigmaPx !== undefined) parts.push(`needle edge sigma ${view.edgeSigmaPx.toFixed(2)} px`);
    if (view.tipPx !== undefined) {
      parts.push(`tip at (${view.tipPx[0].toFixed(1)}, ${view.tipPx[1].toFixed(1)}) px`);
    }
    if (view.note !== undefined) parts.push(plain(view.note));
    return `View ${plain(view.camera)}: ${parts.join("; ") || "nothing measured"}.`;
  });
  return described.join(" ") || "No view was measured.";
}

function poseEvidence({ visual }: Observation): string {
  const parts: string[] = [];
  if (visual.needleAngleRad !== undefined) {
    parts.push(`needle ${toDegrees(visual.needleAngleRad).toFixed(2)} degrees off its axis`);
  }
  if (visual.tipErrorM !== undefined) {
    parts.push(
      `tip error ${visual.tipErrorM.map((error) => `${(error * 1e6).toFixed(1)} um`).join(" and ")}`,
    );
  }
  return parts.length > 0 ? `; ${parts.join(", ")}` : "";
}

/** Names and notes come from files and devices: printable ASCII without brackets, so that they cannot pose as a tag. */
const plain = (text: string): string => text.replaceAll(/[^\x20-\x7e]|[<>&|\\%]/g, " ");

/** The tagged text of a choice. */
export const writeReply = ({ rationale, answer, skill }: Choice): string =>
  `<think>${rationale}</think>\n<answer>${answer}</answer>\n<function>${skill}</function>\n`;

export class RulesReasoner implements Reasoner {
  readonly name = "rules";

  constructor(private readonly now: () => number = monotonicNow) {}

  infer(observation: Observation): Promise<Reply> {
    return Promise.resolve({
      text: writeReply(chooseByRules(observation)),
      finishReason: "stop",
      observationId: observation.id,
      observationHash: observation.hash,
      receivedAtS: this.now(),
      model: "rules",
    });
  }
}
