/** The chat wire against a server made here: what is asked, and everything a server may answer. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import t, { type Test } from "tap";
import { HttpObserver, type HttpObserverOptions } from "../../../src/lab/phase/observer/http-observer.js";
import type { ObserverQuestion } from "../../../src/lab/phase/observer/observer.js";
import { parseRecord } from "../../../src/lab/phase/phase-record.js";
import { drawStoryboard } from "../../../src/lab/phase/storyboard/storyboard.js";
import { readEpisode } from "../../../src/lab/phase/support-pool.js";
import { makePool } from "./fixtures.js";

const never = new AbortController().signal;

interface Asked {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    model: string;
    temperature: number;
    stream: boolean;
    max_tokens?: number;
    max_completion_tokens?: number;
    response_format?: { json_schema: { schema: object } };
    messages: [
      { content: string },
      { content: { type: string; text?: string; image_url?: { url: string } }[] },
    ];
  };
}

async function server(
  t: Test,
  respond: (asked: Asked, response: ServerResponse) => void,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Asked["body"];
      const one = { url: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      respond(one, response);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`, asked };
}

const completion = (content: string | null, more: object = {}, message: object = {}): string =>
  JSON.stringify({
    id: "c1",
    object: "chat.completion",
    model: "some-vlm-7b",
    choices: [
      { index: 0, finish_reason: "stop", message: { role: "assistant", content, ...message }, ...more },
    ],
    usage: { prompt_tokens: 900, completion_tokens: 31 },
  });

const json = (response: ServerResponse, text: string, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(text);
};

const made = makePool({ frames: true });
const drawn = made.then(async ({ pool, vocabulary }) =>
  drawStoryboard(pool, vocabulary, await readEpisode(pool, vocabulary, "drop")),
);
async function question(form: "steps" | "seconds" = "steps"): Promise<ObserverQuestion> {
  return { episode: "drop", steps: 40, vocabulary: (await made).vocabulary, form, board: await drawn };
}

const observer = (url: string, more: Partial<HttpObserverOptions> = {}): HttpObserver =>
  new HttpObserver({
    baseUrl: url,
    model: "some-vlm",
    budgetS: 20,
    maxImages: 8,
    constrain: false,
    tokenField: "max_tokens",
    ...more,
  });

const record = '{"phase":"lift","arrival":[15,24],"confidence":0.8}';

t.test("one request with seven pictures, temperature 0 and a cap of 400 tokens", async (t) => {
  const { url, asked } = await server(t, (_, response) => json(response, completion(record)));
  const reply = await observer(`${url}/`, { apiKey: "secret" }).observe(await question(), never);
  t.match(reply, {
    text: record,
    finishReason: "stop",
    model: "some-vlm-7b",
    completionTokens: 31,
    contactSheet: false,
  });
  t.equal(asked.length, 1, "asked once");
  const [{ url: path, headers, body }] = asked as [Asked];
  t.equal(path, "/v1/chat/completions");
  t.equal(headers.authorization, "Bearer secret");
  t.match(body, { model: "some-vlm", temperature: 0, stream: false, max_tokens: 400 });
  t.notOk(body.response_format);
  const [system, user] = body.messages;
  t.match(system.content, /"contact\/grasp": Both jaws touch/);
  t.match(system.content, /take the lower one/);
  t.match(system.content, /steps run from 0 to 39/);
  t.match(user.content[0]?.text, /Steps shown: 0 \(0.05 s\), 9 \(0.50 s\)/);
  const pictures = user.content.slice(1).map(({ image_url }) => image_url?.url ?? "");
  t.equal(pictures.length, 7);
  const panels = (await drawn).panels;
  pictures.forEach((picture, index) => {
    const [head, data] = picture.split(",");
    t.equal(head, "data:image/png;base64");
    t.same(Buffer.from(data ?? "", "base64"), panels[index]?.png);
  });
});

t.test("fewer pictures allowed: one sheet; a constraint where the server has them", async (t) => {
  const { url, asked } = await server(t, (_, response) => json(response, completion(record)));
  const more = { maxImages: 1, constrain: true, tokenField: "max_completion_tokens" } as const;
  const reply = await observer(url, more).observe(await question(), never);
  t.equal(reply.contactSheet, true);
  const [{ body, headers }] = asked as [Asked];
  t.equal(headers.authorization, undefined);
  t.equal(body.max_completion_tokens, 400);
  t.notOk("max_tokens" in body);
  t.match(body.messages[0].content, /One picture holds seven panels/);
  const pictures = body.messages[1].content.slice(1);
  t.equal(pictures.length, 1);
  const png = Buffer.from((pictures[0]?.image_url?.url ?? "").split(",")[1] ?? "", "base64");
  t.match(await sharp(png).metadata(), { width: 2064, height: 1152, format: "png" });
  t.match(body.response_format?.json_schema.schema, {
    required: ["phase", "arrival", "confidence"],
    additionalProperties: false,
    properties: { phase: { enum: ["clear failure", "approach", "contact/grasp", "lift", "stable success"] } },
  });
  await observer(url, more).observe(await question("seconds"), never);
  t.match(asked[1]?.body.response_format?.json_schema.schema, { required: ["arrivals", "confidence"] });
  t.match(asked[1]?.body.messages[0].content, /"lift": SECONDS or null/);
});

t.test("answers that are no record are kept as they are", async (t) => {
  const answers: [string, string, RegExp][] = [
    [completion(record, { finish_reason: "length" }), "length", /./],
    [completion(null, {}, { refusal: "I cannot judge this." }), "refusal", /^$/],
    [completion(null, { finish_reason: "stop" }, { tool_calls: [{}] }), "tool_calls", /^$/],
    [completion(`Sure! ${record}`), "stop", /^Sure/],
    [completion("", { finish_reason: null }), "none", /^$/],
  ];
  let next = 0;
  const { url } = await server(t, (_, response) => json(response, answers[next++]?.[0] ?? ""));
  const { vocabulary } = await made;
  for (const [, finishReason, text] of answers) {
    const reply = await observer(url).observe(await question(), never);
    t.match(reply, { finishReason, text });
    t.ok(reply.finishReason !== "stop" || !parseRecord(reply.text, vocabulary, "steps").ok);
  }
});

t.test("no answer: asked once, an error that says why", async (t) => {
  const ways: [(response: ServerResponse) => void, RegExp][] = [
    [
      (response) => json(response, '{"error":"at most 1 image(s) may be provided"}', 400),
      /status 400.*at most 1/,
    ],
    [(response) => json(response, "busy", 503), /status 503/],
    [(response) => json(response, "<html>"), /no chat completion/],
    [(response) => json(response, '{"choices":[]}'), /no chat completion/],
    [(response) => json(response, "x".repeat(1100000)), /longer than/],
    [(response) => void response.destroy(), /fetch failed|terminated|socket/],
    [
      (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
      /redirect|fetch failed/,
    ],
    [() => undefined, /no reply within 0.3 s/],
  ];
  let next = 0;
  const { url, asked } = await server(t, (_, response) => ways[next]?.[0](response));
  for (const [index, [, message]] of ways.entries()) {
    next = index;
    const budgetS = index === ways.length - 1 ? 0.3 : 20;
    const ask = observer(url, { budgetS }).observe(await question(), never);
    await t.rejects(ask, { code: "OBSERVER_FAILED", message });
    t.equal(asked.length, index + 1, "no second try");
  }
  const gone = new AbortController();
  const waiting = observer(url).observe(await question(), gone.signal);
  setTimeout(() => gone.abort(), 50);
  await t.rejects(waiting, { code: "LINK_ABORTED" });
  await t.rejects(observer("http://127.0.0.1:9/v1").observe(await question(), never), {
    code: "OBSERVER_FAILED",
  });
});
