/** Sentences of the dashboard server (TCP 29999): ASCII, one command a line, one reply a line. */

export const dashboardBanner = "Connected: Universal Robots Dashboard Server";

export const dashboardReply = {
  poweringOn: "Powering on",
  poweringOff: "Powering off",
  brakeReleasing: "Brake releasing",
  protectiveStopReleasing: "Protective stop releasing",
  unlockTooEarly:
    "Cannot unlock protective stop until 5s after occurrence. Always inspect cause of protective stop before unlocking",
  closingSafetyPopup: "closing safety popup",
  closingPopup: "closing popup",
  showingPopup: "showing popup",
  restartingSafety: "Restarting safety",
  startingProgram: "Starting program",
  pausingProgram: "Pausing program",
  loadingProgram: (path: string): string => `Loading program: ${path}`,
  loadedProgram: (path: string): string => `Loaded program: ${path}`,
  stopped: "Stopped",
  disconnected: "Disconnected",
  shuttingDown: "Shutting down",
  addedLogMessage: "Added log message",
  logSaved: "Log saved to disk",
  noProgramLoaded: "No program loaded",
  operationalModeCleared: "No longer controlling the operational mode",
  operationalModeSet: (mode: string): string => `Operational mode '${mode}' is set`,
  settingUserRole: (role: string): string => `Setting user role: ${role}`,
  safetyStatus: (name: string): string => `Safetystatus: ${name}`,
  failed: (command: string): string => `Failed to execute: ${command}`,
  unknown: (command: string): string => `could not understand: '${command}'`,
  robotMode: (name: string): string => `Robotmode: ${name}`,
  safetyMode: (name: string): string => `Safetymode: ${name}`,
  running: (running: boolean): string => `Program running: ${String(running)}`,
  programState: (state: string, name: string): string => `${state} ${name}`.trimEnd(),
  fileNotFound: (path: string): string => `File not found: ${path}`,
} as const;

/** What a reply to a command must look like; anything else is a refusal. */
const expected: readonly (readonly [command: RegExp, reply: RegExp])[] = [
  [/^power on$/i, /^Powering on$/],
  [/^power off$/i, /^Powering off$/],
  [/^brake release$/i, /^Brake releasing$/],
  [/^unlock protective stop$/i, /^Protective stop releasing$/],
  [/^close safety popup$/i, /^closing safety popup$/],
  [/^close popup$/i, /^closing popup$/],
  [/^popup /i, /^showing popup$/],
  [/^restart safety$/i, /^Restarting safety$/],
  [/^stop$/i, /^Stopped$/],
  [/^play$/i, /^Starting program$/],
  [/^pause$/i, /^Pausing program$/],
  [/^load /i, /^Loading program: /],
  [/^running$/i, /^Program running: (true|false)$/],
  [/^robotmode$/i, /^Robotmode: [A-Z_]+$/],
  [/^safetymode$/i, /^Safetymode: [A-Z_]+$/],
  [/^safetystatus$/i, /^Safetystatus: [A-Z_]+$/],
  [/^setUserRole /i, /^Setting user role: /],
  [/^getUserRole$/i, /^(PROGRAMMER|OPERATOR|NONE|LOCKED|RESTRICTED)$/],
  [/^is in remote control$/i, /^(true|false)$/],
  [/^set operational mode /i, /^Operational mode .* is set/],
  [/^get operational mode$/i, /^(NONE|MANUAL|AUTOMATIC)$/],
  [/^clear operational mode$/i, /^No longer controlling the operational mode/],
  [/^saveLog$/i, /^Log saved to disk$/],
  [/^get loaded program$/i, /^(Loaded program: |No program loaded)/],
  [/^shutdown$/i, /^Shutting down$/],
  [/^programState$/i, /^(STOPPED|PLAYING|PAUSED)( |$)/],
  [/^PolyscopeVersion$/i, /^(URSoftware )?\d+\.\d+/],
  [/^get robot model$/i, /^UR\d+/],
  [/^get serial number$/i, /^\d+$/],
  [/^addToLog /i, /^Added log message$/],
  [/^quit$/i, /^Disconnected$/],
];

/** Whether the reply belongs to the command and says that it was done. An unlisted command accepts any reply. */
export function isExpectedReply(command: string, reply: string): boolean {
  const row = expected.find(([pattern]) => pattern.test(command));
  return row === undefined || row[1].test(reply);
}

/** Cuts a byte stream into lines, whatever the segments; a line longer than the limit is an error of the peer. */
export class LineFramer {
  private pending = "";

  constructor(private readonly limit = 1 << 16) {}

  /** @throws RangeError when a line outgrows the limit. */
  push(chunk: Buffer): string[] {
    const parts = (this.pending + chunk.toString("latin1")).split("\n");
    this.pending = parts.pop() ?? "";
    if (this.pending.length > this.limit) throw new RangeError(`a line of more than ${this.limit} bytes`);
    return parts.map((line) => line.replace(/\r$/, ""));
  }
}
