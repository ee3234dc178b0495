/**
 * What is wrong with files or devices keeps the daemon from becoming active: it says which key or device, what it expected
 * and what to do; nothing moves, and nothing recorded is lost.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { withDeadline } from "../../src/base/clock.js";
import { CommandClient } from "../../src/service/command/client.js";
import { CellHarness, patience, type DaemonFile } from "./cell-harness.js";

const timeout = 200_000;
/** Of sysexits.h: configuration, and unavailable. */
const exit = { config: 78, unavailable: 69 } as const;

t.test("bad input", { timeout }, async (t) => {
  const cell = await CellHarness.start(t);
  const earlier = path.join(cell.folder, "earlier");
  await mkdir(earlier);
  await writeFile(path.join(earlier, "audit.jsonl"), "");

  let attempts = 0;
  /** Starts a daemon that must end by itself. */
  const refused = async (
    change: (config: DaemonFile) => void | Promise<void>,
    ...extra: string[]
  ): Promise<{ code: number; output: string }> => {
    const config = cell.config();
    await change(config);
    const daemon = cell.spawnDaemon(await cell.writeConfig(config, `attempt-${++attempts}.yaml`), ...extra);
    const code = await withDeadline(daemon.ended, patience.startS, "the end of the daemon");
    return { code, output: cell.output() };
  };
  /** A shipped file with one thing changed. */
  const altered = async (file: string, from: RegExp, to: string): Promise<string> => {
    const text = await readFile(path.join(projectRoot, file), "utf8");
    if (!from.test(text)) throw new Error(`${file} holds nothing like ${from.source}`);
    const copy = path.join(cell.folder, `altered-${++attempts}.yaml`);
    await writeFile(copy, text.replace(from, to));
    return copy;
  };

  await t.test("a mistyped key is named", async (t) => {
    const { code, output } = await refused((config) => {
      config.devices.stages["prot"] = 12321;
    });
    t.equal(code, exit.config, "exit code");
    t.match(output, /devices\.stages\.prot|devices\.stages.*prot/s, "named");
    t.match(output, /port/, "what was meant");
  });

  await t.test("a value out of range is named, with the range", async (t) => {
    const { code, output } = await refused((config) => {
      config.devices.guardian = { silenceMs: 5000 };
    });
    t.equal(code, exit.config, "exit code");
    t.match(output, /devices\.guardian\.silenceMs/, "named");
    t.match(output, /200/, "named");
  });

  await t.test("the calibration of another cell is refused", async (t) => {
    const { code, output } = await refused(async (config) => {
      config.calibration.file = await altered(
        "calibration/reference-drawing.yaml",
        /^cell: reference-cell$/m,
        "cell: cell-next-door",
      );
    });
    t.equal(code, exit.config, "exit code");
    t.match(output, /cell-next-door/, "named");
    t.match(output, /reference-cell/, "named");
  });

  await t.test("an arm of another model or firmware than its profile", async (t) => {
    const { code, output } = await refused((config) => {
      config.devices.arm["profile"] = "ur5-cb3-3.3";
    }, "--once");
    t.equal(code, exit.unavailable, "exit code");
    t.match(output, /arm|UR/, "named");
    t.match(output, /3\.3/, "what was expected");
    t.match(output, /3\.15/, "what is there");
  });

  await t.test("a needle drive of another model than its profile", async (t) => {
    const { code, output } = await refused(async (config) => {
      config.devices.needle["profile"] = await altered(
        "firmware-profiles/needle-zaber-ascii.yaml",
        /^deviceId: 50951$/m,
        "deviceId: 50081",
      );
    }, "--once");
    t.equal(code, exit.unavailable, "exit code");
    t.match(output, /needle/, "named");
    t.match(output, /50081/, "what was expected");
    t.match(output, /50951/, "what is there");
  });

  await t.test("a microscope of another model than its profile", async (t) => {
    const { code, output } = await refused(async (config) => {
      const view = config.devices.microscopes[1];
      if (view === undefined) throw new Error("a cell has two microscopes");
      view["profile"] = await altered(
        "firmware-profiles/microscope-md65.yaml",
        /identity: .*$/m,
        "identity: { vendor: Aravis, model: AnotherCamera }",
      );
    }, "--once");
    t.equal(code, exit.unavailable, "exit code");
    t.match(output, /view2/, "named");
    t.match(output, /AnotherCamera/, "named");
  });

  await t.test("a stage controller that is not there: leaves with --once", async (t) => {
    const { code, output } = await refused((config) => {
      config.devices.stages["port"] = 12399;
    }, "--once");
    t.equal(code, exit.unavailable, "exit code");
    t.match(output, /stages/, "named");
    t.match(output, /12399/, "named");
  });

  await t.test(
    "a stage controller that is not there: stays readable, refuses work",
    { timeout },
    async (t) => {
      const config = cell.config();
      config.devices.stages["port"] = 12399;
      const daemon = cell.spawnDaemon(await cell.writeConfig(config, "missing.yaml"));
      const client = new CommandClient(`ipc://${cell.place.folder}/command.sock`, "end-to-end test");
      t.teardown(() => client.close());
      let opened = false;
      const status = await cell.poll(
        async () => {
          try {
            if (!opened) client.open();
            opened = true;
            const answer = await client.call("status", {}, { timeoutS: 2 });
            return answer.reason.includes("12399") ? answer : undefined;
          } catch {
            return undefined;
          }
        },
        "a status that names the missing device",
        patience.startS,
      );
      t.match(status, { ready: false, possible: ["stop"] });
      t.match(status.reason, /stages/, status.reason);
      await t.rejects(client.control("plan", { targets: 1, file: path.join(cell.folder, "no.yaml") }), {
        code: "COMMAND_INVALID",
        message: /12399/,
      });
      await cell.endProgram(daemon);
      t.equal(await daemon.ended, 0, "ends in good order");
    },
  );

  await t.test("an unreadable procedure is refused before anything is recorded", { timeout }, async (t) => {
    await cell.startDaemon();
    const before = await readdir(cell.folder);
    const file = path.join(cell.folder, "procedure.yaml");
    const start = (): Promise<unknown> => cell.begin(file);
    const named = { code: "PROCEDURE_UNREADABLE", message: /procedure\.yaml/ };
    await t.rejects(start(), named, "missing");
    await writeFile(file, "targets: [\n");
    await t.rejects(start(), named, "no YAML");
    await writeFile(file, "version: 1\nid: p\ncell: reference-cell\ntargets: []\n");
    await t.rejects(start(), named, "incomplete");
    t.match(await cell.status(), { ready: true, procedure: "idle", recording: null });
    t.same(
      (await readdir(cell.folder)).filter((name) => name !== "procedure.yaml"),
      before,
      "no recording was begun",
    );
  });

  t.same(await cell.truth.motions(), [], "nothing moved");
  t.same(await readdir(earlier), ["audit.jsonl"], "earlier recordings stay");
});
