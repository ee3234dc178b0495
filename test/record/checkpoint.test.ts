/** Signed checkpoints: what is signed, who can tell, and what a cut or rolled-back log looks like against them. */
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { systemClock } from "../../src/base/clock.js";
import { AuditLog } from "../../src/record/audit-log.js";
import { verifyAuditLog } from "../../src/record/audit-verify.js";
import { CheckpointSigner, checkpointFault, readCheckpoints } from "../../src/record/checkpoint.js";
import { CheckpointKeeper } from "../../src/record/checkpoint-keeper.js";

const folder = (): Promise<string> => mkdtemp(path.join(tmpdir(), "surgiclaw-checkpoint-"));
const body = {
  stream: "run-1",
  seq: 7,
  hash: "ab".repeat(32),
  monotonicS: 12.5,
  wall: "2026-11-30T16:20:11.482Z",
};

t.test("the key is made once, readable by its owner alone", async (t) => {
  const file = path.join(await folder(), "keys", "audit.pem");
  const made = await CheckpointSigner.open(file);
  t.equal((await stat(file)).mode & 0o777, 0o600);
  t.equal(await readFile(`${file}.pub`, "utf8"), made.publicKeyPem);
  t.equal((await CheckpointSigner.open(file)).keyId, made.keyId);
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const other = path.join(await folder(), "rsa.pem");
  await writeFile(other, rsa.export({ type: "pkcs8", format: "pem" }));
  await t.rejects(CheckpointSigner.open(other), { code: "CONFIG_UNREADABLE" });
});

t.test("ed25519 over canonical JSON, written here by hand", async (t) => {
  const signer = await CheckpointSigner.open(path.join(await folder(), "key.pem"));
  const signed = signer.sign(body);
  const text =
    `{"hash":"${body.hash}","keyId":"${signer.keyId}","monotonicS":12.5,"seq":7,"stream":"run-1",` +
    `"wall":"2026-11-30T16:20:11.482Z"}`;
  const key = createPublicKey(signer.publicKeyPem);
  t.ok(verify(null, Buffer.from(text), key, Buffer.from(signed.signature, "base64")));
  t.equal(checkpointFault(signed, signer.publicKeyPem), undefined);
  t.match(checkpointFault({ ...signed, seq: 6 }, signer.publicKeyPem), /signature does not fit/);
  const stranger = await CheckpointSigner.open(path.join(await folder(), "key.pem"));
  t.match(checkpointFault(signed, stranger.publicKeyPem), /signed with key/);
});

t.test("a recording's checkpoints name what was cut, rolled back or forged", async (t) => {
  const dir = await folder();
  const file = path.join(dir, "audit.jsonl");
  const signer = await CheckpointSigner.open(path.join(dir, "key.pem"));
  const log = await AuditLog.open(file, { stream: "s" });
  const sent: number[] = [];
  const keeper = await CheckpointKeeper.start(dir, log, {
    signer,
    periodS: 0.02,
    onCheckpoint: ({ seq }) => sent.push(seq),
  });
  for (let i = 0; i < 5; i++) await log.append("loop", "step", { i });
  while (sent.at(-1) !== 6) await systemClock.sleep(0.01);
  await log.close();
  await keeper.close();
  const taken = await readCheckpoints(path.join(dir, "checkpoints.jsonl"));
  t.same(
    taken.map(({ seq }) => seq),
    sent,
    "what was sent is what was kept",
  );
  t.equal(taken.at(-1)?.seq, 7, "the last one covers the closing entry");
  t.match(await verifyAuditLog(file, ...taken), { ok: true, entries: 7 });

  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  await writeFile(file, `${lines.slice(0, 6).join("\n")}\n`);
  t.match(await verifyAuditLog(file), { ok: true }, "the chain alone does not show it");
  t.match(await verifyAuditLog(file, ...taken), {
    ok: false,
    firstBad: 7,
    why: "entry 7 was cut: a checkpoint knows of them",
  });
  await writeFile(file, `${lines.slice(0, 3).join("\n")}\n`);
  t.match(await verifyAuditLog(file, ...taken), { ok: false, firstBad: 4, why: /entries 4 to 7 were cut/ });
});
