/** What a configuration says about devices must fit together before anything is opened. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import t from "tap";
import { readCellFile } from "../../../src/base/cell-file.js";
import { loadConfig } from "../../../src/base/config.js";
import { projectRoot } from "../../../src/base/paths.js";
import { DeviceSet } from "../../../src/service/daemon/device-set.js";
import { createLogger } from "../../../src/service/daemon/logger.js";

t.test("driver and profile of the needle speak of one protocol", async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "device-set-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const example = await readFile(path.join(projectRoot, "surgiclawd.example.yaml"), "utf8");
  const cellFile = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
  const make = async (driver: string, profile: string): Promise<DeviceSet> => {
    const file = path.join(folder, "config.yaml");
    await writeFile(
      file,
      example.replace("profile: needle-zaber-ascii", `driver: ${driver}\n    profile: ${profile}`),
    );
    const { config } = await loadConfig(file);
    t.equal(config.devices.needle.driver, driver);
    const guardianLog = path.join(folder, "guardian.log");
    return DeviceSet.make({
      config,
      cellFile,
      log: createLogger({ level: "error", file: path.join(folder, "log") }),
      guardianLog,
    });
  };
  for (const [driver, profile] of [
    ["zaber", "needle-zaber-ascii"],
    ["modbus", "needle-modbus-rtu"],
  ] as const) {
    const set = await make(driver, profile);
    t.equal(set.needle.strokeM, 6e-3);
    await set.close();
  }
  await t.rejects(make("zaber", "needle-modbus-rtu"), {
    code: "CONFIG_INVALID",
    message: /driver zaber with profile needle-modbus-rtu, which speaks modbus-rtu/,
  });
  await t.rejects(make("modbus", "needle-zaber-ascii"), { code: "CONFIG_INVALID" });
});

t.test(
  "every way to connect the stages makes a cell; a transport that the profile lacks does not",
  async (t) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "device-set-"));
    t.teardown(() => rm(folder, { recursive: true }));
    const example = await readFile(path.join(projectRoot, "surgiclawd.example.yaml"), "utf8");
    const cellFile = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
    const make = async (profile: string, transport: string, stages = cellFile.stages): Promise<DeviceSet> => {
      const file = path.join(folder, "config.yaml");
      const changed = example.replace(
        "profile: kohzu-aries",
        `profile: ${profile}\n    transport: ${transport}\n    path: /dev/null`,
      );
      await writeFile(file, changed.replace(/(path: \/dev\/null\n) +transport: tcp\n/, "$1"));
      const { config } = await loadConfig(file);
      return DeviceSet.make({
        config,
        cellFile: { ...cellFile, stages },
        log: createLogger({ level: "error", file: path.join(folder, "log") }),
        guardianLog: path.join(folder, "guardian.log"),
      });
    };
    for (const [profile, transport] of [
      ["kohzu-aries", "tcp"],
      ["kohzu-aries", "telnet"],
      ["kohzu-aries", "dialled"],
      ["kohzu-aries", "serial"],
      ["kohzu-crux", "serial"],
      ["kohzu-sc-410", "serial"],
    ] as const) {
      const set = await make(profile, transport, cellFile.stages.slice(0, 2));
      t.equal(
        set.status().find(({ name }) => name === "stages")?.current,
        "unconfigured",
        `${profile} ${transport}`,
      );
      await set.close();
    }
    await t.rejects(make("kohzu-crux", "telnet"), { code: "CONFIG_INVALID", message: /no telnet interface/ });
  },
);
