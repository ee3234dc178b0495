/**
 * Faults of the cell as data: what is looked at, when it counts as a fault and when as gone, how bad it is, and whether an
 * operator may go on in spite of it. The arbiter beside it turns measured signals into what the cell does.
 */

/** What is measured, again and again. A number that is not finite counts as unknown. */
export interface FaultSignals {
  /** Age of the newest sample of the arm, s; unknown without a connection. */
  readonly armAgeS: number | "unknown";
  readonly armFault: boolean | "unknown";
  readonly emergencyStop: boolean | "unknown";
  readonly protectiveStop: boolean | "unknown";
  /** The stages' link is up and its driver in no fault. */
  readonly stagesReady: boolean | "unknown";
  readonly needleReady: boolean | "unknown";
  /** False once a search has found no hook at the needle's tip. */
  readonly needleIntact: boolean | "unknown";
  /** The guardian watches every device without a watchdog of its own. */
  readonly guardianWatches: boolean | "unknown";
  /** Cameras that deliver no frames. */
  readonly camerasSilent: number | "unknown";
  readonly diskFreeBytes: number | "unknown";
  /** The audit log of the present recording takes entries. */
  readonly recordWritable: boolean | "unknown";
  /** How late the event loop ran its last turn, s. */
  readonly eventLoopLateS: number | "unknown";
  /** Wall clock against monotonic clock since the start, s; control uses the monotonic one alone. */
  readonly wallClockStepS: number | "unknown";
}

export type Signal = keyof FaultSignals;

/** Limits that the configuration sets. */
export interface FaultLimits {
  readonly minFreeBytes: number;
}

export type Bound = number | keyof FaultLimits;

/** `is`: equals. `above`, `below`: strictly. */
export type Test =
  | { readonly is: boolean }
  | { readonly above: Bound; readonly times?: number }
  | { readonly below: Bound; readonly times?: number };

/**
 * - `notice` is shown, nothing else happens
 * - `refuse` no skill begins but the stop, and one that runs is stopped: the self-check does not pass
 * - `stop` all motion ends at once, whether a skill runs or not, and a stop is latched until a person resets it
 */
export const severities = ["notice", "refuse", "stop"] as const;
export type Severity = (typeof severities)[number];

export interface FaultRule {
  readonly id: string;
  /** What is wrong, for people. */
  readonly text: string;
  readonly signal: Signal;
  readonly trigger: Test;
  /** How long the trigger must hold, s. */
  readonly forS: number;
  /** Whether an unknown signal triggers. */
  readonly unknownTriggers: boolean;
  readonly clear: Test;
  /** How long the clear condition must hold, s. */
  readonly clearForS: number;
  readonly severity: Severity;
  /** Whether an operator may go on until it is gone; never for what stops the cell. */
  readonly override: boolean;
  /** What a person can do. */
  readonly remedy: string;
}

export const faultRules = [
  {
    id: "guardian-gone",
    text: "the guardian does not watch",
    signal: "guardianWatches",
    trigger: { is: false },
    ...{
      forS: 0,
      unknownTriggers: true,
      clear: { is: true },
      clearForS: 0,
      severity: "stop",
      override: false,
    },
    remedy: "see guardian.log; a reset lets it watch again, a dead one is started anew",
  },
  {
    id: "emergency-stop",
    text: "an emergency stop is pressed",
    signal: "emergencyStop",
    trigger: { is: true },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { is: false },
      clearForS: 0,
      severity: "stop",
      override: false,
    },
    remedy: "remove its cause, release it at the robot, then reset",
  },
  {
    id: "protective-stop",
    text: "the robot's safety system holds a protective stop",
    signal: "protectiveStop",
    trigger: { is: true },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { is: false },
      clearForS: 0,
      severity: "stop",
      override: false,
    },
    remedy: "look why it stopped, then reset",
  },
  {
    id: "record-lost",
    text: "the audit log takes no entries",
    signal: "recordWritable",
    trigger: { is: false },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { is: true },
      clearForS: 0,
      severity: "stop",
      override: false,
    },
    remedy: "check the disk that holds the recordings, then start the procedure anew",
  },
  {
    id: "arm-silent",
    text: "the arm sends no samples",
    signal: "armAgeS",
    trigger: { above: 1 },
    ...{
      forS: 0,
      unknownTriggers: true,
      clear: { below: 0.5 },
      clearForS: 0,
      severity: "refuse",
      override: false,
    },
    remedy: "check controller and network; the link comes back by itself",
  },
  {
    id: "arm-fault",
    text: "the arm's driver has latched a fault",
    signal: "armFault",
    trigger: { is: true },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { is: false },
      clearForS: 0,
      severity: "refuse",
      override: false,
    },
    remedy: "remove the cause that status shows, then reset",
  },
  {
    id: "stages-lost",
    text: "the stages are not ready",
    signal: "stagesReady",
    trigger: { is: false },
    ...{
      forS: 0,
      unknownTriggers: true,
      clear: { is: true },
      clearForS: 0,
      severity: "refuse",
      override: false,
    },
    remedy: "remove the cause that status shows, then reset",
  },
  {
    id: "needle-lost",
    text: "the needle drive is not ready",
    signal: "needleReady",
    trigger: { is: false },
    ...{
      forS: 0,
      unknownTriggers: true,
      clear: { is: true },
      clearForS: 0,
      severity: "refuse",
      override: false,
    },
    remedy: "remove the cause that status shows, then reset",
  },
  {
    id: "needle-broken",
    text: "the needle has no hook at its tip",
    signal: "needleIntact",
    trigger: { is: false },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { is: true },
      clearForS: 0,
      severity: "refuse",
      override: false,
    },
    remedy: "look at the needle and change it; a reset says that it was looked at",
  },
  {
    id: "disk-low",
    text: "little room is left for recordings",
    signal: "diskFreeBytes",
    trigger: { below: "minFreeBytes" },
    ...{ forS: 0, unknownTriggers: true, clear: { above: "minFreeBytes", times: 1.05 }, clearForS: 0 },
    ...{ severity: "refuse", override: true },
    remedy: "make room, or override to finish what runs: a log that cannot be written stops the cell anyway",
  },
  {
    id: "camera-silent",
    text: "a camera delivers no frames",
    signal: "camerasSilent",
    trigger: { above: 0 },
    ...{
      forS: 0,
      unknownTriggers: true,
      clear: { below: 1 },
      clearForS: 0.5,
      severity: "notice",
      override: false,
    },
    remedy: "the recovery skill reopens it; the gate refuses what needs it",
  },
  {
    id: "event-loop-late",
    text: "the event loop runs late",
    signal: "eventLoopLateS",
    trigger: { above: 0.1 },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { below: 0.05 },
      clearForS: 2,
      severity: "notice",
      override: false,
    },
    remedy: "look for load on this machine; beyond guardian.eventLoopMs the cell stops",
  },
  {
    id: "clock-stepped",
    text: "the wall clock was set",
    signal: "wallClockStepS",
    trigger: { above: 2 },
    ...{
      forS: 0,
      unknownTriggers: false,
      clear: { below: 1 },
      clearForS: 0,
      severity: "notice",
      override: false,
    },
    remedy: "nothing: ages and control use the monotonic clock; names of recordings show the wall clock",
  },
] as const satisfies readonly FaultRule[];

export type FaultId = (typeof faultRules)[number]["id"];
