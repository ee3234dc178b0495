/**
 * Golden transcripts of the stage controllers' lines, from public logs and drivers and the manual's forms. In a file:
 * `> request`, `< line of the controller` with ⇥ for TAB, `+ seconds` pass, `! event`; first the family, its line, and
 * the axes.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import type { AxisOptions } from "../../../src/twin/kohzu/controller-axis.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { bench, rawClient } from "./bench.js";

const folder = path.join(projectRoot, "test", "twin", "kohzu", "transcripts");

function axisOf(words: readonly string[]): AxisOptions | null {
  if (words[0] === "none") return null;
  if (words[0] === "homed") return { model: xa04aR102, homed: true };
  const [, pulses, , steps] = words;
  return { model: xa04aR102, initialPulses: Number(pulses), initialSteps: Number(steps) };
}

for (const name of readdirSync(folder).sort())
  t.test(name, async (t) => {
    const lines = readFileSync(path.join(folder, name), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    const [dialect = "", transport] = (lines.shift() ?? "").split(" ");
    const axes: (AxisOptions | null)[] = [];
    while (lines[0]?.startsWith("axis ") === true)
      axes.push(axisOf((lines.shift() ?? "").split(" ").slice(1)));
    if (dialect !== "aries" && dialect !== "crux" && dialect !== "sc") throw new RangeError(dialect);
    const { clock, controller } = bench({ dialect, axes });
    const client = rawClient(controller, transport === "serial" ? "serial" : "tcp");
    const events: Readonly<Record<string, () => void>> = {
      emergency: () => controller.emergencyStop(),
      release: () => controller.releaseEmergencyStop(),
    };
    let heard: string[] = [];
    let compared = 0;
    for (const line of lines) {
      const [mark, text] = [line[0], line.slice(2)];
      if (mark === "<") {
        t.equal(heard.shift()?.replaceAll(" ", "⇥"), text);
        compared++;
        continue;
      }
      t.strictSame(heard, [], `nothing more before "${line}"`);
      if (mark === ">") heard = client.ask(text);
      else if (mark === "+") clock.advance(Number(text));
      else if (mark === "!") {
        events[text]?.();
        heard = client.take();
      } else throw new RangeError(`${name}: ${line}`);
    }
    t.strictSame(heard, []);
    t.ok(compared > 5);
  });
