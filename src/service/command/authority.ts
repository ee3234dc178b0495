/**
 * Who may command now: the one lease, its epochs, and the calls already taken. Pure but for the file that keeps the epochs
 * increasing over a crash: a call of an earlier daemon's holder must never fit the epoch of a later one.
 */
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { asCellError, CellError } from "../../base/errors.js";
import { replaceFile } from "../../record/durable-file.js";
import { Lease } from "./lease.js";

/** Epochs of one life of the daemon: more grants than it will ever make. */
export const epochsPerStart = 1_000_000;

/** Ids of controlling calls already taken: a repeated one is refused, never executed twice. */
class SeenIds {
  private readonly order: string[] = [];
  private readonly known = new Set<string>();

  constructor(private readonly limit: number) {}

  /** False when it was there before. */
  add(id: string): boolean {
    if (this.known.has(id)) return false;
    this.known.add(id);
    this.order.push(id);
    if (this.order.length > this.limit) this.known.delete(this.order.shift() ?? "");
    return true;
  }
}

export class Authority {
  readonly lease: Lease;
  private readonly seen = new SeenIds(1024);

  /** @param start counts the daemon's lives */
  constructor(leaseS: number, start = 0) {
    this.lease = new Lease(leaseS, start * epochsPerStart);
  }

  /**
   * Lets one controlling call through, once.
   * @returns the client that holds the lease
   * @throws CellError LEASE_DENIED for another epoch than the holder's, COMMAND_INVALID for a call that was taken before
   */
  admit(epoch: number, id: string | number, nowS: number): string {
    const client = this.lease.use(epoch, nowS);
    if (!this.seen.add(`${epoch}/${id}`))
      throw new CellError("COMMAND_INVALID", `request ${id} was already taken`);
    return client;
  }
}

const countSchema = z.strictObject({ starts: z.int().min(0) });

/**
 * Counts this life of the daemon, on disk before it is used. A disk that takes nothing is told and tolerated: then no
 * recording can be made either, so that nothing can move until a later start has counted.
 * @throws CellError CONFIG_UNREADABLE when the file is damaged
 */
export async function countStart(file: string, onUnkept: (why: string) => void): Promise<number> {
  let starts = 0;
  try {
    starts = countSchema.parse(JSON.parse(await readFile(file, "utf8"))).starts;
  } catch (error) {
    const absent = ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (!absent)
      throw new CellError("CONFIG_UNREADABLE", `${file} is damaged: the epochs of leases would begin anew`, {
        cause: error,
        remedy: "end every client of this daemon, then remove the file",
      });
  }
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await replaceFile(file, `${JSON.stringify({ starts: starts + 1 })}\n`);
  } catch (error) {
    onUnkept(`${file}: ${asCellError(error).detail}`);
  }
  return starts + 1;
}
