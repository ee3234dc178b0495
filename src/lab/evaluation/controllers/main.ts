#!/usr/bin/env node
/**
 * Judges one trial of the controllers against the twin's truth: reads the request on standard input, writes the trial to
 * standard output. `node dist/src/lab/evaluation/controllers/main.js --truth ipc://…`
 */
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { asCellError } from "../../../base/errors.js";
import { TruthClient } from "../truth-client.js";
import { judgementRequestSchema } from "./controller-trial.js";
import { judgeTrial } from "./judge.js";

async function main(): Promise<void> {
  const { truth: endpoint } = parseArgs({ options: { truth: { type: "string" } } }).values;
  if (endpoint === undefined) throw new RangeError("--truth ENDPOINT is needed");
  const request = judgementRequestSchema.parse(JSON.parse(await text(process.stdin)));
  const truth = new TruthClient(endpoint);
  try {
    process.stdout.write(`${JSON.stringify(await judgeTrial(truth, request))}\n`);
  } finally {
    truth.close();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`evaluation: ${asCellError(error).message}\n`);
  process.exitCode = 1;
}
