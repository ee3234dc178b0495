/** Dashboard server (TCP 29999). What it says about state lags behind RTDE, as on the controller. */
import type { Socket } from "node:net";
import { robotModeName, runtimeState, safetyModeName } from "../../cell/ur/codec/enums.js";
import { dashboardBanner, LineFramer } from "../../cell/ur/codec/dashboard.js";
import { ClientSet } from "../client-set.js";
import { answerDashboard, type Panel, type Spoken } from "./dashboard-commands.js";
import type { ControllerModel } from "./controller-model.js";

export interface DashboardQuirks {
  /** From the connection to the greeting, which comes late while the controller boots. */
  bannerDelayS: number;
  /** How old the state is that the text replies tell. */
  lagS: number;
  /** From a command to its reply. */
  replyDelayS: number;
  /** What every command that acts is answered with instead of being done. */
  refusal?: string | undefined;
}

export class DashboardServer {
  readonly listener: ClientSet;
  private history: Spoken[] = [];
  private panel: Omit<Panel, "local"> = { userRole: "PROGRAMMER", operationalMode: undefined };

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
    const now: Spoken = {
      atS: model.timeS,
      robotMode: robotModeName(model.robotMode) ?? "NO_CONTROLLER",
      safetyMode: safetyModeName(model.safetyMode) ?? "FAULT",
      program: model.panelState,
      running: model.runtimeState === runtimeState.PLAYING,
    };
    const last = this.history.at(-1);
    const same =
      last?.robotMode === now.robotMode &&
      last.safetyMode === now.safetyMode &&
      last.program === now.program &&
      last.running === now.running;
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
        running: false,
      }
    );
  }

  private accept(socket: Socket): void {
    const lines = new LineFramer();
    const greet = (): void => {
      socket.write(`${dashboardBanner}\n`);
    };
    if (this.quirks.bannerDelayS > 0) {
      const banner = setTimeout(greet, this.quirks.bannerDelayS * 1e3);
      socket.on("close", () => {
        clearTimeout(banner);
      });
    } else greet();
    socket.on("data", (chunk) => {
      for (const line of linesOf(lines, chunk, socket)) {
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
    const { userRole, operationalMode } = this.panel;
    const { refusal } = this.quirks;
    const panel: Panel = { userRole, operationalMode, local: this.isLocal(), refusal };
    const text = answerDashboard(command, this.model(), this.spoken, panel);
    this.panel = { userRole: panel.userRole, operationalMode: panel.operationalMode };
    return text;
  }
}

/** The lines that are whole now; a client that never ends one is sent away. */
function linesOf(framer: LineFramer, chunk: Buffer, socket: Socket): string[] {
  try {
    return framer.push(chunk);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    socket.destroy();
    return [];
  }
}
