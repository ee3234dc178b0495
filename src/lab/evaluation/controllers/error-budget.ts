/**
 * What the errors of the controllers are made of: one term for each cause, as a standard deviation along one image axis, from
 * figures of data sheets, the drawing and the design's assumptions. Nothing of it is fitted to what trials show; beside them
 * it says whether the causes are understood. Pure.
 *
 * Independent causes add in squares. What trials tell are means of lengths, which follow from σ per axis when the errors are
 * normal (Rayleigh, Maxwell): in a plane √(π/2) σ, in space √(8/π) σ, the longer of two independent plane ones
 * √(π/2) (2 − 1/√2) σ.
 */
import { working, published } from "../../../agent/skills/limits.js";
import type { ControllerName, ErrorName } from "./controller-trial.js";

export const budgetSources = ["encoder", "lost motion", "optics", "noise", "calibration", "tissue"] as const;
export type BudgetSource = (typeof budgetSources)[number];

export interface BudgetTerm {
  readonly source: BudgetSource;
  readonly cause: string;
  /** How the figure comes about, for people. */
  readonly formula: string;
  /** Per axis, m or rad. */
  readonly sigma: number;
}

export interface ErrorBudget {
  readonly controller: ControllerName;
  readonly error: ErrorName;
  readonly terms: readonly BudgetTerm[];
  /** All terms together, per axis. */
  readonly sigma: number;
  /** The mean error that trials should show. */
  readonly predicted: number;
}

/** Figures of the stages X, Y and Z, as their profile has them, m. */
export interface StageFigures {
  readonly stepM: number;
  /** Largest scatter of arrivals, either way. */
  readonly repeatabilityM: number;
  readonly lostMotionM: number;
  /** Lead error over the whole travel. */
  readonly positionErrorM: number;
  readonly travelM: number;
}

export interface BudgetFigures {
  readonly stage: StageFigures;
  readonly metresPerPixel: number;
  /** How many times as far as in the design the tissue moves: 2 in the hard set. */
  readonly tissueFactor: number;
}

/** Mean length of a normal error with σ = 1 per axis. */
const meanInPlane = Math.sqrt(Math.PI / 2);
const meanInSpace = Math.sqrt(8 / Math.PI);
const meanOfWorseView = meanInPlane * (2 - Math.SQRT1_2);

/** Standard deviation of a value that lies anywhere within ± a; along one axis of a point anywhere in a disc of radius a. */
const uniform = (a: number): number => a / Math.sqrt(3);
const inDisc = (a: number): number => a / 2;

/** What vision tells, px (twin-imaging.md 4 and the tests of native/geometry). */
const vision = {
  /** The end's shape along the axis, sharp. */
  tipShape: 0.3,
  /** The tip in one frame. */
  tip: 0.3,
  /** A patch of tissue in one frame, and a site in the other view. */
  patch: 0.3,
  match: 0.2,
} as const;

/** Frames: a site is tracked at 20 per second, a look at the needle in registration takes 3, at the end of alignment 13. */
const frames = { track: 20 * working.siteTrackS, pose: 3, breath: 13 } as const;
/** Poses that are visited, and how far from their middle they lie along an axis, m (spatial-registration.ts). */
const poses = { count: 13, spreadM: 2.2e-4 } as const;

/**
 * The tissue of the design (section 7), middle of each range: breathing A ((1 − cos)/2)², pulse of p; both along the normal
 * but for a direction drawn with a fifth of its length.
 */
const tissue = { breathingHz: 1.25, breathingM: 4e-5, pulseHz: 6, pulseM: 6.5e-6, aslant: 0.2 } as const;
/** A view inclined by 35° sees so much of a motion along the normal. */
const inclinationRad = (35 * Math.PI) / 180;
const seenOfNormal = Math.cos(inclinationRad);
/** Of the design: how far focus axes and slide are off, and the hand-eye rotation; middle of each range, rad. */
const focusAxisRad = 0.004;
const slideRad = 0.0055;
const handEyeRad = 0.0218;
/** A frame's stamp tells its moment to half a step of the cell's clock and the start of its exposure, s. */
const momentS = 4e-3;

/**
 * Root mean square of the tissue's speed, m/s: breathing's derivative has the harmonics πfA sin and ½πfA sin 2ωt, the pulse
 * p/2.345 (sin + 0.35 sin 2) the harmonics 2πf p/2.345 and 0.7 of it.
 */
function tissueSpeed(): number {
  const breathing = Math.PI * tissue.breathingHz * tissue.breathingM * Math.sqrt((1 + 0.25) / 2);
  const pulse = ((2 * Math.PI * tissue.pulseHz * tissue.pulseM) / 2.345) * Math.sqrt((1 + 0.49) / 2);
  return Math.hypot(breathing, pulse);
}

/** Where the tissue is while it is at rest but for its pulse, or `afterS` later; along the normal, m. */
function tissueAfter(afterS: number): number {
  const raised = 0.5 - 0.5 * Math.cos(2 * Math.PI * tissue.breathingHz * afterS);
  const pulse = (tissue.pulseM / 2.345) * Math.sqrt((1 + 0.35 ** 2) / 2);
  return Math.hypot(tissue.breathingM * raised ** 2, pulse);
}

