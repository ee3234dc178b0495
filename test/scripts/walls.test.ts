/** The walls of the house, as the lint rule sees them. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

interface Rules {
  wallBetween(file: string, target: string, typeOnly: boolean): string | null;
}

const load = async (): Promise<Rules> =>
  (await import(pathToFileURL(path.join(projectRoot, "scripts", "eslint-rules.mjs")).href)) as Rules;

t.test("imports go down only", async (t) => {
  const { wallBetween } = await load();
  const permitted = [
    ["src/cli/main.ts", "src/lab/evaluation/report.js"],
    ["src/service/daemon/daemon.ts", "src/agent/loop/loop.js"],
    ["src/agent/loop/loop.ts", "src/agent/skills/registry.js"],
    ["src/agent/skills/insert.ts", "src/agent/perception/view.js"],
    ["src/record/audit.ts", "src/base/errors.js"],
    ["src/agent/safety/gate.ts", "src/base/clock.js"],
    ["src/twin/ur/server.ts", "src/cell/ur/codec/rtde.js"],
    ["src/twin/kohzu/server.ts", "src/cell/kohzu/codec.js"],
  ] as const;
  for (const [file, target] of permitted)
    t.equal(wallBetween(file, target, false), null, `${file} -> ${target}`);
  const refused = [
    ["src/base/config.ts", "src/cell/native.js"],
    ["src/cell/ur/driver.ts", "src/twin/ur/server.js"],
    ["src/service/daemon/daemon.ts", "src/twin/main.js"],
    ["src/agent/loop/loop.ts", "src/twin/truth-history.js"],
    ["src/agent/loop/loop.ts", "src/service/daemon/daemon.js"],
    ["src/agent/safety/gate.ts", "src/cell/native.js"],
    ["src/agent/safety/gate.ts", "src/base/config.js"],
    ["src/agent/skills/insert.ts", "src/agent/loop/loop.js"],
    ["src/agent/perception/view.ts", "src/agent/skills/registry.js"],
    ["src/agent/reasoners/rules.ts", "src/cell/native.js"],
    ["src/service/daemon/daemon.ts", "src/cli/main.js"],
    ["src/lab/evaluation/main.ts", "src/service/command/client.js"],
    ["src/twin/main.ts", "src/cell/ur/driver.js"],
    ["src/cli/demo.ts", "src/twin/main.js"],
  ] as const;
  for (const [file, target] of refused) {
    t.match(wallBetween(file, target, false), /imports go down only/, `${file} -> ${target}`);
  }
  t.equal(wallBetween("src/agent/safety/gate.ts", "src/agent/observation.js", true), null, "types alone");
});
