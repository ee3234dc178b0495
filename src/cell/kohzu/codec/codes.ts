/**
 * What the codes of E and W replies mean. ARIES/LYNX: manual pages 111 and 112; CRUX is taken to use the same numbers. SC
 * series: as public drivers describe them, its manual is not public.
 */
const ariesCodes: Readonly<Record<number, string>> = {
  1: "no STX before the command",
  3: "illegal character",
  4: "unknown command",
  5: "emergency stop input",
  6: "link to a LYNX lost while moving",
  51: "the device map changed",
  52: "a device joined the link",
  100: "wrong number of parameters",
  120: "no such axis",
  121: "no such system setting",
  304: "CW limit reached while driving",
  305: "CCW limit reached while driving",
  306: "limit reached in a multi-axis drive",
  307: "both limits are on",
  308: "excitation is off",
  309: "the axis is already driving",
  310: "target outside the coordinate range",
  311: "position cannot be written while moving",
  312: "encoder cannot be written while moving",
  313: "system setting cannot be written while moving",
  314: "stopped by the emergency stop input",
  315: "driver alarm",
  316: "the soft limits are crossed",
  317: "stopped at the + soft limit",
  318: "stopped at the - soft limit",
  319: "soft limit reached in a multi-axis drive",
  320: "the main axis of an interpolation does not move",
  321: "servo not ready",
  322: "stopped because the link was lost",
  323: "already stopping",
  324: "driver alarm in a multi-axis drive",
  350: "the target lies beyond a soft limit: the drive ends there",
  399: "other drive error",
  401: "encoder correction failed after all retries",
  500: "no multi-axis slot is set (MPI)",
  501: "multi-axis slot 1 is not set (MPI)",
  502: "multi-axis slot 2 is not set (MPI)",
  503: "multi-axis slot 3 is not set (MPI)",
  504: "multi-axis slot 4 is not set (MPI)",
  505: "target of the first axis outside the coordinate range (MPS)",
  506: "target of the second axis outside the coordinate range (MPS)",
  507: "target of the third axis outside the coordinate range (MPS)",
  508: "target of the fourth axis outside the coordinate range (MPS)",
  510: "an axis is named twice",
  511: "first and second axis are the same",
  512: "first and third axis are the same",
  513: "first and fourth axis are the same",
  514: "second and third axis are the same",
  515: "second and fourth axis are the same",
  516: "third and fourth axis are the same",
  601: "acceleration time too long",
  602: "acceleration time too short",
  603: "deceleration time too long",
  604: "deceleration time too short",
  605: "start speed above half of the top speed",
  606: "an interpolated axis would exceed its top speed (system setting 16)",
  607: "top speed above system setting 16",
  700: "trigger type changed while the trigger output is active",
  701: "trigger selected on a moving axis",
  702: "the trigger output did not end in time",
  703: "the trigger output ended too early",
  800: "locked by the emergency stop: remove the cause, then REM",
  801: "REM refused: the cause is still present",
  802: "locked by the lost link: RAX",
  803: "command before the reply to the last one",
  901: "not while an axis moves",
};

const scErrors: Readonly<Record<number, string>> = {
  1: "no STX before the command",
  2: "the command is too short",
  3: "no CR at the end of the command",
  4: "illegal character",
  5: "unknown command",
  10: "the controller is in manual mode",
  100: "wrong number of parameters",
};

const scWarnings: Readonly<Record<number, string>> = {
  1: "the target is the present position",
  2: "a waiting time is set by OSC",
  100: "no coordinate is registered at this address",
};

/** The families whose codes mean the same. */
export type CodeFamily = "aries" | "sc";

/** The code of a W or E reply in words: `304 (CW limit reached while driving)`. */
export function describeCode(code: number, family: CodeFamily = "aries", kind: "W" | "E" = "E"): string {
  const table = family === "aries" ? ariesCodes : kind === "W" ? scWarnings : scErrors;
  const nth = code >= 101 && code <= 109 ? `parameter ${code - 100} out of range` : undefined;
  const text = nth ?? table[code];
  return text === undefined ? `${code}` : `${code} (${text})`;
}
