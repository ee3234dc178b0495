/** surgiclaw phase observe POOL */
import { InvalidArgumentError, Option, type Command } from "commander";
import { CellError } from "../../base/errors.js";
import { HttpObserver } from "../../lab/phase/observer/http-observer.js";
import { observePool } from "../../lab/phase/observer/observe-pool.js";
import type { Observer } from "../../lab/phase/observer/observer.js";
import { OracleObserver, perfect } from "../../lab/phase/observer/oracle.js";
import { ZeromqObserver } from "../../lab/phase/observer/zeromq-observer.js";
import { recordForms, type RecordForm } from "../../lab/phase/phase-record.js";
import { loadReference } from "../../lab/phase/phase-reference.js";
import { RecordStore } from "../../lab/phase/record-store.js";
import type { TaskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { wholeNumber } from "../procedure.js";
import { cliExit } from "../exit-codes.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, warn } from "../shared/output.js";
import { openPoolWithTask, type PoolOptions } from "./pool-arguments.js";

interface ObserveVerbOptions extends PoolOptions {
  readonly observer: "zmq" | "http" | "oracle" | "degraded-oracle";
  readonly records: string;
  readonly form: RecordForm;
  readonly budget: number;
  readonly patience: number;
  readonly bind?: string;
  readonly connect?: string;
  readonly url?: string;
  readonly model?: string;
  readonly keyVariable?: string;
  readonly maxImages: number;
  readonly constrain?: boolean;
  readonly tokenField: "max_tokens" | "max_completion_tokens";
  readonly reference?: string;
  readonly seed: number;
  readonly confuse: number;
  readonly arrivalSigma: number;
  readonly bracketHalfWidth: number;
  readonly forgetArrival: number;
  readonly garble: number;
  readonly json?: boolean;
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError("a number above 0");
  return value;
}

function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError("a number, 0 or more");
  }
  return value;
}

function chance(text: string): number {
  const value = notNegative(text);
  if (value > 1) throw new InvalidArgumentError("a chance, 0 to 1");
  return value;
}

function needed(value: string | undefined, option: string, observer: string): string {
  if (value !== undefined) return value;
  throw new CellError("COMMAND_INVALID", `the observer ${observer} needs ${option}`);
}

async function chosenObserver(options: ObserveVerbOptions, vocabulary: TaskVocabulary): Promise<Observer> {
  const { observer, budget: budgetS } = options;
  switch (observer) {
    case "zmq": {
      const { bind, connect } = options;
      if ((bind === undefined) === (connect === undefined)) {
        throw new CellError("COMMAND_INVALID", "the observer zmq needs either --bind or --connect");
      }
      const mode = bind === undefined ? "connect" : "bind";
      const worker = new ZeromqObserver({ endpoint: bind ?? connect ?? "", mode, budgetS });
      await worker.start();
      return worker;
    }
    case "http": {
      const { maxImages, tokenField, keyVariable } = options;
      const apiKey = keyVariable === undefined ? undefined : process.env[keyVariable];
      if (keyVariable !== undefined && apiKey === undefined) {
        throw new CellError("COMMAND_INVALID", `the environment has no variable ${keyVariable}`);
      }
      return new HttpObserver({
        baseUrl: needed(options.url, "--url", observer),
        model: needed(options.model, "--model", observer),
        budgetS,
        maxImages,
        tokenField,
        constrain: options.constrain === true,
        ...(apiKey === undefined ? {} : { apiKey }),
      });
    }
    case "oracle":
    case "degraded-oracle": {
      const reference = await loadReference(needed(options.reference, "--reference", observer), vocabulary);
      if (observer === "oracle") return new OracleObserver(reference);
      const { seed, confuse, arrivalSigma, bracketHalfWidth, forgetArrival, garble } = options;
      return new OracleObserver(reference, {
        ...perfect,
        ...{ seed, confuse, arrivalSigma, bracketHalfWidth, forgetArrival, garble },
      });
    }
  }
}

async function observe(folder: string, options: ObserveVerbOptions): Promise<void> {
  const { pool, vocabulary } = await openPoolWithTask(folder, options);
  const store = await RecordStore.open(options.records);
  const observer = await chosenObserver(options, vocabulary);
  try {
    const { form, patience } = options;
    const onProgress = (done: number, total: number, episode: string): void => {
      if (options.json !== true && process.stderr.isTTY) warn(`${done}/${total} ${episode}`);
    };
    const result = await observePool(
      pool,
      vocabulary,
      observer,
      store,
      { form, patience, onProgress },
      interruptSignal(),
    );
    if (options.json === true) printJson({ records: options.records, observer: observer.name, ...result });
    else {
      print(`${options.records}: ${result.asked} episodes asked, ${result.already} were there already`);
      if (result.unanswered.length > 0) print(`no reply: ${result.unanswered.join(", ")}`);
    }
    if (result.unanswered.length > 0) process.exitCode = cliExit.failed;
  } finally {
    await observer.close?.();
  }
}

export function addPhaseObserve(phase: Command): void {
  phase
    .command("observe")
    .description("ask an observer once about every episode of a pool that has no reply yet")
    .argument("<pool>", "folder of the support pool")
    .addOption(
      new Option("--observer <name>", "who is asked")
        .choices(["zmq", "http", "oracle", "degraded-oracle"])
        .makeOptionMandatory(),
    )
    .requiredOption("--records <file>", "where replies are kept, one line an episode")
    .addOption(new Option("--form <form>", "how arrivals are told").choices(recordForms).default("steps"))
    .option("--budget <seconds>", "longest wait for a reply", positive, 120)
    .option("--patience <questions>", "give up after so many without reply in a row", wholeNumber, 3)
    .option("--bind <endpoint>", "zmq: bind, the worker connects")
    .option("--connect <endpoint>", "zmq: connect to a worker that binds")
    .option("--url <address>", "http: base address of an OpenAI-compatible server, as in http://host:8000/v1")
    .option("--model <name>", "http: model")
    .option("--key-variable <name>", "http: environment variable that holds the key")
    .option(
      "--max-images <count>",
      "http: pictures a request may hold; below 7 one sheet is sent",
      wholeNumber,
      7,
    )
    .option("--constrain", "http: ask the server to hold the model to the JSON Schema")
    .addOption(
      new Option("--token-field <name>", "http: the server's name for the cap on tokens")
        .choices(["max_tokens", "max_completion_tokens"])
        .default("max_tokens"),
    )
    .option("--reference <file>", "oracles: what truly happened")
    .option("--seed <number>", "degraded oracle: seed of its faults", wholeNumber, 0)
    .option("--confuse <chance>", "degraded oracle: names a neighbouring phase", chance, 0)
    .option("--arrival-sigma <steps>", "degraded oracle: spread of the arrival", notNegative, 0)
    .option("--bracket-half-width <steps>", "degraded oracle: half the bracket", wholeNumber, 0)
    .option("--forget-arrival <chance>", "degraded oracle: gives no arrival", chance, 0)
    .option("--garble <chance>", "degraded oracle: replies something that is no record", chance, 0)
    .option("--vocabulary <file>", "vocabulary file instead of the shipped one")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase observe pools/block-pick --observer http --url http://127.0.0.1:8000/v1 --model my-vlm --records records.jsonl",
    )
    .action(guarded<[string, ObserveVerbOptions]>((_, options) => options.json === true, observe));
}
