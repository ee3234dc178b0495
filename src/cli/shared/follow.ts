/** Following a procedure: its events as they come, and how it ends. */
import type { CommandClient } from "../../service/command/client.js";
import { subscribe } from "../../service/command/client.js";
import type { CellEvent, CellStatus, ProcedureState } from "../../service/command/protocol.js";
import { cliExit } from "../exit-codes.js";

const topics = ["cycle", "skill", "state", "log"] as const;

/** A procedure in one of these has ended. */
const ended: ReadonlySet<ProcedureState> = new Set(["completed", "failed", "idle"]);

/** A procedure in one of these goes on only when a person says how; after a stop a reset comes first. */
const waiting: ReadonlySet<ProcedureState> = new Set(["waiting_operator", "stopped"]);

export interface FollowOptions {
  readonly signal: AbortSignal;
  onEvent(item: CellEvent): void;
  /** Longest wait for an operator, s; undefined waits for ever. */
  readonly operatorTimeoutS?: number;
}

/** Events may be lost (PUB drops when a subscriber is slow), so the status is asked for as well, every second. */
const pollMs = 1000;

/**
 * Follows until the procedure has ended, waits for an operator longer than allowed, or the signal fires. Events are
 * subscribed before `begin` is called, so that none of the first is missed.
 */
export async function follow(
  client: CommandClient,
  begin: () => Promise<void>,
  options: FollowOptions,
): Promise<CellStatus> {
  const { events } = await client.call("describe", {});
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const reading = (async () => {
    for await (const item of subscribe(events, topics, signal)) options.onEvent(item);
  })();
  reading.catch(() => undefined);
  try {
    // A subscription takes a moment to reach the publisher.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await begin();
    return await untilEnd(client, options);
  } finally {
    // What was published last is still on its way.
    await new Promise((resolve) => setTimeout(resolve, 200));
    stop.abort();
    await reading.catch(() => undefined);
  }
}

async function untilEnd(client: CommandClient, options: FollowOptions): Promise<CellStatus> {
  let waitingSince: number | undefined;
  for (;;) {
    options.signal.throwIfAborted();
    const status = await client.call("status", {}, { timeoutS: 10, signal: options.signal });
    if (ended.has(status.procedure)) return status;
    if (waiting.has(status.procedure)) {
      waitingSince ??= performance.now();
      const waitedS = (performance.now() - waitingSince) / 1e3;
      if (options.operatorTimeoutS !== undefined && waitedS >= options.operatorTimeoutS) return status;
    } else waitingSince = undefined;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** How a procedure's end is told to the shell. */
export function exitCodeForState(state: ProcedureState): number {
  switch (state) {
    case "completed":
      return cliExit.ok;
    case "waiting_operator":
    case "stopped":
    case "takeover":
      return cliExit.waiting;
    case "running":
    case "idle":
    case "failed":
      return cliExit.failed;
  }
}

/** A signal within this time of the first is its echo: terminal, npm and shell may each send one. */
const echoMs = 2000;

/** Fires on Ctrl-C and SIGTERM. Asked again later, the process ends at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  let firstAt: number | undefined;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (firstAt !== undefined && now - firstAt > echoMs) process.exit(cliExit.interrupted);
      firstAt ??= now;
      controller.abort(new Error(`received ${name}`));
    });
  }
  return controller.signal;
}