const term = (source: BudgetSource, cause: string, formula: string, sigma: number): BudgetTerm => ({
  source,
  cause,
  formula,
  sigma,
});

function site({ metresPerPixel: px, tissueFactor }: BudgetFigures): BudgetTerm[] {
  return [
    term("optics", "match of the pick in the other view", "0.2 px", vision.match * px),
    term(
      "noise",
      "rest of the breathing, tracked",
      "0.3 px √(5/n): offset and two harmonics in n frames",
      vision.patch * px * Math.sqrt(5 / frames.track),
    ),
    term(
      "tissue",
      "moment of the pick",
      "v t cos 35°: rms speed of the tissue, t = 4 ms",
      tissueFactor * tissueSpeed() * momentS * seenOfNormal,
    ),
  ];
}

function arrival({ stage }: BudgetFigures): BudgetTerm[] {
  const { stepM, repeatabilityM, lostMotionM, positionErrorM, travelM } = stage;
  return [
    term("encoder", "step of the stage", "step/√12", stepM / Math.sqrt(12)),
    term("lost motion", "arrivals scatter, from one side", "repeatability/√3", uniform(repeatabilityM)),
    term(
      "lost motion",
      "lead error over a move of 1 mm, and what is left of the play",
      "lead error · 1 mm/travel ⊕ play/10",
      Math.hypot((positionErrorM * 1e-3) / travelM, lostMotionM / 10),
    ),
  ];
}

function registered({ metresPerPixel: px }: BudgetFigures): BudgetTerm {
  const perPose = (vision.tip * px) / Math.sqrt(frames.pose);
  // A site 0.4 mm from the middle of the poses along each axis.
  const lever = 4e-4 / poses.spreadM;
  return term(
    "calibration",
    "fit of the views to the poses, carried 0.4 mm",
    "0.3 px/√3 √((1 + (0.4/0.22)²)/13)",
    perPose * Math.sqrt((1 + lever ** 2) / poses.count),
  );
}

const tip = ({ metresPerPixel: px }: BudgetFigures): BudgetTerm =>
  term("optics", "shape of the tip's end", "0.3 px", vision.tipShape * px);

function alignment(figures: BudgetFigures): BudgetTerm[] {
  const px = figures.metresPerPixel;
  const dead = 0.25 * published.alignErrorM;
  return [
    ...site(figures),
    tip(figures),
    term("noise", "tip over a breath", "0.3 px/√13", (vision.tip * px) / Math.sqrt(frames.breath)),
    term("encoder", "no correction below 1.25 µm, nor below a step", "disc: 1.25 µm/2", inDisc(dead)),
    term(
      "lost motion",
      "arrivals scatter after the last look but one",
      "repeatability/√3",
      uniform(figures.stage.repeatabilityM),
    ),
    term(
      "calibration",
      "focus axes aslant: the fit's focus follows the tip, at the stand-off it stands",
      "0.3 mm sin 35° · 0.004 rad/√2",
      working.standoffM * Math.sin(inclinationRad) * focusAxisRad * Math.SQRT1_2,
    ),
  ];
}

function landing(figures: BudgetFigures): BudgetTerm[] {
  return [
    ...alignment(figures),
    term(
      "tissue",
      "moves sideways while the needle dwells",
      "0.2 √⅔/√2 · breathing and pulse 0.28 s after rest",
      figures.tissueFactor *
        tissue.aslant *
        Math.sqrt(2 / 3) *
        Math.SQRT1_2 *
        tissueAfter(working.stroke.dwellS + 0.03),
    ),
    term(
      "calibration",
      "slide against the needle's axis over the stand-off",
      "0.3 mm · 0.0055 rad/√2",
      working.standoffM * slideRad * Math.SQRT1_2,
    ),
  ];
}

/** The budgets of all errors that reach the target. */
export function errorBudgets(figures: BudgetFigures): ErrorBudget[] {
  const budget = (
    controller: ControllerName,
    error: ErrorName,
    terms: readonly BudgetTerm[],
    mean: number,
  ): ErrorBudget => {
    const sigma = Math.hypot(...terms.map((one) => one.sigma));
    return { controller, error, terms, sigma, predicted: mean * sigma };
  };
  const angle = term(
    "calibration",
    "the last turn, about an axis off by the hand-eye rotation",
    "0.03 rad · 0.0218 rad/√2: turns of up to 0.06 rad",
    0.5 * working.turnStepRad * handEyeRad * Math.SQRT1_2,
  );
  return [
    budget(
      "registration",
      "treM",
      [...site(figures), tip(figures), registered(figures), ...arrival(figures)],
      meanInSpace,
    ),
    budget("localisation", "positionM", site(figures), meanOfWorseView),
    budget("alignment", "positionM", alignment(figures), meanOfWorseView),
    budget("alignment", "angleRad", [angle], meanInPlane),
    budget("insertion", "positionM", landing(figures), meanInPlane),
    budget("insertion", "angleRad", [angle], meanInPlane),
  ];
}
