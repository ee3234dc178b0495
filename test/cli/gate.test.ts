/** surgiclaw gate: the shipped examples, standard input, and files that must be corrected. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-gate-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const example = (name: string): string => path.join(projectRoot, "examples", "gate", name);
const file = (name: string, text: string | Uint8Array): string => {
  const target = path.join(folder, name);
  writeFileSync(target, text);
  return target;
};

function gate(
  args: readonly string[],
  input?: string,
): { code: number | null; out: Record<string, unknown> } {
  const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
  const run = spawnSync(process.execPath, [main, "gate", ...args, "--json"], { input, encoding: "utf8" });
  return { code: run.status, out: JSON.parse(run.stdout) as Record<string, unknown> };
}

const check = (reply: string, observation: string, meta?: string): ReturnType<typeof gate> =>
  gate([
    ...["check", "--reply", example(reply), "--observation", example(observation)],
    ...(meta === undefined ? [] : ["--meta", example(meta)]),
  ]);
const codes = ({ out }: ReturnType<typeof gate>): unknown[] =>
  (out["reasons"] as { code: string; condition?: string }[]).map(({ code, condition }) => condition ?? code);

t.test("parse: form alone, the bytes as they are", async (t) => {
  t.match(gate(["parse", "--reply", example("insert.reply")]), {
    code: 0,
    out: { parsed: true, skill: "INSERT", code: null },
  });
  t.match(gate(["parse", "--reply", example("two-functions.reply")]), {
    code: 1,
    out: { parsed: false, skill: null, code: "count" },
  });
  const marked = file("marked", "\ufeff<think>a</think><answer>b</answer><function>INSERT</function>");
  t.match(gate(["parse", "--reply", marked]).out, { parsed: false, code: "char" }, "a byte-order mark");
});

t.test("check: the shipped examples", async (t) => {
  t.match(check("insert.reply", "ready-to-insert.json", "meta-in-order.json"), {
    code: 0,
    out: { verdict: "allowed", skill: "INSERT", reasons: [] },
  });
  const unregistered = check("insert.reply", "not-registered.json");
  t.match(unregistered, { code: 1, out: { verdict: "refused", skill: "INSERT" } });
  t.same(codes(unregistered), ["registered", "aligned"]);
  t.same(codes(check("insert.reply", "blurred.json")), ["imageUsable"]);
  t.equal(check("focus.reply", "blurred.json").code, 0, "what mends the image is allowed");
  t.same(codes(check("focus.reply", "camera-offline.json")), ["camerasOnline"]);
  const stale = check("insert.reply", "moved-and-stale.json");
  t.ok(codes(stale).includes("stale"));
  t.ok(codes(stale).includes("needleOutOfTissue"), "unknown permits nothing");
  t.same(codes(check("insert.reply", "ready-to-insert.json", "meta-cut-off.json")), ["finish", "truncated"]);
});

t.test("check: from standard input; what is left out is unknown", async (t) => {
  const bare = file("bare.json", JSON.stringify({ observation: { id: "o", takenAtS: 5 } }));
  const reply = "<think>a</think><answer>b</answer><function>SAFE_STOP</function>";
  t.match(gate(["check", "--reply", "-", "--observation", bare], reply), {
    code: 0,
    out: { verdict: "allowed", skill: "SAFE_STOP" },
  });
  const insert = gate(["check", "--reply", "-", "--observation", bare], reply.replace("SAFE_STOP", "INSERT"));
  t.equal(insert.code, 1);
  t.equal((insert.out["reasons"] as unknown[]).length, 10, "every condition of the insertion is missing");
});

t.test("check: a hash that does not fit, a foreign reply", async (t) => {
  const hashed = file(
    "hashed.json",
    JSON.stringify({ observation: { id: "o", takenAtS: 5, hash: "0".repeat(64) } }),
  );
  const stop = file("stop.reply", "<think>a</think><answer>b</answer><function>SAFE_STOP</function>");
  t.same(codes(gate(["check", "--reply", stop, "--observation", hashed])), ["stale"]);
  const bare = file("bare2.json", JSON.stringify({ observation: { id: "o", takenAtS: 5 } }));
  const foreign = file("foreign.json", JSON.stringify({ finishReason: "stop", observationId: "another" }));
  t.same(codes(gate(["check", "--reply", stop, "--observation", bare, "--meta", foreign])), ["stale"]);
  const decided = file(
    "decided.json",
    JSON.stringify({ observation: { id: "o", takenAtS: 5 }, decided: true }),
  );
  t.same(codes(gate(["check", "--reply", stop, "--observation", decided])), ["stale"]);
});

t.test("files that must be corrected name file, key and what was expected", async (t) => {
  const bad = file(
    "bad.json",
    JSON.stringify({ observation: { id: "o", takenAtS: 5, state: { regsitered: true } } }),
  );
  const run = gate(["check", "--reply", example("insert.reply"), "--observation", bad]);
  t.equal(run.code, 6);
  t.match(run.out, {
    error: { code: "GATE_CASE_INVALID", detail: /bad\.json: observation\.state\.regsitered.*"registered"/ },
  });
  const none = gate(["parse", "--reply", path.join(folder, "absent")]);
  t.match(none, { code: 6, out: { error: { code: "GATE_CASE_INVALID" } } });
});
