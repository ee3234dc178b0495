/** The command socket: takes requests, checks them, calls the cell, answers; publishes events. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { Publisher, Router } from "zeromq";
import { z } from "zod";
import type { Clock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import { explainIssues } from "../../base/yaml-file.js";
import type { Lease } from "./lease.js";
import { permit, prepareSocketFile } from "./ipc-socket.js";
import { Authority } from "./authority.js";
import {
  isMethod,
  maxMessageBytes,
  methods,
  protocolVersion,
  requestSchema,
  rpcError,
  type CellEvent,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type Response,
} from "./protocol.js";
import { SendQueue } from "./send-queue.js";
import type { CellService } from "./service.js";

export interface CommandServerOptions {
  readonly endpoint: string;
  readonly events: string;
  /** Octal text, as in the configuration. */
  readonly mode: string;
  readonly leaseS: number;
  /** Counts the daemon's lives, so that epochs never come twice; 0 where no earlier life is to be told apart. */
  readonly start?: number;
  readonly version: string;
  readonly clock: Clock;
  /** Told about requests that were refused before they reached the cell. */
  readonly onRefused?: (why: string) => void;
}

type Handlers = {
  readonly [M in MethodName]: (params: MethodParams<M>, by: string) => Promise<MethodResult<M>>;
};

class ProtocolError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export class CommandServer {
  private readonly authority: Authority;
  private router: Router | undefined;
  private publisher: Publisher | undefined;
  private receiving: Promise<void> | undefined;
  private readonly files: string[] = [];
  private readonly closing = new AbortController();
  private readonly replies = new SendQueue<Buffer[]>(async (frames) => this.router?.send(frames), 1000);
  private readonly outbox = new SendQueue<CellEvent>(
    async ({ topic, event }) => this.publisher?.send([topic, JSON.stringify(event)]),
    1000,
  );

  constructor(
    private readonly cell: CellService,
    private readonly options: CommandServerOptions,
  ) {
    this.authority = new Authority(options.leaseS, options.start);
  }

  get lease(): Lease {
    return this.authority.lease;
  }

  /** Binds both sockets with their permissions. @throws CellError LINK_BUSY, CONFIG_INVALID, LINK_CONNECT */
  async open(): Promise<void> {
    const { endpoint, events, mode } = this.options;
    // One socket too slow to read its answers must not hold memory without end; nothing lingers at the end.
    const limits = { linger: 0, sendHighWaterMark: 1000, maxMessageSize: maxMessageBytes };
    const router = new Router({ ...limits, mandatory: false, sendTimeout: 0 });
    const publisher = new Publisher({ ...limits, sendTimeout: 0 });
    try {
      for (const [socket, address] of [
        [router, endpoint],
        [publisher, events],
      ] as const) {
        const file = await prepareSocketFile(address);
        try {
          await socket.bind(address);
        } catch (error) {
          throw new CellError("LINK_CONNECT", `${address}: ${String(error)}`, {
            cause: error,
            remedy: "does the folder exist, and may this user write there? see command.endpoint",
          });
        }
        this.files.push(file);
        await permit(file, mode);
      }
    } catch (error) {
      router.close();
      publisher.close();
      throw error;
    }
    this.router = router;
    this.publisher = publisher;
    this.receiving = this.receive(router);
  }

  /** Queues an event; never blocks and never throws. Without subscribers it goes nowhere. */
  publish(event: CellEvent): void {
    if (this.publisher === undefined || this.closing.signal.aborted) return;
    this.outbox.push(event);
  }

  /** Idempotent; bounded: waits for what is already being sent, at most a moment. */
  async close(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.closing.abort(new CellError("LINK_ABORTED", "the daemon is shutting down"));
    await Promise.race([
      Promise.all([this.outbox.settled(), this.replies.settled()]),
      this.options.clock.sleep(0.5),
    ]);
    this.router?.close();
    this.publisher?.close();
    await this.receiving?.catch(() => undefined);
    await Promise.all(this.files.map(async (file) => rm(file, { force: true })));
  }

