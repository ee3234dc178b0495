/**
 * A reasoner in another process, in any language, over ZeroMQ (docs/reasoner-worker.md). One request at a time; a reply
 * counts only with the id and the observation hash of the request that waits. Late, foreign and malformed replies are
 * dropped and counted. A worker that hangs or dies costs one deadline, never more.
 */
import { randomUUID } from "node:crypto";
import { Dealer } from "zeromq";
import { z } from "zod";
import { systemClock, type Clock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { Skill } from "../safety/skill-names.js";
import type { Observation } from "../safety/types.js";
import { assemblePrompt, reasonerData } from "./prompt.js";
import { asItComes, rebuildReply, type ReplyProfile } from "./rebuild-reply.js";
import type { Reasoner, ReasonerImage, Reply } from "./reasoner.js";

export const workerProtocol = "surgiclaw.reasoner/1";

export interface ZeromqWorkerOptions {
  /** `ipc://…` or `tcp://…`. */
  readonly endpoint: string;
  /** Whether this side binds (workers connect) or connects (the worker binds). */
  readonly mode: "bind" | "connect";
  /** From request to reply, s; below the age limit of an observation. */
  readonly budgetS: number;
  /** Whether the worker is told what native vision measured. */
  readonly includeVisual?: boolean;
  /** How the server behind the worker takes replies apart; by default it does not. */
  readonly profile?: ReplyProfile;
  readonly clock?: Clock;
}

export interface WorkerCounters {
  readonly requests: number;
  readonly replies: number;
  /** Answers to requests whose deadline had passed. */
  readonly late: number;
  /** Ids never asked, or the right id with another observation's hash. */
  readonly foreign: number;
  readonly malformed: number;
}

const replyHeader = z.object({
  protocol: z.literal(workerProtocol),
  id: z.string().max(100),
  observationId: z.string().max(200),
  observationHash: z.string().max(200),
  finishReason: z.string().max(100),
  completionTokens: z.number().optional(),
  tokenLimit: z.number().optional(),
  toolCalls: z.array(z.unknown()).optional(),
  reasoning: z.string().optional(),
  model: z.string().max(200).optional(),
});
type ReplyHeader = z.infer<typeof replyHeader>;

interface Pending {
  readonly id: string;
  readonly hash: string;
  readonly resolve: (reply: Reply) => void;
}

/** A reply of more than this closes the connection: the parser takes 16 KiB at most. */
const maxMessageBytes = 256 * 1024;
const retryS = 0.02;

export class ZeromqWorkerReasoner implements Reasoner {
  readonly name = "zmq";
  private readonly clock: Clock;
  private socket: Dealer | undefined;
  private receiving: Promise<void> | undefined;
  private pending: Pending | undefined;
  /** Ids whose time has passed, newest last. */
  private readonly past: string[] = [];
  private readonly count = { requests: 0, replies: 0, late: 0, foreign: 0, malformed: 0 };

  constructor(private readonly options: ZeromqWorkerOptions) {
    this.clock = options.clock ?? systemClock;
  }

  get counters(): WorkerCounters {
    return { ...this.count };
  }

  /** Opens the socket; the worker may come before or after. @throws CellError LINK_CONNECT */
  async start(): Promise<void> {
    if (this.socket !== undefined) return;
    const { endpoint, mode } = this.options;
    const socket = new Dealer({
      linger: 0,
      // Nothing is queued for a worker that is not there, and little for one that does not read.
      immediate: true,
      sendHighWaterMark: 2,
      receiveHighWaterMark: 16,
      sendTimeout: 0,
      maxMessageSize: maxMessageBytes,
      reconnectInterval: 100,
      reconnectMaxInterval: 1000,
    });
    try {
      if (mode === "bind") await socket.bind(endpoint);
      else socket.connect(endpoint);
    } catch (error) {
      socket.close();
      throw new CellError("LINK_CONNECT", `reasoner worker: cannot ${mode} ${endpoint}`, { cause: error });
    }
    this.socket = socket;
    this.receiving = this.receive(socket);
  }

  async close(): Promise<void> {
    this.socket?.close();
    this.socket = undefined;
    await this.receiving?.catch(() => undefined);
  }

  async infer(
    observation: Observation,
    images: readonly ReasonerImage[],
    signal: AbortSignal,
  ): Promise<Reply> {
    const socket = this.socket;
    if (socket === undefined)
      throw new CellError("REASONER_FAILED", "the link to the worker was not started");
    if (this.pending !== undefined)
      throw new CellError("REASONER_FAILED", "one inference is under way already");
    const { budgetS } = this.options;
    const startS = this.clock.now();
    const id = randomUUID();
    const elapsed = (): string => `${(this.clock.now() - startS).toFixed(2)} s`;
    const deadline = AbortSignal.timeout(Math.ceil(budgetS * 1e3));
    const over = AbortSignal.any([signal, deadline]);
    const reply = new Promise<Reply>((resolve) => {
      this.pending = { id, hash: observation.hash, resolve };
    });
    this.count.requests++;
    try {
      const sent = await this.send(socket, this.request(id, startS, observation, images), over);
      if (!sent) {
        signal.throwIfAborted();
        throw new CellError("REASONER_FAILED", `no worker took the request within ${elapsed()}`);
      }
      return await Promise.race([reply, rejectOn(over)]);
    } catch (error) {
      if (signal.aborted) {
        throw new CellError("LINK_ABORTED", "the inference was cancelled", { cause: signal.reason });
      }
      if (deadline.aborted && !(error instanceof CellError)) {
        throw new CellError("REASONER_FAILED", `no reply to ${id} within ${elapsed()}`);
      }
      if (error instanceof CellError) throw error;
      throw new CellError("REASONER_FAILED", "the request could not be sent", { cause: error });
    } finally {
      this.pending = undefined;
      this.past.push(id);
      if (this.past.length > 64) this.past.shift();
    }
  }

  private request(
    id: string,
    sentAtS: number,
    observation: Observation,
    images: readonly ReasonerImage[],
  ): (string | Uint8Array)[] {
    const includeVisual = this.options.includeVisual ?? true;
    const header = {
      protocol: workerProtocol,
      id,
      observationId: observation.id,
      observationHash: observation.hash,
      budgetS: this.options.budgetS,
      sentAtS,
      images: images.map(({ camera, sequence, sha256, width, height, reduce }) => ({
        camera,
        sequence,
        sha256,
        width,
        height,
        reduce,
      })),
    };
    const body = { ...reasonerData(observation, includeVisual), skills: Skill };
    const prompt = assemblePrompt(observation, { includeVisual });
    return [
      canonicalJson(header),
      canonicalJson(body),
      canonicalJson(prompt),
      ...images.map((image) => image.jpeg),
    ];
  }

  /** False when the time was over before any worker took it. */
  private async send(socket: Dealer, parts: (string | Uint8Array)[], over: AbortSignal): Promise<boolean> {
    while (!over.aborted) {
      try {
        await socket.send(parts);
        return true;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code !== "EAGAIN" && code !== "EBUSY") throw error;
      }
      await this.clock.sleep(retryS, over).catch(() => undefined);
    }
    return false;
  }

  private async receive(socket: Dealer): Promise<void> {
    for await (const parts of socket) this.take(parts);
  }

  private take(parts: readonly Uint8Array[]): void {
    const header = readHeader(parts);
    const text = parts[1];
    if (header === undefined || text === undefined || parts.length !== 2) {
      this.count.malformed++;
      return;
    }
    const { pending } = this;
    if (pending === undefined || header.id !== pending.id) {
      if (this.past.includes(header.id)) this.count.late++;
      else this.count.foreign++;
      return;
    }
    if (header.observationHash !== pending.hash) {
      this.count.foreign++;
      return;
    }
    this.count.replies++;
    const reply = asReply(header, text, this.clock.now());
    pending.resolve(rebuildReply(reply, this.options.profile ?? asItComes));
  }
}

function readHeader(parts: readonly Uint8Array[]): ReplyHeader | undefined {
  try {
    return replyHeader.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(parts[0])));
  } catch {
    return undefined;
  }
}

/** Bytes that are not UTF-8 decode to U+FFFD, which the parser refuses. */
function asReply(header: ReplyHeader, text: Uint8Array, receivedAtS: number): Reply {
  const { completionTokens, tokenLimit, toolCalls, reasoning, model } = header;
  return {
    text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(text),
    finishReason: header.finishReason,
    observationId: header.observationId,
    observationHash: header.observationHash,
    receivedAtS,
    ...(completionTokens === undefined ? {} : { completionTokens }),
    ...(tokenLimit === undefined ? {} : { tokenLimit }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(model === undefined ? {} : { model }),
  };
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error("cancelled"));
    };
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}
