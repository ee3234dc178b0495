/**
 * The stop latch across a crash: a small file that is whole or absent. A daemon that finds it starts latched, so that what
 * a person stopped stays stopped until a person resets it. The stop itself never waits for the disk.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { asCellError, type CellError } from "../../base/errors.js";
import { replaceFile } from "../../record/durable-file.js";

const memorySchema = z.strictObject({ latched: z.boolean(), reason: z.string() });
export type LatchMemoryContent = z.output<typeof memorySchema>;

export class LatchMemory {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: string,
    private readonly onFailure: (error: CellError) => void,
  ) {}

  /** What an earlier daemon left; a file that cannot be understood counts as a stop. */
  async read(): Promise<LatchMemoryContent> {
    let text: string;
    try {
      text = await readFile(this.file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { latched: false, reason: "" };
      return { latched: true, reason: `${this.file} cannot be read: ${(error as Error).message}` };
    }
    try {
      return memorySchema.parse(JSON.parse(text));
    } catch {
      return { latched: true, reason: `${this.file} is damaged` };
    }
  }

  /** In the order of the calls; resolves when it is on disk, or could not be. */
  write(content: LatchMemoryContent): Promise<void> {
    this.writing = this.writing
      .then(() => replaceFile(this.file, `${JSON.stringify(content)}\n`))
      .catch((error: unknown) => this.onFailure(asCellError(error)));
    return this.writing;
  }
}
