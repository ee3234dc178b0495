/** A campaign of controller trials that is interrupted and goes on. */
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { trialsByCell } from "../../../src/cli/shared/controller-campaign.js";
import { createCampaign, keepTrial, openCampaign } from "../../../src/cli/shared/controller-trials.js";
import {
  controllerNames,
  type ControllerOutcome,
  type Trial,
} from "../../../src/lab/evaluation/controllers/controller-trial.js";

const outcome: ControllerOutcome = { success: true, errors: {}, timeS: 1, frames: 3, failure: null };
const trial = (number: number): Trial => ({
  trial: number,
  cellSeed: 7,
  disturbance: { exposureStops: [1, -2], focusM: [1e-4, -2e-4] },
  outcomes: Object.fromEntries(controllerNames.map((name) => [name, outcome])) as Trial["outcomes"],
});

async function inFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "campaign-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

t.test("an interrupted campaign is opened with its request and the trials that were made", async (t) => {
  const folder = await inFolder(t);
  const request = { trials: 6, seed: 7, set: "hard" } as const;
  const begun = await createCampaign(folder, request);
  t.same(begun.trials, []);
  await keepTrial(begun, trial(1));
  await keepTrial(begun, trial(2));
  // The power failed while the third was written.
  await appendFile(begun.file, JSON.stringify(trial(3)).slice(0, 40));
  const opened = await openCampaign(folder);
  t.same(opened.request, request);
  t.same(opened.trials, [trial(1), trial(2)]);
  await keepTrial(opened, trial(3));
  t.equal((await readFile(begun.file, "utf8")).split("\n").length, 4, "three lines, each whole");
  t.same((await openCampaign(folder)).trials, [trial(1), trial(2), trial(3)]);
});

t.test("a folder that holds a campaign is not begun anew, one that holds none is not resumed", async (t) => {
  const folder = await inFolder(t);
  await t.rejects(openCampaign(folder), { code: "CONFIG_UNREADABLE" });
  const begun = await createCampaign(folder, { trials: 4, seed: 1, set: "default" });
  await t.rejects(createCampaign(folder, begun.request), { code: "CONFIG_INVALID" });
  await appendFile(begun.file, "not a trial\n");
  await t.rejects(openCampaign(folder), { code: "CONFIG_INVALID" });
});

t.test("what is left is made on the cells that it belongs to, four trials on each", async (t) => {
  const left = (trials: number, ...known: number[]): unknown =>
    trialsByCell({ trials, known: new Set(known), seed: 30 });
  t.same(left(6), [
    { cellSeed: 30, numbers: [1, 2, 3, 4] },
    { cellSeed: 31, numbers: [5, 6] },
  ]);
  t.same(left(6, 1, 2, 3, 4, 5), [{ cellSeed: 31, numbers: [6] }]);
  t.same(left(9, 2, 3, 5, 6, 7, 8), [
    { cellSeed: 30, numbers: [1, 4] },
    { cellSeed: 32, numbers: [9] },
  ]);
  t.same(left(2, 1, 2), []);
});
