/** mbpoll, a command-line Modbus master on libmodbus: a third program for the same registers. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { needleOnPty } from "../needle-emulator.js";
import { debianVersion, peerTest } from "../peer.js";

const run = promisify(execFile);

peerTest(
  {
    peer: "mbpoll (Debian), RTU",
    version: () => debianVersion("mbpoll"),
    against: "emulated needle drive, Modbus RTU",
    exercised:
      "input and holding registers, 32-bit values high word first, single and multiple writes, a move, an exception by its name",
  },
  async (_t, check) => {
    const { emulator, port } = await needleOnPty(_t, { dialect: "modbus-rtu", homed: true });
    /** Its register numbers begin at 1 unless -0 is given. */
    const mbpoll = async (args: readonly string[], values: readonly string[] = []): Promise<string> => {
      const line = ["-m", "rtu", "-a", "1", "-b", "115200", "-P", "none", "-0", "-1", "-o", "3", ...args];
      const { stdout, stderr } = await run("mbpoll", [...line, port, ...values], { timeout: 20_000 }).catch(
        (error: unknown) => error as { stdout: string; stderr: string },
      );
      return `${stdout}${stderr}`;
    };
    const shown = (text: string): string[] =>
      [...text.matchAll(/^\[\d+\]:\s+(\S+)/gm)].map(([, value = ""]) => value);

    check(
      shown(await mbpoll(["-t", "3:hex", "-r", "0", "-c", "2"])).join() === "0x4E44,0x0001",
      "the map's mark and version",
    );
    check(shown(await mbpoll(["-t", "3:int", "-B", "-r", "9", "-c", "1"])).join() === "60000", "the stroke");
    check(shown(await mbpoll(["-t", "3:int", "-B", "-r", "34", "-c", "1"])).join() === "0", "the position");
    const target = await mbpoll(["-t", "4:int", "-B", "-r", "1"], ["12345"]);
    check(/Written 1 references/.test(target), "a target is written", { target });
    check(
      shown(await mbpoll(["-t", "4:int", "-B", "-r", "1", "-c", "1"])).join() === "12345",
      "and reads back",
    );
    const order = await mbpoll(["-t", "4", "-r", "0"], ["4"]);
    check(/Written 1 references/.test(order), "the move is ordered", { order });
    for (let i = 0; i < 500 && emulator.isMoving(); i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    check(
      shown(await mbpoll(["-t", "3:int", "-B", "-r", "34", "-c", "1"])).join() === "12345",
      "the needle went there",
    );
    const wrong = await mbpoll(["-t", "3", "-r", "64", "-c", "1"]);
    check(/Illegal data address/i.test(wrong), "no such register: the exception by its name", { wrong });
  },
);
