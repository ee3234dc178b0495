/** Pool + replies -> bank: parse, gate, compile, lay out. No observer is asked. */
import { createHash } from "node:crypto";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import type { AcceptedRecord, BankHeader, RefusedRecord } from "./bank-file.js";
import { bankFormat } from "./bank-file.js";
import { compileEpisodes, gate, type CompilerConstants } from "./compiler.js";
import type { Episode } from "./episode.js";
import { stepCount } from "./episode.js";
import { parseRecord, type ParsedRecord, type PhaseRecord } from "./phase-record.js";
import type { RecordLine } from "./record-store.js";
import { readEpisode, requireTask, type SupportPool } from "./support-pool.js";
import { rankOf, vocabularyHash, type TaskVocabulary } from "./task-vocabulary.js";

/** A reply cut short says nothing, however well it begins. */
export function recordOf(line: RecordLine, vocabulary: TaskVocabulary, episode: Episode): ParsedRecord {
  if (line.finishReason !== "stop") return { ok: false, reason: `finish reason ${line.finishReason}` };
  return parseRecord(line.reply, vocabulary, line.form, episode.stepTimesS ?? []);
}

/** @throws CellError PHASE_FILE_FOREIGN when the replies are to another task, vocabulary or pool */
export function requireRecordsOf(
  lines: readonly RecordLine[],
  pool: SupportPool,
  vocabulary: TaskVocabulary,
): void {
  const wanted = vocabularyHash(vocabulary);
  for (const line of lines) {
    requireTask(vocabulary, line.task, `the record of episode ${line.episode}`);
    if (line.poolSha256 !== pool.sha256) {
      throw new CellError("PHASE_FILE_FOREIGN", `the record of episode ${line.episode} is of another pool`);
    }
    if (line.vocabularySha256 !== wanted) {
      throw new CellError(
        "PHASE_FILE_FOREIGN",
        `the record of episode ${line.episode} was asked with another vocabulary of ${vocabulary.task}`,
      );
    }
  }
}

interface Candidate {
  readonly episode: Episode;
  readonly record: PhaseRecord;
  readonly arrival: readonly [number, number];
}

export interface CompiledBank {
  readonly header: BankHeader;
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/**
 * @throws CellError PHASE_FILE_FOREIGN for replies that do not belong to the pool, PHASE_FILE_INVALID when an episode
 *   is damaged, shaped unlike the others, or no record passes the gate
 */
export async function compileBank(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  lines: readonly RecordLine[],
  constants: CompilerConstants,
): Promise<CompiledBank> {
  requireRecordsOf(lines, pool, vocabulary);
  const byEpisode = new Map(lines.map((line) => [line.episode, line]));
  const candidates: Candidate[] = [];
  const refused: RefusedRecord[] = [];
  for (const { id } of pool.manifest.episodes) {
    const line = byEpisode.get(id);
    if (line === undefined) {
      refused.push({ episode: id, reasons: ["no reply"] });
      continue;
    }
    const episode = await readEpisode(pool, vocabulary, id);
    const parsed = recordOf(line, vocabulary, episode);
    if (!parsed.ok) {
      refused.push({ episode: id, reasons: [`invalid: ${parsed.reason}`] });
      continue;
    }
    const { record } = parsed;
    const rank = rankOf(vocabulary, record.phase);
    const reasons = gate({ ...record, rank }, stepCount(episode), constants.minConfidence);
    const { arrival } = record;
    if (arrival === null || reasons.length > 0) {
      const { phase, confidence } = record;
      refused.push({
        episode: id,
        reasons,
        phase,
        confidence,
        arrival: arrival === null ? null : [...arrival],
      });
    } else candidates.push({ episode, record, arrival });
  }
  return layOut(pool, vocabulary, lines, constants, candidates, refused);
}

function layOut(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  lines: readonly RecordLine[],
  constants: CompilerConstants,
  candidates: readonly Candidate[],
  refused: RefusedRecord[],
): CompiledBank {
  const ranks = candidates.map(({ record }) => rankOf(vocabulary, record.phase));
  const compiled = compileEpisodes(
    candidates.map(({ episode, arrival }, index) => ({
      rank: ranks[index] ?? 0,
      arrival,
      rewards: episode.rewards,
    })),
    constants,
  );
  let firstRow = 0;
  const accepted = candidates.map(({ episode, record, arrival }, index): AcceptedRecord => {
    const result = compiled[index];
    if (result === undefined) throw new CellError("INTERNAL", "an episode was not compiled");
    const { middle, window, credit } = result;
    const entry: AcceptedRecord = {
      episode: episode.id,
      firstRow,
      steps: stepCount(episode),
      phase: record.phase,
      rank: ranks[index] ?? 0,
      arrival: [...arrival],
      confidence: record.confidence,
      middle,
      window: [window.first, window.last],
      credit,
    };
    firstRow += entry.steps;
    return entry;
  });
  const episodes = candidates.map(({ episode }) => episode);
  const columns = new Map<string, Float64Array>([
    ...stateColumns(episodes),
    ["environmentReward", Float64Array.from(episodes.flatMap(({ rewards }) => rewards))],
    ["reward", joined(compiled.map(({ credited }) => credited))],
    ["terminal", Float64Array.from(episodes.flatMap(({ terminal }) => terminal.map(Number)))],
    ["weight", joined(compiled.map(({ weight }) => weight))],
    ["probability", joined(compiled.map(({ probability }) => probability))],
  ]);
  const header: BankHeader = {
    format: bankFormat,
    task: vocabulary.task,
    vocabularySha256: vocabularyHash(vocabulary),
    poolSha256: pool.sha256,
    source: pool.manifest.source,
    recordsSha256: createHash("sha256").update(canonicalJson(lines)).digest("hex"),
    observer: [...new Set(lines.map(({ observer }) => observer))].join(", "),
    constants,
    transitions: firstRow,
    accepted,
    refused,
    columns: [...columns].map(([name, values]) => ({ name, width: values.length / firstRow })),
  };
  return { header, columns };
}

/** States and actions, when every episode has them in one shape; none, when none has. */
function stateColumns(episodes: readonly Episode[]): [string, Float64Array][] {
  const shape = ({ observations, actions }: Episode): string =>
    `${observations?.[0]?.length ?? 0} observed values and ${actions?.[0]?.length ?? 0} of action`;
  const first = episodes[0];
  if (first === undefined) return [];
  const odd = episodes.find((episode) => shape(episode) !== shape(first));
  if (odd !== undefined) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `episode ${odd.id} has ${shape(odd)}, ${first.id} has ${shape(first)}`,
    );
  }
  if (first.observations === undefined) return [];
  const flat = (rows: (episode: Episode) => readonly (readonly number[])[]): Float64Array =>
    Float64Array.from(episodes.flatMap((episode) => rows(episode).flat()));
  return [
    ["observation", flat(({ observations }) => (observations ?? []).slice(0, -1))],
    ["action", flat(({ actions }) => actions ?? [])],
    ["nextObservation", flat(({ observations }) => (observations ?? []).slice(1))],
  ];
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
