/**
 * What the dashboard understands: the commands, the software versions that brought them (the table of UR's client library)
 * and the sentences they are answered with. Commands are not case-sensitive.
 */
import path from "node:path";
import { dashboardReply } from "../../cell/ur/codec/dashboard.js";
import { runtimeState } from "../../cell/ur/codec/enums.js";
import { atLeast, versionText } from "../../cell/ur/codec/version.js";
import type { ControllerModel } from "./controller-model.js";

/** State as the dashboard tells it: older than what RTDE says. */
export interface Spoken {
  readonly atS: number;
  readonly robotMode: string;
  readonly safetyMode: string;
  /** Of the panel's own program. */
  readonly program: string;
  /** Whether any program plays, scripts from the network included. */
  readonly running: boolean;
}

/** What belongs to the panel rather than to the controller. */
export interface Panel {
  userRole: string;
  /** Undefined while the panel itself decides. */
  operationalMode: "MANUAL" | "AUTOMATIC" | undefined;
  readonly local: boolean;
  /** What every command that acts is answered with instead of being done. */
  readonly refusal?: string | undefined;
}

interface Context {
  readonly model: ControllerModel;
  readonly spoken: Spoken;
  readonly panel: Panel;
  /** What follows the command's words. */
  readonly rest: string;
}

type Since = Parameters<typeof atLeast>[1];

interface Command {
  readonly words: string;
  /** First CB3 minor; null when CB3 never had it. */
  readonly cb3?: Since;
  /** First e-Series minor; null when it was taken away there. */
  readonly eSeries?: readonly [number, number?] | null;
  /** Refused in local mode. */
  readonly acts?: boolean;
  readonly answer: (context: Context) => string;
}

const nameOf = (model: ControllerModel): string => path.posix.basename(model.loadedProgram ?? "");

const roles = ["PROGRAMMER", "OPERATOR", "NONE", "LOCKED", "RESTRICTED"];

