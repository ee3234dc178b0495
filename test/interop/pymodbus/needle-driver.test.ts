/** Our driver of the needle against registers that pymodbus serves: the other direction of the same independent check. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { NeedleDrive } from "../../../src/cell/needle/needle-drive.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { PtyPort } from "../../../src/twin/pty-port.js";
import { quick, stroke } from "../../cell/needle/rig.js";
import { waitFor } from "../../faults/wait.js";
import { interopFile, peerTest, python, pythonVersion } from "../peer.js";

peerTest(
  {
    peer: "pymodbus (PyPI), RTU server",
    version: () => pythonVersion("pymodbus"),
    against: "needle driver, Modbus RTU",
    exercised: "identity, limits written and read back, homing, a move, a stroke, stop",
  },
  async (t, check) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "needle-server-"));
    const [ours, theirs] = ["driver", "server"].map((name) => new PtyPort({ path: path.join(folder, name) }));
    if (ours === undefined || theirs === undefined) throw new Error("two terminals");
    // A null-modem cable.
    ours.onData = (bytes) => theirs.write(bytes);
    theirs.onData = (bytes) => ours.write(bytes);
    await ours.open();
    await theirs.open();
    const server = spawn(
      python(),
      [interopFile("pymodbus", "needle_server.py"), path.join(folder, "server")],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const said: string[] = [];
    createInterface({ input: server.stdout }).on("line", (line) => said.push(line));
    const driver = new NeedleDrive({
      name: "needle",
      path: path.join(folder, "driver"),
      profile: await loadProfile("needle-modbus-rtu", "needle-drive"),
    });
    t.teardown(async () => {
      await driver.close();
      server.kill("SIGKILL");
      await ours.close();
      await theirs.close();
      await rm(folder, { recursive: true });
    });
    await waitFor(() => said.includes("serving"));
    // The server says so before its port is open: the first tries may find nobody.
    for (let tries = 1; driver.status.current === "unconfigured"; tries++)
      await driver.connect().catch((error: unknown) => {
        if (tries === 5) throw error;
      });
    if (driver.status.current === "fault") await driver.reset();
    check(driver.status.current === "inactive", "connected: identity and limits");
    await driver.activate();
    await driver.home();
    check(driver.homed && driver.position() === 0, "homed");
    await driver.moveTo(3e-3, quick);
    check(Math.abs(driver.position() - 3e-3) < 1e-9, "a move of 30000 microsteps");
    const report = await driver.stroke(stroke);
    check(Math.abs(report.endM - stroke.retractToM) < 1e-9, "a stroke ends where it retracts to");
    await driver.halt("estop");
    check(
      said.filter((line) => line.startsWith("order")).join() === "order 3,order 4,order 5,order 2",
      "the orders in their order",
    );
    check(driver.counters.damaged === 0 && driver.counters.timeouts <= 5, "no frame was damaged");
  },
);
