import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import {
  compareConfigs,
  explainConfig,
  loadConfig,
  profileFile,
  takeLiveKeys,
} from "../../src/base/config.js";
import { configSchema } from "../../src/base/config-schema.js";
import { CellError } from "../../src/base/errors.js";
import { projectRoot } from "../../src/base/paths.js";
import { undescribedKeys } from "../../src/base/schema-keys.js";
import { checkYaml, formatPath, nearest, type Problem } from "../../src/base/yaml-file.js";

const good = `
cell: { id: lab-a, file: cell.yaml }
calibration: { file: cal/lab-a.yaml }
devices:
  arm: { profile: ur5-cb3 }
  stages: { profile: ./own.yaml }
  needle: { profile: zaber-voice-coil, path: needle }
  microscopes:
    - { name: left, profile: gige-2x-2048, address: 10.0.0.2 }
    - { name: right, profile: gige-2x-2048, address: 10.0.0.3 }
`;

/** The problems that a changed text has; `find` must be there, so that a test never tests nothing. */
function problemsAfter(find: string, put: string): readonly Problem[] {
  const text = good.replace(find, put);
  if (text === good) throw new Error(`the good file holds no ${find}`);
  const checked = checkYaml(text, configSchema);
  return checked.ok ? [] : checked.problems;
}

const says = (problems: readonly Problem[], at: string, message: RegExp): boolean =>
  problems.some((problem) => problem.path === at && message.test(problem.message));

t.test("a small file gets every default", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-config-"));
  const file = path.join(folder, "cell-a.yaml");
  await writeFile(file, good);
  const { config, text } = await loadConfig(file);
  t.equal(text, good);
  t.equal(config.devices.arm.rtdePort, 30004, "the port of UR's data exchange");
  t.equal(config.devices.stages.port, 12321, "the port of an ARIES controller");
  t.equal(config.devices.guardian.silenceMs, 50, "the silence the safety rules name");
  t.equal(config.command.mode, "0660");
  t.equal(config.cell.file, path.join(folder, "cell.yaml"), "paths are relative to the file");
  t.equal(config.record.folder, path.join(folder, "runs"));
  t.equal(config.devices.stages.profile, path.join(folder, "own.yaml"));
  t.equal(config.devices.arm.profile, path.join(projectRoot, "firmware-profiles", "ur5-cb3.yaml"));
});

t.test("profiles are named or given as paths", (t) => {
  t.equal(profileFile("a.yaml", "/etc/x"), "/etc/x/a.yaml");
  t.equal(profileFile("/abs/a.yaml", "/etc/x"), "/abs/a.yaml");
  t.equal(profileFile("ur5-cb3", "/etc/x"), path.join(projectRoot, "firmware-profiles", "ur5-cb3.yaml"));
  t.end();
});

t.test("bad keys are named with line, expectation and the nearest known key", (t) => {
  const typo = problemsAfter("arm: { profile: ur5-cb3 }", "arm: { profile: ur5-cb3, rtdePorts: 30004 }");
  t.ok(says(typo, "devices.arm.rtdePorts", /did you mean "rtdePort"/));
  t.equal(typo.find((problem) => problem.path === "devices.arm.rtdePorts")?.line, 5);

  const foreign = problemsAfter("calibration:", "colour: red\ncalibration:");
  t.ok(says(foreign, "colour", /unknown key; known here: version, cell, calibration/));

  const range = problemsAfter("arm: { profile: ur5-cb3 }", "arm: { profile: ur5-cb3, rtdePort: 70000 }");
  t.ok(says(range, "devices.arm.rtdePort", /expected whole number 1 to 65535, got 70000/));

  const type = problemsAfter("address: 10.0.0.2", "address: 10.0.0.2, frameRate: fast");
  t.ok(says(type, "devices.microscopes[0].frameRate", /expected number 1 to 100 \(1\/s\), got "fast"/));

  const missing = problemsAfter("file: cal/lab-a.yaml", "");
  t.ok(says(missing, "calibration.file", /missing; expected text/));

  const one = problemsAfter("    - { name: right, profile: gige-2x-2048, address: 10.0.0.3 }\n", "");
  t.ok(says(one, "devices.microscopes", /expected 2 entries, got 1/));

  const twice = problemsAfter("name: right", "name: left");
  t.ok(says(twice, "devices.microscopes", /same name/));

  const serial = problemsAfter("stages: {", "stages: { transport: serial,");
  t.ok(says(serial, "devices.stages.path", /serial needs the path/));

  const infinite = problemsAfter("calibration:", "reasoner: { deadlineS: .inf }\ncalibration:");
  t.ok(says(infinite, "reasoner.deadlineS", /expected number 0.1 to 120 \(s\)/));
  t.end();
});

