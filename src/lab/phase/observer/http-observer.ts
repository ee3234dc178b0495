/**
 * A model behind a server that speaks the OpenAI chat wire: one request, temperature 0, no streaming, no retries. What
 * the server promises about its output is not believed: the reply's text goes through the same parser as any other.
 */
import { z } from "zod";
import { CellError } from "../../../base/errors.js";
import { contactSheet } from "../storyboard/storyboard.js";
import type { Observer, ObserverQuestion, ObserverReply } from "./observer.js";
import { observerPrompt, replySchema, tokenLimit } from "./prompt.js";

export interface HttpObserverOptions {
  /** As in `http://127.0.0.1:8000/v1`; `/chat/completions` is added. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string;
  /** From request to reply, s. */
  readonly budgetS: number;
  /** Pictures that the server takes at once; below seven all panels go on one sheet. */
  readonly maxImages: number;
  /** Whether to ask the server to hold the model to the JSON Schema of a reply. */
  readonly constrain: boolean;
  /** Newer servers know the cap under another name. */
  readonly tokenField: "max_tokens" | "max_completion_tokens";
}

/** A server's answer of more than this is none. */
const maxBytes = 1024 * 1024;

const answerSchema = z.object({
  model: z.string().max(200).optional(),
  choices: z
    .array(
      z.object({
        finish_reason: z.string().max(100).nullish(),
        message: z.object({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z.array(z.unknown()).nullish(),
        }),
      }),
    )
    .length(1),
  usage: z.object({ completion_tokens: z.number().optional() }).nullish(),
});

const dataUrl = (png: Uint8Array): string => `data:image/png;base64,${Buffer.from(png).toString("base64")}`;

export class HttpObserver implements Observer {
  readonly name = "http";
  readonly needsPictures = true;

  constructor(private readonly options: HttpObserverOptions) {}

  async observe(question: ObserverQuestion, signal: AbortSignal): Promise<ObserverReply> {
    const { board } = question;
    if (board === undefined) throw new CellError("INTERNAL", "the server was given no pictures");
    const onOneSheet = this.options.maxImages < board.panels.length;
    const pictures = onOneSheet ? [(await contactSheet(board)).png] : board.panels.map(({ png }) => png);
    const { system, user } = observerPrompt(question, onOneSheet);
    const body = {
      model: this.options.model,
      temperature: 0,
      stream: false,
      [this.options.tokenField]: tokenLimit,
      messages: [
        { role: "system", content: system },
        {
          role: "user",
          content: [
            { type: "text", text: user },
            ...pictures.map((png) => ({ type: "image_url", image_url: { url: dataUrl(png) } })),
          ],
        },
      ],
      ...(this.options.constrain
        ? {
            response_format: {
              type: "json_schema",
              json_schema: { name: "phase_record", strict: true, schema: replySchema(question) },
            },
          }
        : {}),
    };
    const answer = await this.post(body, signal);
    const choice = answer.choices[0];
    const toolCalls = (choice?.message.tool_calls ?? []).length > 0;
    return {
      text: choice?.message.content ?? "",
      // A refusal or a call of a tool is an answer, but no record.
      finishReason: toolCalls
        ? "tool_calls"
        : choice?.message.refusal
          ? "refusal"
          : (choice?.finish_reason ?? "none"),
      contactSheet: onOneSheet,
      ...(answer.usage?.completion_tokens === undefined
        ? {}
        : { completionTokens: answer.usage.completion_tokens }),
      model: answer.model ?? this.options.model,
    };
  }

  private async post(body: object, signal: AbortSignal): Promise<z.infer<typeof answerSchema>> {
    const { baseUrl, apiKey, budgetS } = this.options;
    const url = `${baseUrl.replace(/\/+$/, "")}/chat/completions`;
    const deadline = AbortSignal.timeout(Math.ceil(budgetS * 1e3));
    let status: number;
    let text: string;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.any([signal, deadline]),
      });
      status = response.status;
      text = await boundedText(response);
    } catch (error) {
      if (signal.aborted)
        throw new CellError("LINK_ABORTED", "the question was cancelled", { cause: signal.reason });
      if (error instanceof CellError) throw error;
      const why = deadline.aborted ? `no reply within ${budgetS} s` : reasonOf(error);
      throw new CellError("OBSERVER_FAILED", `${url}: ${why}`, { cause: error });
    }
    if (status < 200 || status > 299) {
      throw new CellError("OBSERVER_FAILED", `${url}: status ${status}: ${text.slice(0, 300)}`);
    }
    try {
      return answerSchema.parse(JSON.parse(text));
    } catch (error) {
      throw new CellError(
        "OBSERVER_FAILED",
        `${url}: the answer is no chat completion: ${text.slice(0, 200)}`,
        {
          cause: error,
        },
      );
    }
  }
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    const chunk = part as Uint8Array;
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new CellError("OBSERVER_FAILED", `the answer is longer than ${maxBytes} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
