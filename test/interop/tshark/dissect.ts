/** tshark on a capture: fields of the packets that pass a filter, as rows of text. */
import { execFileSync } from "node:child_process";
import { debianVersion } from "../peer.js";

export const tsharkVersion = (): string => debianVersion("tshark");

/** One row a packet, one column a field; several values of a field stand in one column with commas. */
export function dissect(
  capture: string,
  decodeAs: readonly string[],
  filter: string,
  fields: readonly string[],
): string[][] {
  const args = ["-r", capture, "-n", "-Y", filter, "-T", "fields"];
  for (const rule of decodeAs) args.push(...(rule.includes(",") ? ["-d", rule] : ["-o", rule]));
  for (const field of fields) args.push("-e", field);
  const text = execFileSync("tshark", args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 1 << 28,
    timeout: 60_000,
  });
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"));
}

/** What tshark itself finds wrong: cut packets, fields that do not fit, checksums. */
export const faulty = "_ws.malformed || _ws.short || _ws.expert.severity >= 0x600000";
