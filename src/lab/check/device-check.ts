/** Replays a golden transcript against a live device and says, step by step, whether it answers as its protocol demands. */
import { monotonicNow, systemClock } from "../../base/clock.js";
import type { CellError } from "../../base/errors.js";
import { asCellError } from "../../base/errors.js";
import type { ByteLink } from "../../cell/links/byte-link.js";
import { expectation, type Transcript, type TranscriptStep } from "./transcript.js";

export interface StepResult {
  readonly what: string;
  readonly passed: boolean;
  readonly sent: string;
  readonly expected: string;
  /** Text, or hexadecimal; what came until the reply was whole or the time was up. */
  readonly got: string;
  readonly elapsedS: number;
}

export interface CheckReport {
  readonly transcript: string;
  readonly link: string;
  readonly passed: boolean;
  readonly steps: readonly StepResult[];
}

export interface CheckOptions {
  /** Deadline of one reply, s. */
  readonly replyTimeoutS?: number;
  /** Silence before the first request, and before each one after a wrong reply, s. */
  readonly quietS?: number;
  readonly signal?: AbortSignal;
}

/**
 * Opens the link, replays the transcript, closes the link. The device's owner must not run meanwhile.
 * @param transport which of the transcript's forms the link takes
 * @throws CellError LINK_CONNECT, LINK_BUSY, LINK_CLOSED when the link goes down on the way, LINK_ABORTED
 */
export async function checkDevice(
  link: ByteLink,
  transport: "serial" | "tcp",
  transcript: Transcript,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const { replyTimeoutS = 2, quietS = 0.05, signal } = options;
  let heard = Buffer.alloc(0);
  let down: CellError | undefined;
  link.onData = (bytes) => (heard = Buffer.concat([heard, bytes]));
  link.onClosed = (reason) => (down = reason);
  const steps: StepResult[] = [];
  const forget = async (): Promise<void> => {
    // A stream never falls silent.
    const untilS = monotonicNow() + replyTimeoutS;
    for (let seen = -1; seen !== heard.length && monotonicNow() < untilS;) {
      seen = heard.length;
      await systemClock.sleep(quietS, signal);
    }
    heard = Buffer.alloc(0);
  };
  await link.open(signal);
  try {
    // A device that speaks first has said so by then; else what stands on the line is of an earlier owner.
    if (transcript.steps[0]?.send !== undefined) await forget();
    for (const step of transcript.steps) {
      const wanted = expectation(transcript, step);
      const bytes = requestOf(transcript, step, transport);
      const startS = monotonicNow();
      if (bytes.length > 0) link.write(bytes);
      let parts = split(transcript, heard);
      while (parts.length < wanted.count && monotonicNow() - startS < replyTimeoutS) {
        if (down) throw down;
        await systemClock.sleep(0.005, signal);
        parts = split(transcript, heard);
      }
      if (step.more) {
        parts = parts.slice(0, wanted.count);
        if (transcript.encoding === "hex") heard = heard.subarray(0, wanted.count);
      }
      const passed = parts.length === wanted.count && parts.every((part, i) => wanted.fits(part, i));
      steps.push({
        what: step.what,
        passed,
        sent: shown(transcript, bytes),
        expected: wanted.shown,
        got: shown(transcript, heard),
        elapsedS: monotonicNow() - startS,
      });
      if (passed) heard = Buffer.alloc(0);
      else await forget();
    }
  } catch (error) {
    throw down ?? asCellError(error);
  } finally {
    await link.close();
  }
  return {
    transcript: transcript.name,
    link: link.description,
    passed: steps.every((one) => one.passed),
    steps,
  };
}

function requestOf(
  { encoding, before, after }: Transcript,
  { send }: TranscriptStep,
  transport: string,
): Buffer {
  if (send === undefined) return Buffer.alloc(0);
  if (encoding === "hex") return Buffer.from(send.replaceAll(/\s+/g, ""), "hex");
  return Buffer.from(`${before?.on === transport ? before.bytes : ""}${send}${after}`, "latin1");
}

/** Whole lines, or bytes as pairs of digits. */
function split({ encoding }: Transcript, bytes: Buffer): string[] {
  if (encoding === "hex") return bytes.toString("hex").match(/../g) ?? [];
  const lines = bytes.toString("latin1").split("\n").slice(0, -1);
  return lines.map((line) => line.replace(/\r$/, ""));
}

const shown = ({ encoding }: Transcript, bytes: Buffer): string =>
  encoding === "hex"
    ? (bytes.toString("hex").match(/../g) ?? []).join(" ")
    : JSON.stringify(bytes.toString("latin1")).slice(1, -1);
