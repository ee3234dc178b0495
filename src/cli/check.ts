/** surgiclaw check device */
import { InvalidArgumentError, Option, type Command } from "commander";
import { loadConfig } from "../base/config.js";
import { CellError } from "../base/errors.js";
import { checkDevice, type CheckReport } from "../lab/check/device-check.js";
import {
  checkable,
  planCheck,
  serialCheck,
  tcpCheck,
  type Checkable,
  type PlannedCheck,
} from "../lab/check/device-links.js";
import { loadTranscript, transcriptNames } from "../lab/check/transcript.js";
import { cliExit } from "./exit-codes.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { interruptSignal } from "./shared/follow.js";
import { oneLine, paint, print, printJson } from "./shared/output.js";
import { wholeNumber } from "./procedure.js";

interface Options {
  readonly config?: string;
  readonly transcript?: string;
  readonly serial?: string;
  readonly baud: number;
  readonly tcp?: readonly [string, number];
  readonly json?: boolean;
}

function hostAndPort(text: string): readonly [string, number] {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  if (match === null) throw new InvalidArgumentError("expected HOST:PORT");
  return [match[1] ?? "", Number(match[2])];
}

async function planned(device: Checkable | undefined, options: Options): Promise<PlannedCheck[]> {
  const { config, transcript, serial, tcp, baud } = options;
  if (transcript !== undefined && serial !== undefined) return [serialCheck(transcript, serial, baud)];
  if (transcript !== undefined && tcp !== undefined) return [tcpCheck(transcript, ...tcp)];
  if (device === undefined || config === undefined)
    throw new CellError("COMMAND_INVALID", "what is to be checked is not said", {
      remedy: "name a device and --config, or --transcript with --serial or --tcp",
    });
  return planCheck(device, (await loadConfig(config)).config);
}

function show(report: CheckReport): void {
  print(paint("bold", `${report.transcript} on ${report.link}`));
  for (const { what, passed, sent, expected, got, elapsedS } of report.steps) {
    print(
      `${paint(passed ? "green" : "red", passed ? "ok    " : "fault ")}  ${what} (${(elapsedS * 1e3).toFixed(1)} ms)`,
    );
    if (passed) continue;
    print(`          sent      ${oneLine(sent)}`);
    print(`          expected  ${oneLine(expected)}`);
    print(`          got       ${oneLine(got) || "nothing"}`);
  }
}

export function addCheck(program: Command): void {
  program
    .command("check")
    .description("compare devices with what their protocols demand")
    .command("device")
    .description("replay a golden transcript against a device and compare every reply")
    .argument("[device]", `${checkable.join(", ")}: as --config names it`)
    .option("--config <file>", "configuration with the device's profile and link")
    .option("--transcript <name>", `a file, or one of ${transcriptNames().join(", ")}`)
    .option("--serial <path>", "serial line for --transcript")
    .option("--baud <number>", "its speed, bit/s", wholeNumber, 115_200)
    .addOption(new Option("--tcp <host:port>", "TCP address for --transcript").argParser(hostAndPort))
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nAsks only; nothing moves. No daemon may hold the device meanwhile. Exit code 1 when a reply differs.\n" +
        "\nExample: npx surgiclaw check device needle --config surgiclawd.example.yaml",
    )
    .action(
      guarded<[string | undefined, Options]>(
        (_device, options) => options.json === true,
        async (device, options) => {
          const known = checkable.find((one) => one === device);
          if (device !== undefined && known === undefined)
            throw new CellError("COMMAND_INVALID", `there is no device ${device} to check`, {
              remedy: `name one of ${checkable.join(", ")}`,
            });
          const signal = interruptSignal();
          const reports: CheckReport[] = [];
          for (const { link, transport, transcript } of await planned(known, options))
            reports.push(await checkDevice(link, transport, await loadTranscript(transcript), { signal }));
          if (reports.some(({ passed }) => !passed)) process.exitCode = cliExit.failed;
          if (options.json === true) printJson(reports);
          else reports.forEach(show);
        },
      ),
    );
}