t.test("what is not clean YAML is refused with its line", (t) => {
  const broken = checkYaml("cell: [1, 2\nx: 3\n", configSchema);
  t.equal(broken.ok, false);
  const doubled = checkYaml("cell: {}\ncell: {}\n", configSchema);
  t.ok(!doubled.ok && doubled.problems.some((problem) => problem.line === 2), "a key given twice");
  const alias = checkYaml("cell: &a {}\ncalibration: *a\n", configSchema);
  t.ok(!alias.ok && /aliases/.test(alias.problems[0]?.message ?? ""));
  t.equal(checkYaml("", configSchema).ok, false, "an empty file lacks what is required");
  t.end();
});

t.test("an unquoted mode is read as it was meant", (t) => {
  const checked = checkYaml(`${good}command: { mode: 0660 }\n`, configSchema);
  t.equal(checked.ok && Number.parseInt(checked.value.command.mode, 8), 0o660);
  t.equal(checkYaml(`${good}command: { mode: "0998" }\n`, configSchema).ok, false);
  t.end();
});

t.test("a missing file is an error that names it", async (t) => {
  await t.rejects(loadConfig("/nowhere/x.yaml"), { code: "CONFIG_UNREADABLE", detail: /\/nowhere\/x\.yaml/ });
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-config-"));
  const file = path.join(folder, "bad.yaml");
  await writeFile(file, "cell: 3\n");
  const error = await loadConfig(file).catch((caught: unknown) => caught);
  t.ok(
    error instanceof CellError && error.code === "CONFIG_INVALID" && error.detail.includes(`${file}:1: cell`),
  );
});

t.test("every key is described; the defaults lie inside their own ranges", (t) => {
  t.same(undescribedKeys(configSchema), []);
  const required = new Set(
    explainConfig()
      .filter((entry) => entry.required)
      .map((entry) => entry.path),
  );
  t.ok(required.has("cell.id") && required.has("devices.needle.path"));
  t.equal(explainConfig().find((entry) => entry.path === "reasoner.deadlineS")?.unit, "s");
  t.ok(checkYaml(good, configSchema).ok);
  t.end();
});

t.test("a re-read file: live keys are taken, the others wait", (t) => {
  const parse = (text: string): ReturnType<typeof configSchema.parse> => {
    const checked = checkYaml(text, configSchema);
    if (!checked.ok) throw new Error("the file is good");
    return checked.value;
  };
  const before = parse(good);
  const after = parse(`${good}loop: { refusalBudget: 5 }\nreasoner: { kind: zmq }\nlog: { level: debug }\n`);
  const changes = compareConfigs(before, after);
  t.same(changes.live.sort(), ["log.level", "loop.refusalBudget"]);
  t.same(changes.restart, ["reasoner.kind"]);
  const merged = takeLiveKeys(before, after);
  t.equal(merged.loop.refusalBudget, 5);
  t.equal(merged.reasoner.kind, "rules", "needs a restart");
  t.equal(before.loop.refusalBudget, 3, "the old one is left alone");
  t.end();
});

t.test("words near and far", (t) => {
  t.equal(nearest("silencMs", ["heartbeatMs", "silenceMs"]), "silenceMs");
  t.equal(nearest("xyz", ["heartbeatMs", "silenceMs"]), undefined);
  t.equal(formatPath(["a", "b", 1, "c"]), "a.b[1].c");
  t.end();
});

t.test("the example and the documentation follow the schema", async (t) => {
  const example = await readFile(path.join(projectRoot, "surgiclawd.example.yaml"), "utf8");
  const checked = checkYaml(example, configSchema);
  t.same(checked.ok ? [] : checked.problems, []);
  const documentation = await readFile(path.join(projectRoot, "docs", "configuration.md"), "utf8");
  const absent = explainConfig().filter((entry) => !documentation.includes(`\`${entry.path}\``));
  t.same(
    absent.map((entry) => entry.path),
    [],
    "docs/configuration.md lists every key",
  );
});
