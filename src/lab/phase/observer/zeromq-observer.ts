/** An observer in another process, in any language, over ZeroMQ (docs/phase.md). */
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  replyText,
  WorkerLink,
  type WorkerCounters,
  type WorkerEndpoint,
} from "../../../agent/reasoners/worker-link.js";
import { CellError } from "../../../base/errors.js";
import { canonicalJson } from "../../../record/canonical-json.js";
import type { Observer, ObserverQuestion, ObserverReply } from "./observer.js";
import { observerPrompt, tokenLimit } from "./prompt.js";

export const observerProtocol = "surgiclaw.phase-observer/1";

const replyHeader = z.object({
  protocol: z.literal(observerProtocol),
  id: z.string().max(100),
  storyboardSha256: z.string().max(100),
  finishReason: z.string().max(100),
  completionTokens: z.number().optional(),
  model: z.string().max(200).optional(),
});

export class ZeromqObserver implements Observer {
  readonly name = "zmq";
  readonly needsPictures = true;
  private readonly link: WorkerLink<z.infer<typeof replyHeader>>;

  constructor(private readonly options: WorkerEndpoint) {
    this.link = new WorkerLink(options, {
      peer: "phase observer",
      failure: "OBSERVER_FAILED",
      header: replyHeader,
      hashOf: ({ storyboardSha256 }) => storyboardSha256,
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

  async observe(question: ObserverQuestion, signal: AbortSignal): Promise<ObserverReply> {
    const { board } = question;
    if (board === undefined) throw new CellError("INTERNAL", "the worker was given no pictures");
    const parts = (id: string, sentAtS: number): (string | Uint8Array)[] => [
      canonicalJson({
        protocol: observerProtocol,
        id,
        storyboardSha256: board.sha256,
        budgetS: this.options.budgetS,
        sentAtS,
        tokenLimit,
        images: board.panels.map(({ kind, steps, timesS, picture, png }) => ({
          kind,
          steps,
          timesS,
          width: picture.width,
          height: picture.height,
          sha256: createHash("sha256").update(png).digest("hex"),
        })),
      }),
      canonicalJson({
        task: question.vocabulary.task,
        description: question.vocabulary.description,
        phases: question.vocabulary.phases.map(({ label, rule }) => ({ label, rule })),
        crops: question.vocabulary.crops,
        steps: question.steps,
        form: question.form,
      }),
      canonicalJson(observerPrompt(question, false)),
      ...board.panels.map(({ png }) => png),
    ];
    const { header, text } = await this.link.ask(board.sha256, parts, signal);
    const { finishReason, completionTokens, model } = header;
    return {
      text: replyText(text),
      finishReason,
      ...(completionTokens === undefined ? {} : { completionTokens }),
      ...(model === undefined ? {} : { model }),
    };
  }
}
