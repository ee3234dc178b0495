/** Dashboard server (TCP 29999). What it says about state lags behind RTDE, as on the controller. */
import type { Socket } from "node:net";
import { robotModeName, runtimeState, runtimeStateName, safetyModeName } from "../../cell/ur/codec/enums.js";
import { dashboardBanner, dashboardReply, LineFramer } from "../../cell/ur/codec/dashboard.js";
import { atLeast, versionText } from "../../cell/ur/codec/version.js";
import { ClientSet } from "../client-set.js";
import type { ControllerModel } from "./controller-model.js";

interface Spoken {
  readonly atS: number;
  readonly robotMode: string;
  readonly safetyMode: string;
  readonly program: string;
  readonly programName: string;
}

export interface DashboardQuirks {
  /** From the connection to the greeting, which comes late while the controller boots. */
  bannerDelayS: number;
  /** How old the state is that the text replies tell. */
  lagS: number;
  /** From a command to its reply. */
  replyDelayS: number;
}

export class DashboardServer {
  readonly listener: ClientSet;
  private history: Spoken[] = [];
  private loaded: string | undefined;

  constructor(
    host: string,
    port: number,
    readonly quirks: DashboardQuirks,
    private readonly model: () => ControllerModel,
    private readonly isLocal: () => boolean,
  ) {
    this.listener = new ClientSet(host, port, (socket) => {
      this.accept(socket);
    });
  }

  reset(): void {
    this.history = [];
  }

  /** Remembers what there is to tell, and forgets what is older than the lag. */
  afterStep(): void {
    const model = this.model();
    const state = runtimeStateName(model.runtimeState) ?? "STOPPED";
    const now: Spoken = {
      atS: model.timeS,
      robotMode: robotModeName(model.robotMode) ?? "NO_CONTROLLER",
      safetyMode: safetyModeName(model.safetyMode) ?? "FAULT",
      program: state === "PLAYING" || state === "PAUSED" ? state : "STOPPED",
      programName: this.loaded ?? "",
    };
    const last = this.history.at(-1);
    const same =
      last?.robotMode === now.robotMode && last.safetyMode === now.safetyMode && last.program === now.program;
    if (!same) this.history.push(now);
    const horizon = model.timeS - this.quirks.lagS;
    while (this.history.length > 1 && (this.history[1]?.atS ?? Infinity) <= horizon) this.history.shift();
  }

  private get spoken(): Spoken {
    return (
      this.history[0] ?? {
        atS: 0,
        robotMode: "NO_CONTROLLER",
        safetyMode: "NORMAL",
        program: "STOPPED",
        programName: "",
      }
    );
  }

  private accept(socket: Socket): void {
    const lines = new LineFramer();
    const banner = setTimeout(() => socket.write(`${dashboardBanner}\n`), this.quirks.bannerDelayS * 1e3);
    socket.on("close", () => {
      clearTimeout(banner);
    });
    socket.on("data", (chunk) => {
      for (const line of lines.push(chunk)) {
        const command = line.trim();
        if (command === "") continue;
        this.reply(socket, this.answer(command), /^(quit|shutdown)$/i.test(command));
      }
    });
  }

  private reply(socket: Socket, text: string, last: boolean): void {
    const send = (): void => {
      if (socket.destroyed) return;
      socket.write(`${text}\n`);
      if (last) socket.end();
    };
    const { replyDelayS } = this.quirks;
    if (replyDelayS > 0) setTimeout(send, replyDelayS * 1e3);
    else send();
  }

  private answer(command: string): string {
    const model = this.model();
    const lower = command.toLowerCase();
    const { firmware } = model;
    const rest = command.slice(command.indexOf(" ") + 1);
    const acting = /^(power|brake|play|pause|stop$|load|unlock|restart)/.test(lower);
    if (this.isLocal() && firmware.software.major >= 5 && acting) return dashboardReply.failed(command);
    switch (lower) {
      case "power on":
        model.powerOn();
        return dashboardReply.poweringOn;
      case "power off":
        model.powerOff();
        return dashboardReply.poweringOff;
      case "brake release":
        model.releaseBrakes();
        return dashboardReply.brakeReleasing;
      case "unlock protective stop":
        return model.unlockProtectiveStop()
          ? dashboardReply.protectiveStopReleasing
          : dashboardReply.unlockTooEarly;
      case "close safety popup":
        return dashboardReply.closingSafetyPopup;
      case "close popup":
        model.popup = undefined;
        return dashboardReply.closingPopup;
      case "restart safety":
        model.restartSafety();
        return dashboardReply.restartingSafety;
      case "stop":
        return model.stopProgram() || model.runtimeState === runtimeState.STOPPED
          ? dashboardReply.stopped
          : dashboardReply.failed("stop");
      case "play":
      case "pause":
        return dashboardReply.failed(lower);
      case "running":
        return dashboardReply.running(this.spoken.program === "PLAYING");
      case "robotmode":
        return dashboardReply.robotMode(this.spoken.robotMode);
      case "safetymode":
        return dashboardReply.safetyMode(this.spoken.safetyMode);
      case "programstate":
        return dashboardReply.programState(this.spoken.program, this.spoken.programName);
      case "get loaded program":
        return this.loaded === undefined
          ? dashboardReply.noProgramLoaded
          : dashboardReply.loadedProgram(this.loaded);
      case "isprogramsaved":
        return "true";
      case "polyscopeversion":
        return `URSoftware ${versionText(firmware.software)} (${firmware.softwareDate})`;
      case "quit":
        return dashboardReply.disconnected;
      case "shutdown":
        model.powerOff();
        return dashboardReply.shuttingDown;
    }
    if (atLeast(firmware.software, [12], [6])) {
      if (lower === "get robot model") return firmware.model.replace(/e$/, "");
      if (lower === "get serial number") return firmware.serial;
    }
    if (firmware.software.major >= 5) {
      if (lower === "is in remote control") return String(!this.isLocal());
      if (lower === "version") return versionText(firmware.software);
    }
    if (lower.startsWith("popup ")) {
      model.popup = rest;
      return dashboardReply.showingPopup;
    }
    if (lower.startsWith("addtolog ")) return dashboardReply.addedLogMessage;
    if (lower.startsWith("load ")) return dashboardReply.fileNotFound(rest);
    return dashboardReply.unknown(command);
  }
}
