/**
 * The replies of one observer to one pool, one JSON line an episode, appended and synced as they come. The reply's own
 * text is kept: records are parsed from it each time, and a bank is compiled again without asking anybody. An episode
 * that has a line is never asked again, whatever the reply was.
 */
import { open, readFile, truncate } from "node:fs/promises";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { episodeId, parseJsonFile } from "./episode.js";
import { recordForms } from "./phase-record.js";

export const recordFormat = "surgiclaw.phase-record/1";

const lineSchema = z.strictObject({
  format: z.literal(recordFormat),
  episode: episodeId,
  task: z.string().min(1),
  /** Of the vocabulary that was asked with. */
  vocabularySha256: z.string(),
  /** Of the pool that was asked about. */
  poolSha256: z.string(),
  form: z.enum(recordForms),
  /** Which observer, and what it says it is. */
  observer: z.string(),
  model: z.string().optional(),
  /** Of the pictures as sent; absent for an observer that saw none. */
  storyboardSha256: z.string().optional(),
  /** One picture of all panels instead of seven. */
  contactSheet: z.boolean().optional(),
  finishReason: z.string(),
  completionTokens: z.number().optional(),
  reply: z.string(),
  /** Wall time, for people. */
  askedAt: z.string(),
});

export type RecordLine = z.infer<typeof lineSchema>;

/**
 * Every whole line of the file; no file, no lines. An end without a line break is what a killed run left: it is no
 * reply. @throws CellError PHASE_FILE_INVALID
 */
export async function readRecordLines(file: string): Promise<RecordLine[]> {
  return (await readLines(file)).lines;
}

async function readLines(file: string): Promise<{ lines: RecordLine[]; wholeBytes: number; bytes: number }> {
  let data: Buffer;
  try {
    data = await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { lines: [], wholeBytes: 0, bytes: 0 };
    throw new CellError("CONFIG_UNREADABLE", `${file} cannot be read`, { cause: error });
  }
  const wholeBytes = data.lastIndexOf(0x0a) + 1;
  const texts = data.subarray(0, wholeBytes).toString("utf8").split("\n").slice(0, -1);
  const lines = texts.map((text, index) => parseJsonFile(`${file}:${index + 1}`, text, lineSchema));
  const seen = new Set<string>();
  for (const { episode } of lines) {
    if (seen.has(episode))
      throw new CellError("PHASE_FILE_INVALID", `${file}: episode ${episode} stands twice`);
    seen.add(episode);
  }
  return { lines, wholeBytes, bytes: data.length };
}

export class RecordStore {
  private constructor(
    private readonly file: string,
    private readonly episodes: Map<string, RecordLine>,
  ) {}

  /** Opens or begins a file; cuts off what a killed run left half-written. */
  static async open(file: string): Promise<RecordStore> {
    const { lines, wholeBytes, bytes } = await readLines(file);
    if (bytes > wholeBytes) await truncate(file, wholeBytes);
    return new RecordStore(file, new Map(lines.map((line) => [line.episode, line])));
  }

  get lines(): readonly RecordLine[] {
    return [...this.episodes.values()];
  }

  has(episode: string): boolean {
    return this.episodes.has(episode);
  }

  /** On disk when it resolves. */
  async append(line: Omit<RecordLine, "format">): Promise<void> {
    const whole = lineSchema.parse({ format: recordFormat, ...line });
    if (this.has(whole.episode))
      throw new CellError("INTERNAL", `episode ${whole.episode} was asked already`);
    const handle = await open(this.file, "a");
    try {
      await handle.writeFile(`${canonicalJson(whole)}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    this.episodes.set(whole.episode, whole);
  }
}