const commands: readonly Command[] = [
  {
    words: "power on",
    acts: true,
    answer({ model }) {
      model.powerOn();
      return dashboardReply.poweringOn;
    },
  },
  {
    words: "power off",
    acts: true,
    answer({ model }) {
      model.powerOff();
      return dashboardReply.poweringOff;
    },
  },
  {
    words: "brake release",
    acts: true,
    answer({ model }) {
      model.releaseBrakes();
      return dashboardReply.brakeReleasing;
    },
  },
  {
    words: "unlock protective stop",
    cb3: [1],
    acts: true,
    answer: ({ model }) =>
      model.unlockProtectiveStop() ? dashboardReply.protectiveStopReleasing : dashboardReply.unlockTooEarly,
  },
  { words: "close safety popup", cb3: [1], answer: () => dashboardReply.closingSafetyPopup },
  {
    words: "close popup",
    answer({ model }) {
      model.popup = undefined;
      return dashboardReply.closingPopup;
    },
  },
  {
    words: "restart safety",
    cb3: [7],
    eSeries: [1],
    acts: true,
    answer({ model }) {
      model.restartSafety();
      return dashboardReply.restartingSafety;
    },
  },
  {
    words: "stop",
    acts: true,
    answer: ({ model }) =>
      model.stopProgram() || model.runtimeState === runtimeState.STOPPED
        ? dashboardReply.stopped
        : dashboardReply.failed("stop"),
  },
  {
    words: "play",
    acts: true,
    answer: ({ model }) => (model.play() ? dashboardReply.startingProgram : dashboardReply.failed("play")),
  },
  {
    words: "pause",
    acts: true,
    answer: ({ model }) => (model.pause() ? dashboardReply.pausingProgram : dashboardReply.failed("pause")),
  },
  {
    words: "load installation",
    cb3: [2],
    acts: true,
    answer: ({ rest }) => dashboardReply.fileNotFound(rest),
  },
  {
    words: "load",
    acts: true,
    answer({ model, rest }) {
      const file = model.load(rest);
      return file === undefined ? dashboardReply.fileNotFound(rest) : dashboardReply.loadingProgram(file);
    },
  },
  {
    words: "get loaded program",
    answer: ({ model }) =>
      model.loadedProgram === undefined
        ? dashboardReply.noProgramLoaded
        : dashboardReply.loadedProgram(model.loadedProgram),
  },
  { words: "isProgramSaved", answer: ({ model }) => `true ${nameOf(model)}`.trimEnd() },
  { words: "running", answer: ({ spoken }) => dashboardReply.running(spoken.running) },
  { words: "robotmode", answer: ({ spoken }) => dashboardReply.robotMode(spoken.robotMode) },
  { words: "safetymode", answer: ({ spoken }) => dashboardReply.safetyMode(spoken.safetyMode) },
  {
    words: "safetystatus",
    cb3: null,
    eSeries: [4],
    answer: ({ spoken }) => dashboardReply.safetyStatus(spoken.safetyMode),
  },
  {
    words: "programState",
    answer: ({ model, spoken }) => dashboardReply.programState(spoken.program, nameOf(model)),
  },
  {
    words: "PolyscopeVersion",
    answer({ model }) {
      const { software, softwareDate } = model.firmware;
      return `URSoftware ${versionText(software)} (${softwareDate})`;
    },
  },
  { words: "version", cb3: null, eSeries: [0], answer: ({ model }) => versionText(model.firmware.software) },
  {
    words: "get robot model",
    cb3: [12],
    eSeries: [6],
    answer: ({ model }) => model.firmware.model.replace(/e$/, ""),
  },
  { words: "get serial number", cb3: [12], eSeries: [6], answer: ({ model }) => model.firmware.serial },
  { words: "is in remote control", cb3: null, eSeries: [6], answer: ({ panel }) => String(!panel.local) },
  {
    words: "setUserRole",
    cb3: [1],
    eSeries: null,
    answer({ panel, rest }) {
      const role = rest.toUpperCase();
      if (!roles.includes(role)) return dashboardReply.failed(`setUserRole ${rest}`);
      panel.userRole = role;
      return dashboardReply.settingUserRole(role);
    },
  },
  { words: "getUserRole", cb3: [1], eSeries: null, answer: ({ panel }) => panel.userRole },
  {
    words: "set operational mode",
    cb3: null,
    eSeries: [0],
    answer({ panel, rest }) {
      const mode = rest.toLowerCase();
      if (mode !== "manual" && mode !== "automatic")
        return dashboardReply.failed(`set operational mode ${rest}`);
      panel.operationalMode = mode === "manual" ? "MANUAL" : "AUTOMATIC";
      return dashboardReply.operationalModeSet(mode);
    },
  },
  {
    words: "get operational mode",
    cb3: null,
    eSeries: [6],
    answer: ({ panel }) => panel.operationalMode ?? "NONE",
  },
  {
    words: "clear operational mode",
    cb3: null,
    eSeries: [0],
    answer({ panel }) {
      panel.operationalMode = undefined;
      return dashboardReply.operationalModeCleared;
    },
  },
  {
    words: "popup",
    answer({ model, rest }) {
      model.popup = rest;
      return dashboardReply.showingPopup;
    },
  },
  { words: "addToLog", answer: () => dashboardReply.addedLogMessage },
  { words: "saveLog", cb3: [13], eSeries: [8], answer: () => dashboardReply.logSaved },
  { words: "quit", answer: () => dashboardReply.disconnected },
  {
    words: "shutdown",
    answer({ model }) {
      model.powerOff();
      return dashboardReply.shuttingDown;
    },
  },
];

/** Longer ones first: `load installation` is not `load`. */
const byLength = [...commands].sort((a, b) => b.words.length - a.words.length);

/** The reply to one command line. */
export function answerDashboard(line: string, model: ControllerModel, spoken: Spoken, panel: Panel): string {
  const lower = line.toLowerCase();
  const { software } = model.firmware;
  const command = byLength.find(({ words }) => {
    const start = words.toLowerCase();
    return lower === start || lower.startsWith(`${start} `);
  });
  const gone = command?.eSeries === null && software.major >= 5;
  const known =
    command !== undefined &&
    !gone &&
    atLeast(software, command.cb3 === undefined ? [0] : command.cb3, command.eSeries ?? undefined);
  if (!known) return dashboardReply.unknown(line);
  if (command.acts === true && panel.refusal !== undefined) return panel.refusal;
  if (command.acts === true && panel.local && software.major >= 5) return dashboardReply.failed(line);
  return command.answer({ model, spoken, panel, rest: line.slice(command.words.length).trim() });
}
