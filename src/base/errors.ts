/**
 * The one error catalogue. A code is never reused and never changes its meaning; each says what happened, the most
 * likely cause and what a person can do. 1xxx configuration, 2xxx links, 3xxx devices, 4xxx perception and
 * calibration, 5xxx decisions and safety, 6xxx procedure, 7xxx software.
 */
export type ErrorCategory =
  "configuration" | "link" | "device" | "vision" | "safety" | "procedure" | "software";

interface CatalogueEntry {
  readonly number: number;
  readonly category: ErrorCategory;
  /** Whether the daemon may try again by itself (never a motion: a motion is decided anew). */
  readonly recoverable: boolean;
  readonly cause: string;
  readonly remedy: string;
}

const entry = (
  number: number,
  category: ErrorCategory,
  recoverable: boolean,
  cause: string,
  remedy: string,
): CatalogueEntry => ({ number, category, recoverable, cause, remedy });

export const errorCatalogue = {
  CONFIG_UNREADABLE: entry(
    1001,
    "configuration",
    false,
    "the file cannot be read or is not YAML",
    "check the path and the syntax at the named line",
  ),
  CONFIG_INVALID: entry(
    1002,
    "configuration",
    false,
    "a key is unknown, mistyped or out of range",
    "correct the named key; `surgiclaw config check FILE` explains each",
  ),
  PROFILE_INVALID: entry(
    1003,
    "configuration",
    false,
    "the device profile does not follow its schema",
    "compare it with a shipped file in firmware-profiles/",
  ),
  CALIBRATION_FOREIGN: entry(
    1004,
    "configuration",
    false,
    "the calibration belongs to another cell",
    "name the calibration of this cell in the configuration, or calibrate",
  ),
  CALIBRATION_INVALID: entry(
    1005,
    "configuration",
    false,
    "the calibration file is damaged or incomplete",
    "restore it from its history, or calibrate",
  ),
  CALIBRATION_EXPIRED: entry(
    1011,
    "configuration",
    false,
    "the calibration is older than it may be",
    "measure again with `surgiclaw calibrate`; the drawing needs no measurement and does not expire",
  ),
  CALIBRATION_EDITED: entry(
    1012,
    "configuration",
    false,
    "the calibration was changed after it was measured",
    "restore it from the folder history beside it, or measure again with `surgiclaw calibrate`",
  ),
  PROCEDURE_UNREADABLE: entry(
    1006,
    "configuration",
    false,
    "the procedure file cannot be read or does not follow its schema",
    "correct the named key, or make a new one with `surgiclaw procedure plan`",
  ),
  UNIT_NOT_FINITE: entry(
    1007,
    "software",
    false,
    "a quantity was NaN or infinite",
    "a measurement or a file holds a bad number; the message names it",
  ),
  GATE_CASE_INVALID: entry(
    1008,
    "configuration",
    false,
    "a file given to `surgiclaw gate` cannot be read or does not follow its schema",
    "docs/gate.md describes the files, with examples",
  ),
  PHASE_FILE_INVALID: entry(
    1009,
    "configuration",
    false,
    "a file of phase feedback does not follow its schema, or its hash does not fit",
    "the message names file and episode; write that file again with the command that made it",
  ),
  PHASE_FILE_FOREIGN: entry(
    1010,
    "configuration",
    false,
    "files of phase feedback belong to different tasks, versions or pools",
    "name the files of one task; compile the bank again from its records",
  ),
  LEARNING_DATA_INVALID: entry(
    1031,
    "configuration",
    false,
    "an observation or transition for a learner holds a value that is not finite, or does not fit its task",
    "the message names the row; collect or compile that data again",
  ),
  CHECKPOINT_INVALID: entry(
    1032,
    "configuration",
    false,
    "a learner's checkpoint is damaged, of another version or of a run with other settings",
    "delete the named folder to begin that run anew",
  ),
  RUN_FILE_INVALID: entry(
    1033,
    "configuration",
    false,
    "the kept result of a learning run does not follow its schema",
    "delete the named file; `surgiclaw policy train` writes it again",
  ),

  LINK_CONNECT: entry(
    2001,
    "link",
    true,
    "the device does not answer at its address",
    "is it switched on, connected, and at the configured address?",
  ),
  LINK_TIMEOUT: entry(
    2002,
    "link",
    true,
    "no reply before the deadline",
    "check cable and load; the message names device, command and elapsed time",
  ),
  LINK_CLOSED: entry(
    2003,
    "link",
    true,
    "the connection was closed by the other side",
    "the link reconnects by itself; positions are distrusted until read again",
  ),
  LINK_PROTOCOL: entry(
    2004,
    "link",
    false,
    "a reply broke the protocol",
    "the hex excerpt in the log shows it; check model, firmware and dialect in the profile",
  ),
  LINK_BUSY: entry(
    2005,
    "link",
    false,
    "another owner uses the link",
    "stop the other program that talks to this device",
  ),
  LINK_ABORTED: entry(2006, "link", false, "the wait was cancelled", "nothing to do: the caller stopped it"),

  DEVICE_REFUSED: entry(
    3001,
    "device",
    false,
    "the device refused the command",
    "the message holds its own code and text",
  ),
  DEVICE_WRONG_MODEL: entry(
    3002,
    "device",
    false,
    "the device is another model than its profile says",
    "choose the right profile, or connect the right device",
  ),
  DEVICE_FAULT: entry(
    3003,
    "device",
    false,
    "the device reports a fault",
    "remove the cause shown, then `surgiclaw reset`",
  ),
  DEVICE_LIMIT: entry(
    3004,
    "device",
    false,
    "the target lies outside the limits of the device",
    "choose a target inside; the message names axis, target and limit",
  ),
  DEVICE_NOT_HOMED: entry(
    3005,
    "device",
    false,
    "the axis has no origin since power-on",
    "home it while the needle is out of tissue",
  ),
  DEVICE_NOT_SETTLED: entry(
    3006,
    "device",
    false,
    "the axis stopped elsewhere than commanded",
    "look for an obstacle, lost steps or a limit switch",
  ),
  DEVICE_MISSING: entry(
    3007,
    "device",
    false,
    "a configured device was not found",
    "connect it or take it out of the configuration",
  ),
  DEVICE_EMERGENCY_STOP: entry(
    3008,
    "device",
    false,
    "an emergency or protective stop is latched",
    "remove its cause, release it at the device, then `surgiclaw reset`",
  ),
  DEVICE_STATE_CONFLICT: entry(
    3009,
    "device",
    false,
    "two interfaces of the device tell different states",
    "one of them is wrong: restart the controller, compare both with its panel, then `surgiclaw reset`",
  ),

  CAMERA_OFFLINE: entry(
    4001,
    "vision",
    true,
    "the camera delivers no frames",
    "the recovery skill reopens it; check power and cable",
  ),
  CAMERA_FEATURE: entry(
    4002,
    "vision",
    false,
    "a camera feature was refused or reads back differently",
    "the message names feature, wanted and actual value",
  ),
  CAMERA_LEASES: entry(
    4010,
    "vision",
    false,
    "more frames are held than the camera's ring allows",
    "a reader keeps frames too long; a larger ring in the configuration only hides it",
  ),
  CAMERA_OVERFLOW: entry(
    4011,
    "vision",
    true,
    "frames of an acquisition came faster than they were taken",
    "lower the frame rate or enlarge the ring, and start the acquisition again",
  ),
  CAMERA_FROZEN: entry(
    4012,
    "vision",
    true,
    "the camera sends one picture again and again",
    "the recovery skill reopens it; when it stays so, switch the camera off and on",
  ),
  VISION_UNKNOWN: entry(
    4003,
    "vision",
    true,
    "the frame does not show what was looked for",
    "check focus, exposure and what lies in the field of view",
  ),
  CALIBRATION_ILL_POSED: entry(
    4004,
    "vision",
    false,
    "the measurements do not determine the result",
    "use more poses, spread in all directions",
  ),
  REGISTRATION_POOR: entry(
    4005,
    "vision",
    true,
    "the held-out error is above its limit",
    "check focus and stage; the needle may be loose",
  ),
  CALIBRATION_REFUSED: entry(
    4006,
    "vision",
    false,
    "the cell is not fit to be measured now",
    "do what the message says; the calibration before stays valid",
  ),
  IMAGE_UNREADABLE: entry(
    4020,
    "configuration",
    false,
    "the file is missing or is no image with grey levels of 8 or 16 bits",
    "name a PNG, TIFF, JPEG, PGM or BMP file",
  ),

  SAFETY_STOPPED: entry(
    5001,
    "safety",
    false,
    "the cell was stopped and is latched",
    "find the reason in the audit log, then `surgiclaw reset`",
  ),
  SAFETY_GUARD: entry(
    5002,
    "safety",
    false,
    "an invariant of the running skill was lost",
    "the cell stopped; observe again",
  ),
  SAFETY_ENVELOPE: entry(
    5003,
    "safety",
    false,
    "a command lay outside the envelope",
    "nothing was sent; the message names value and limit",
  ),
  SAFETY_NO_GUARDIAN: entry(
    5004,
    "safety",
    false,
    "the guardian is not running",
    "no guardian, no motion: see its log, restart the daemon",
  ),
  SAFETY_HEARTBEAT: entry(
    5005,
    "safety",
    false,
    "the heartbeat was lost",
    "the cell stopped; look for a blocked event loop",
  ),
  AUDIT_WRITE: entry(
    5006,
    "safety",
    false,
    "the audit log could not be written",
    "no record, no motion: check the disk that holds the recordings, then start anew",
  ),
  AUDIT_BROKEN: entry(
    5007,
    "safety",
    false,
    "the audit log on disk does not verify",
    "keep the file as evidence, see `surgiclaw audit verify`, and record into a new folder",
  ),
  SAFETY_VIOLATION: entry(
    5008,
    "safety",
    false,
    "the second evaluation of the record found a dispatched violation",
    "a defect in this program: keep the recording and report it",
  ),

  REASONER_FAILED: entry(
    6001,
    "procedure",
    true,
    "the reasoner gave no usable reply in time",
    "check the worker; the loop observes and asks again",
  ),
  SKILL_NOT_CONVERGED: entry(
    6002,
    "procedure",
    true,
    "the controller made no more progress",
    "the error at the end is in the message; observe again",
  ),
  SKILL_FAILED: entry(
    6003,
    "procedure",
    true,
    "a stage of the skill failed",
    "the message names stage and measurement",
  ),
  LEASE_DENIED: entry(
    6004,
    "procedure",
    false,
    "another client holds control",
    "ask its holder to release, or wait until its lease ends",
  ),
  COMMAND_INVALID: entry(
    6005,
    "procedure",
    false,
    "the command does not fit the present state",
    "`surgiclaw status` shows the state and what is possible",
  ),
  NO_PROGRESS: entry(
    6006,
    "procedure",
    false,
    "the same skill failed again and again without changing the state",
    "see the last measurements; something has to be put right by hand",
  ),
  OBSERVER_FAILED: entry(
    6007,
    "procedure",
    true,
    "the observer of phases gave no reply in time",
    "check the worker or server; the same command asks for the missing episodes again",
  ),

  INTERNAL: entry(
    7001,
    "software",
    false,
    "a defect in this program",
    "report it with the log; the cell was stopped",
  ),
  RENDERING_UNAVAILABLE: entry(
    7002,
    "software",
    false,
    "this machine cannot draw without a display: EGL, its surfaceless platform or OpenGL is missing",
    "install libegl1, libgl1 and libgl1-mesa-dri (Debian), or `npm run setup`",
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error of the catalogue: code, what happened, and what to do about it. */
export class CellError extends Error {
  override readonly name = "CellError";
  readonly number: number;
  readonly category: ErrorCategory;
  readonly recoverable: boolean;

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: { cause?: unknown; remedy?: string } = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    const known = errorCatalogue[code];
    this.number = known.number;
    this.category = known.category;
    this.recoverable = known.recoverable;
    this.remedy = options.remedy ?? known.remedy;
  }

  /** What a person can do. */
  readonly remedy: string;
}

/** The error as a CellError: defects and foreign errors become INTERNAL, keeping their cause. */
export function asCellError(error: unknown): CellError {
  if (error instanceof CellError) return error;
  return new CellError("INTERNAL", error instanceof Error ? error.message : String(error), { cause: error });
}
