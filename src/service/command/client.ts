/** The client's side of the command socket, with deadlines on every wait. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { Dealer, Subscriber } from "zeromq";
import { monotonicNow } from "../../base/clock.js";
import { CellError, errorCatalogue, type ErrorCode } from "../../base/errors.js";
import {
  eventSchemas,
  maxMessageBytes,
  methods,
  responseSchema,
  type CellEvent,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type Topic,
} from "./protocol.js";
import { SendQueue } from "./send-queue.js";

interface Waiter {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(errorCatalogue, code);

export class CommandClient {
  private dealer: Dealer | undefined;
  private readonly requests = new SendQueue<string>(async (text) => this.dealer?.send(text), 1000);
  private readonly waiters = new Map<string, Waiter>();
  /** Answers that came after their deadline. */
  lateReplies = 0;

  /** `name` is shown to others while this client holds control. */
  constructor(
    readonly endpoint: string,
    readonly name: string,
  ) {}

  /** @throws CellError LINK_CONNECT when no daemon has made its socket there */
  open(): void {
    const file = this.endpoint.startsWith("ipc://") ? this.endpoint.slice("ipc://".length) : undefined;
    if (file !== undefined && !file.startsWith("@") && !existsSync(file)) {
      throw new CellError("LINK_CONNECT", `no daemon serves ${this.endpoint}`, {
        remedy: "start it with `npx surgiclawd --config FILE`, or name its socket with --endpoint",
      });
    }
    const dealer = new Dealer({ linger: 0, maxMessageSize: maxMessageBytes, sendTimeout: 1000 });
    dealer.connect(this.endpoint);
    this.dealer = dealer;
    void this.receive(dealer);
  }

  close(): void {
    this.dealer?.close();
    this.dealer = undefined;
    for (const waiter of this.waiters.values()) {
      waiter.reject(new CellError("LINK_CLOSED", `${this.endpoint}: the client was closed`));
    }
    this.waiters.clear();
  }

  /**
   * Calls a method. @throws CellError LINK_TIMEOUT naming method and elapsed time; what the daemon refused comes back
   * under its own code.
   */
  async call<M extends MethodName>(
    method: M,
    params: MethodParams<M>,
    options: { readonly timeoutS?: number; readonly signal?: AbortSignal } = {},
  ): Promise<MethodResult<M>> {
    if (this.dealer === undefined) throw new CellError("LINK_CLOSED", `${this.endpoint} is not open`);
    const id = randomUUID();
    const began = monotonicNow();
    const limitS = options.timeoutS ?? 5;
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    const answer = new Promise<unknown>((resolve, reject) => {
      // The matcher stands before the request goes out.
      this.waiters.set(id, { resolve, reject });
      timer = setTimeout(() => {
        const elapsed = (monotonicNow() - began).toFixed(1);
        reject(
          new CellError("LINK_TIMEOUT", `${method}: no answer from ${this.endpoint} after ${elapsed} s`),
        );
      }, limitS * 1e3);
      onAbort = () => reject(new CellError("LINK_ABORTED", `${method} was cancelled`));
      if (options.signal?.aborted === true) onAbort();
      options.signal?.addEventListener("abort", onAbort, { once: true });
    });
    answer.catch(() => undefined);
    try {
      this.requests.push(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      const result = methods[method].result.safeParse(await answer);
      if (!result.success) {
        throw new CellError("LINK_PROTOCOL", `${method}: the answer does not follow its schema`, {
          cause: result.error,
          remedy: "daemon and client are of different versions",
        });
      }
      return result.data as MethodResult<M>;
    } finally {
      clearTimeout(timer);
      if (onAbort !== undefined) options.signal?.removeEventListener("abort", onAbort);
      this.waiters.delete(id);
    }
  }

  /** Takes the lease, calls, gives the lease back. */
  async control<M extends MethodName>(
    method: M,
    params: Omit<MethodParams<M>, "epoch">,
    options: { readonly timeoutS?: number; readonly signal?: AbortSignal; readonly force?: boolean } = {},
  ): Promise<MethodResult<M>> {
    const force = options.force === true ? { force: true } : {};
    const { epoch } = await this.call("acquire", { client: this.name, ...force });
    try {
      return await this.call(method, { ...params, epoch } as MethodParams<M>, options);
    } finally {
      await this.call("release", { epoch }).catch(() => undefined);
    }
  }

  private async receive(dealer: Dealer): Promise<void> {
    for await (const frames of dealer) {
      const body = frames[frames.length - 1];
      const parsed = responseSchema.safeParse(parseJson(body));
      if (!parsed.success) continue;
      const waiter = this.waiters.get(String(parsed.data.id));
      if (waiter === undefined) {
        this.lateReplies += 1;
        continue;
      }
      const { error } = parsed.data;
      if (error === undefined) waiter.resolve(parsed.data.result);
      else {
        const code =
          error.data !== undefined && isCode(error.data.code) ? error.data.code : "COMMAND_INVALID";
        const remedy = error.data === undefined ? {} : { remedy: error.data.remedy };
        waiter.reject(new CellError(code, error.message, remedy));
      }
    }
  }
}

function parseJson(body: Buffer | undefined): unknown {
  try {
    return JSON.parse(body?.toString("utf8") ?? "");
  } catch {
    return undefined;
  }
}

/** Events as they come, until the signal fires. Events that follow no schema of ours are skipped. */
export async function* subscribe(
  events: string,
  topics: readonly Topic[],
  signal: AbortSignal,
): AsyncGenerator<CellEvent> {
  const socket = new Subscriber({ linger: 0, maxMessageSize: maxMessageBytes });
  const close = (): void => socket.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    if (signal.aborted) return;
    socket.connect(events);
    socket.subscribe(...topics);
    for await (const [topicFrame, body] of socket) {
      const topic = topicFrame?.toString("utf8") as Topic;
      const schema = Object.hasOwn(eventSchemas, topic) ? eventSchemas[topic] : undefined;
      const event = schema?.safeParse(parseJson(body));
      if (event?.success === true) yield { topic, event: event.data } as CellEvent;
    }
  } finally {
    signal.removeEventListener("abort", close);
    if (!socket.closed) socket.close();
  }
}
