/** Modbus masters of others: pymodbus, and mbpoll of Debian, which is built on libmodbus. */
import { execFile } from "node:child_process";
import { debianVersion, interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";
import { bringUp, startQ, urOnOwnAddress } from "../ur-emulator.js";

peerTest(
  {
    peer: "pymodbus (PyPI)",
    version: () => pythonVersion("pymodbus"),
    against: "Modbus server of the emulated UR5 CB3 3.15",
    exercised:
      "functions 1 to 6, 15 and 16, state and pose registers, outputs with masks and coils, general purpose registers, exceptions 1 and 2, two clients",
  },
  async (t, check) => {
    const controller = await urOnOwnAddress(t, "ur5-cb3-3.15");
    await bringUp(controller);
    const { host } = controller.options;
    const script = interopFile("modbus", "robot_checks.py");
    const port = String(controller.ports.modbus);
    await runChecks(t, check, [python(), script, host, port, JSON.stringify(startQ)], 60);
  },
);

/** What mbpoll prints: `[270]: 100`. */
async function mbpoll(args: readonly string[]): Promise<{ code: number; values: number[]; text: string }> {
  return new Promise((resolve) => {
    execFile("mbpoll", args, { timeout: 20_000 }, (error, stdout, stderr) => {
      const values = [...stdout.matchAll(/^\[\d+\]:\s+(-?\d+)/gm)].map((match) => Number(match[1]));
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, values, text: `${stdout}${stderr}` });
    });
  });
}

peerTest(
  {
    peer: "mbpoll (Debian)",
    version: () => debianVersion("mbpoll"),
    against: "Modbus server of the emulated UR5 CB3 3.15",
    exercised: "registers and coils read and written, an illegal address",
  },
  async (t, check) => {
    const controller = await urOnOwnAddress(t, "ur5-cb3-3.15");
    await bringUp(controller);
    const { host } = controller.options;
    // -0: addresses as on the wire, -1: once, -r: first, -c: how many, -t: 4 holding, 3 input registers, 0 coils.
    const ask = (...args: string[]): ReturnType<typeof mbpoll> =>
      mbpoll(["-m", "tcp", "-p", String(controller.ports.modbus), "-0", "-1", ...args]);
    const mode = await ask("-t", "4", "-r", "258", "-c", "1", host);
    check(mode.code === 0 && mode.values.join() === "7", "holding register 258: running", mode);
    const joints = await ask("-t", "3", "-r", "270", "-c", "6", host);
    const expected = startQ.map((q) => Math.round((q < 0 ? q + 2 * Math.PI : q) * 1e3));
    check(
      joints.values.join() === expected.join(),
      "input registers 270 to 275: angles within one turn",
      joints,
    );
    const power = await ask("-t", "0", "-r", "260", "-c", "2", host);
    check(power.values.join() === "1,0", "coils 260 and 261: powered, not stopped", power);
    const written = await ask("-t", "4", "-r", "130", host, "123", "45678");
    check(written.code === 0, "two general purpose registers written", written);
    const back = await ask("-t", "4", "-r", "130", "-c", "2", host);
    check(back.text.includes("123") && back.text.includes("45678"), "and read back", back);
    const wrong = await ask("-t", "4", "-r", "600", "-c", "1", host);
    check(
      wrong.values.length === 0 && /illegal data address/i.test(wrong.text),
      "register 600: illegal data address",
      wrong,
    );
  },
);
