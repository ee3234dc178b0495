/** A reasoner in another process, in any language, over ZeroMQ (docs/reasoner-worker.md). */
import { z } from "zod";
import { canonicalJson } from "../../record/canonical-json.js";
import { Skill } from "../safety/skill-names.js";
import type { Observation } from "../safety/types.js";
import { assemblePrompt, reasonerData } from "./prompt.js";
import { asItComes, rebuildReply, type ReplyProfile } from "./rebuild-reply.js";
import type { Reasoner, ReasonerImage, Reply } from "./reasoner.js";
import {
  replyText,
  WorkerLink,
  type WorkerCounters,
  type WorkerEndpoint,
  type WorkerReply,
} from "./worker-link.js";

export const workerProtocol = "surgiclaw.reasoner/1";

/** The budget stays below the age limit of an observation. */
export interface ZeromqWorkerOptions extends WorkerEndpoint {
  /** Whether the worker is told what native vision measured. */
  readonly includeVisual?: boolean;
  /** How the server behind the worker takes replies apart; by default it does not. */
  readonly profile?: ReplyProfile;
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

export class ZeromqWorkerReasoner implements Reasoner {
  readonly name = "zmq";
  private readonly link: WorkerLink<ReplyHeader>;

  constructor(private readonly options: ZeromqWorkerOptions) {
    this.link = new WorkerLink(options, {
      peer: "reasoner worker",
      failure: "REASONER_FAILED",
      header: replyHeader,
      hashOf: ({ observationHash }) => observationHash,
    });
  }

  get counters(): WorkerCounters {
    return this.link.counters;
  }

  /** Opens the socket; the worker may come before or after. @throws CellError LINK_CONNECT */
  async start(): Promise<void> {
    await this.link.start();
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  async infer(
    observation: Observation,
    images: readonly ReasonerImage[],
    signal: AbortSignal,
  ): Promise<Reply> {
    const parts = (id: string, sentAtS: number): (string | Uint8Array)[] =>
      this.request(id, sentAtS, observation, images);
    const reply = asReply(await this.link.ask(observation.hash, parts, signal));
    return rebuildReply(reply, this.options.profile ?? asItComes);
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
}

function asReply({ header, text, receivedAtS }: WorkerReply<ReplyHeader>): Reply {
  const { completionTokens, tokenLimit, toolCalls, reasoning, model } = header;
  return {
    text: replyText(text),
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
