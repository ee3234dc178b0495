/**
 * The clients of a controller: bytes in, lines out. Each has its own line buffer and owes or is owed its own completed
 * reply; a client too many is heard and never answered.
 */
import { replyAxis } from "../../cell/kohzu/codec/reply-names.js";
import {
  decodeRequest,
  encodeReply,
  LineAssembler,
  type StageReply,
} from "../../cell/kohzu/codec/framing.js";
import type { WireFaults } from "../wire-faults.js";
import type { Answer, Execution } from "./command-form.js";
import type { ControllerAxis } from "./controller-axis.js";
import type { StageMachine } from "./stage-machine.js";

/** A client's side of the controller. */
export interface StageClient {
  receive(bytes: Uint8Array): void;
  close(): void;
}

interface Session {
  readonly stx: boolean;
  readonly lines: LineAssembler;
  readonly write: (bytes: Buffer) => void;
  readonly served: boolean;
  /** A completed reply is still to come: until then any other command is an error. */
  owed: Owed | undefined;
}

interface Owed {
  readonly command: string;
  readonly axis: number | undefined;
  readonly axes: readonly ControllerAxis[];
  /** Code of a drive of several axes for the code that one of them ended with. */
  readonly codeOf: (code: number) => number;
  timer: NodeJS.Timeout | undefined;
}

export class ClientSessions {
  /** Other applications that are connected, beyond those attached here. */
  strangers = 0;

  private readonly sessions = new Set<Session>();

  /** @param limit applications that may be connected */
  constructor(
    private readonly machine: StageMachine,
    private readonly execution: Execution,
    private readonly faults: WireFaults,
    private readonly limit: number,
  ) {
    machine.onAnnouncement = ({ kind, code }) => {
      if (!execution.announces) return;
      for (const session of this.sessions)
        if (session.served) this.reply(session, { kind, command: "SYS", axis: undefined, data: [`${code}`] });
    };
    machine.onDisturbed = (axes, code) => {
      this.disturb(axes, code);
    };
  }

  /** @param stx whether this client must put STX before its requests */
  attach(stx: boolean, write: (bytes: Buffer) => void): StageClient {
    const session: Session = {
      stx,
      lines: new LineAssembler(),
      write,
      served: this.sessions.size + this.strangers < this.limit,
      owed: undefined,
    };
    this.sessions.add(session);
    return {
      receive: (bytes) => {
        this.receive(session, bytes);
      },
      close: () => {
        clearTimeout(session.owed?.timer);
        this.sessions.delete(session);
      },
    };
  }

  /** Ends all timers. */
  dispose(): void {
    for (const session of this.sessions) clearTimeout(session.owed?.timer);
    this.sessions.clear();
  }

  private receive(session: Session, bytes: Uint8Array): void {
    if (!session.served) return;
    let lines: string[];
    try {
      lines = session.lines.push(bytes);
    } catch {
      return; // more than any request holds: forgotten, as by the controller's own buffer
    }
    for (const line of lines) if (line !== "") this.handle(session, line);
  }

  private handle(session: Session, line: string): void {
    const { now } = this.machine;
    this.machine.update(now);
    const { family, flawCodes, execute } = this.execution;
    const request = decodeRequest(line, session.stx);
    if ("flaw" in request) {
      const data = [`${flawCodes[request.flaw]}`];
      this.reply(session, { kind: "E", command: request.command, axis: undefined, data });
      return;
    }
    const { command, parameters } = request;
    const axis = replyAxis(family, command, parameters);
    const answer = execute(command, parameters, now, session.owed !== undefined);
    if ("complete" in answer) {
      session.owed = {
        command,
        axis,
        axes: answer.complete,
        codeOf: answer.codeOf ?? ((code) => code),
        timer: undefined,
      };
      this.awaitEnd(session, session.owed);
    } else this.reply(session, this.encode(command, axis, answer));
    if ("stopped" in answer && answer.stopped !== undefined) this.disturb(answer.stopped, undefined, session);
  }

  private encode(
    command: string,
    axis: number | undefined,
    answer: Exclude<Answer, { readonly complete: unknown }>,
  ): StageReply {
    if ("error" in answer) return { kind: "E", command, axis, data: [`${answer.error}`] };
    if ("warning" in answer) return { kind: "W", command, axis, data: [`${answer.warning}`] };
    return { kind: "C", command, axis, data: answer.data.map(String) };
  }

  /** Replies when all of the drives have ended; corrections may make them longer than they began. */
  private awaitEnd(session: Session, owed: Owed): void {
    const { now } = this.machine;
    for (const axis of owed.axes) axis.update(now);
    const endS = Math.max(...owed.axes.map((axis) => axis.endS ?? -Infinity));
    if (endS > -Infinity) {
      owed.timer = setTimeout(
        () => {
          this.awaitEnd(session, owed);
        },
        Math.max(0, endS - now) * 1e3,
      );
      return;
    }
    const code = owed.axes.map((axis) => axis.lastResult).find((result) => result !== 0) ?? 0;
    this.payOwed(session, owed, owed.codeOf(code));
  }

  private payOwed(session: Session, owed: Owed, code: number): void {
    session.owed = undefined;
    const { command, axis } = owed;
    this.reply(
      session,
      code === 0 ? { kind: "C", command, axis, data: [] } : { kind: "E", command, axis, data: [`${code}`] },
    );
  }

  /** Drives that others ended: their completed replies carry `code`, or never come when a client's STP did it. */
  private disturb(axes: readonly ControllerAxis[], code: number | undefined, except?: Session): void {
    for (const session of this.sessions) {
      const { owed } = session;
      if (session === except || owed === undefined || !owed.axes.some((axis) => axes.includes(axis)))
        continue;
      clearTimeout(owed.timer);
      session.owed = undefined;
      if (code !== undefined) this.payOwed(session, owed, owed.codeOf(code));
    }
  }

  private reply(session: Session, reply: StageReply): void {
    this.faults.send(Buffer.from(encodeReply(reply), "latin1"), (bytes) => {
      if (this.sessions.has(session)) session.write(bytes);
    });
  }
}