  private async receive(router: Router): Promise<void> {
    for await (const frames of router) {
      // DEALER sends [identity, body]; REQ puts an empty delimiter between. The answer carries the same envelope.
      const body = frames[frames.length - 1];
      const envelope = frames.slice(0, -1);
      const wellFormed = envelope.length === 1 || (envelope.length === 2 && envelope[1]?.length === 0);
      if (body === undefined || !wellFormed) {
        this.options.onRefused?.(`a message of ${frames.length} frames`);
        continue;
      }
      // Not awaited: a long call must never keep a stop waiting.
      void this.answer(body).then((response) => {
        this.replies.push([...envelope, Buffer.from(JSON.stringify(response))]);
      });
    }
  }

  private async answer(body: Buffer): Promise<Response> {
    let id: string | number | null = null;
    try {
      const request = this.parse(body);
      id = request.id;
      return {
        jsonrpc: "2.0",
        id,
        result: await this.dispatch(request.id, request.method, request.params ?? {}),
      };
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.options.onRefused?.(error.message);
        return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } };
      }
      const known = asCellError(error);
      const data = { code: known.code, remedy: known.remedy };
      return { jsonrpc: "2.0", id, error: { code: known.number, message: known.detail, data } };
    }
  }

  private parse(body: Buffer): z.output<typeof requestSchema> {
    let data: unknown;
    try {
      data = JSON.parse(body.toString("utf8"));
    } catch {
      throw new ProtocolError(rpcError.parse, "the request is not JSON");
    }
    const parsed = requestSchema.safeParse(data);
    if (!parsed.success) {
      throw new ProtocolError(
        rpcError.request,
        `not a JSON-RPC 2.0 request: ${z.prettifyError(parsed.error)}`,
      );
    }
    return parsed.data;
  }

  private async dispatch(id: string | number, method: string, params: unknown): Promise<unknown> {
    if (!isMethod(method)) throw new ProtocolError(rpcError.method, `there is no method ${method}`);
    const spec = methods[method];
    const parsed = spec.params.safeParse(params);
    if (!parsed.success) {
      const problems = explainIssues(parsed.error, spec.params, params);
      throw new ProtocolError(
        rpcError.params,
        problems.map((problem) => `${method}: ${problem.path}: ${problem.message}`).join("; "),
      );
    }
    let by = "";
    if (spec.control) {
      const { epoch } = parsed.data as { epoch: number };
      by = this.authority.admit(epoch, id, this.options.clock.now());
    }
    const handler = this.handlers[method] as (params: unknown, by: string) => Promise<unknown>;
    return handler(parsed.data, by);
  }

  private readonly handlers: Handlers = {
    describe: async () =>
      Promise.resolve({
        protocol: protocolVersion,
        version: this.options.version,
        events: this.options.events,
        methods: Object.keys(methods),
      }),
    status: async () =>
      Promise.resolve({ ...this.cell.status(), lease: this.lease.status(this.options.clock.now()) }),
    stop: async ({ reason, client }) => this.cell.stop(reason ?? "stop command", client ?? "unnamed client"),
    acquire: async ({ client, force }) => {
      const epoch = this.lease.acquire(client, this.options.clock.now(), force === true);
      return Promise.resolve({ epoch, leaseS: this.options.leaseS });
    },
    release: async ({ epoch }) => {
      this.lease.release(epoch);
      return Promise.resolve({ detail: "released" });
    },
    plan: async ({ targets, file, query }) =>
      this.cell.plan(
        { targets, file: absolute(file), ...(query === undefined ? {} : { query }) },
        this.closing.signal,
      ),
    start: async ({ procedure, query }) => this.cell.start({ procedure: absolute(procedure), query }),
    reset: async () => this.cell.reset(),
    confirm: async () => this.cell.confirm(),
    retry: async () => this.cell.retry(),
    choose: async ({ skill }) => this.cell.choose(skill),
    takeover: async (_, by) => {
      const answer = await this.cell.takeover(by);
      this.lease.keep(true, this.options.clock.now());
      return answer;
    },
    override: async ({ fault }) => this.cell.override(fault),
    home: async () => this.cell.home(),
    handback: async () => {
      const answer = await this.cell.handback();
      this.lease.keep(false, this.options.clock.now());
      return answer;
    },
  };
}

/** Client and daemon may stand in different folders, so only absolute paths cross the socket. */
function absolute(file: string): string {
  if (path.isAbsolute(file)) return file;
  throw new CellError("COMMAND_INVALID", `${file}: the path must be absolute`);
}
