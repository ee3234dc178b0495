/**
 * Signed checkpoints of an audit chain: which entry was the newest, when, and its hash, signed with ed25519. Kept on another
 * machine they show what a chain alone cannot: a tail that was cut off cleanly, and a file that was rolled back. Whoever
 * holds the signing key can sign anything, so a checkpoint that never left the machine proves little.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from "node:crypto";
import { appendFile, chmod, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../base/errors.js";
import { canonicalJson } from "./canonical-json.js";
import { replaceFile } from "./durable-file.js";

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

export const checkpointSchema = z.strictObject({
  /** Name of the chain. */
  stream: z.string(),
  /** Sequence number of the newest durable entry. */
  seq: z.int().min(1),
  /** Its hash. */
  hash: hex64,
  /** Monotonic seconds. */
  monotonicS: z.number(),
  /** ISO 8601, for people. */
  wall: z.string(),
  /** First half of the SHA-256 of the public key (SPKI, DER), hex. */
  keyId: z.string().regex(/^[0-9a-f]{32}$/),
  /** ed25519 over the canonical JSON of all of the above, base64. */
  signature: z.string(),
});
export type Checkpoint = z.output<typeof checkpointSchema>;
export type CheckpointBody = Omit<Checkpoint, "signature" | "keyId">;

const keyIdOf = (publicKey: KeyObject): string =>
  createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 32);

export class CheckpointSigner {
  readonly keyId: string;
  readonly publicKeyPem: string;

  constructor(private readonly privateKey: KeyObject) {
    const publicKey = createPublicKey(privateKey);
    this.keyId = keyIdOf(publicKey);
    this.publicKeyPem = publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /**
   * Reads the key (PKCS #8, PEM), or makes one: the file 0600, and its public half beside it with `.pub` added.
   * @throws CellError CONFIG_UNREADABLE when the file is no ed25519 key or cannot be written
   */
  static async open(file: string): Promise<CheckpointSigner> {
    try {
      const signer = new CheckpointSigner(privateKeyFrom(await readFile(file, "utf8")));
      return signer;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        throw new CellError("CONFIG_UNREADABLE", `${file} is no ed25519 key that can be read`, {
          cause: error,
          remedy: "restore the key, or move the file away and let a new one be made",
        });
    }
    try {
      const { privateKey } = generateKeyPairSync("ed25519");
      const signer = new CheckpointSigner(privateKey);
      await mkdir(path.dirname(file), { recursive: true });
      await replaceFile(file, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
      await chmod(file, 0o600);
      await replaceFile(`${file}.pub`, signer.publicKeyPem);
      return signer;
    } catch (error) {
      throw new CellError("CONFIG_UNREADABLE", `no signing key can be made at ${file}`, { cause: error });
    }
  }

  sign(body: CheckpointBody): Checkpoint {
    const signed = { ...body, keyId: this.keyId };
    const signature = sign(null, Buffer.from(canonicalJson(signed)), this.privateKey).toString("base64");
    return { ...signed, signature };
  }
}

function privateKeyFrom(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ed25519") throw new TypeError(`a key of type ${key.asymmetricKeyType}`);
  return key;
}

/** Why the checkpoint is not by the holder of this key, or undefined. */
export function checkpointFault(checkpoint: Checkpoint, publicKeyPem: string): string | undefined {
  const { signature, ...signed } = checkpoint;
  const key = createPublicKey(publicKeyPem);
  if (keyIdOf(key) !== signed.keyId) return `it was signed with key ${signed.keyId}, not ${keyIdOf(key)}`;
  const good = verify(null, Buffer.from(canonicalJson(signed)), key, Buffer.from(signature, "base64"));
  return good ? undefined : "its signature does not fit what it says";
}

/** One line a checkpoint, oldest first. A torn last line (a crash while writing) is left out. */
export async function readCheckpoints(file: string): Promise<Checkpoint[]> {
  const lines = (await readFile(file, "utf8")).split("\n");
  lines.pop();
  return lines.map((line, index) => {
    try {
      return checkpointSchema.parse(JSON.parse(line));
    } catch (error) {
      throw new CellError("AUDIT_BROKEN", `${file}:${index + 1} is no checkpoint`, { cause: error });
    }
  });
}

export async function appendCheckpoint(file: string, checkpoint: Checkpoint): Promise<void> {
  await appendFile(file, `${canonicalJson(checkpoint)}\n`);
}
