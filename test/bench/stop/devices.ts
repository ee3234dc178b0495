/**
 * The devices of a cell on the far side of their links, in a process of its own: emulated controllers, and before each a tap
 * that says when the last byte of a stop command arrived. Prints a line with its addresses, then one a stop:
 *   {"link":"stages","atS":1234.5}
 *   node devices.js FOLDER
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import path from "node:path";
import { monotonicNow } from "../../../src/base/clock.js";
import { readCellFile } from "../../../src/base/cell-file.js";
import { projectRoot } from "../../../src/base/paths.js";
import { commandLength, reverseCommand } from "../../../src/cell/ur/codec/reverse.js";
import { KohzuEmulator } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { KohzuTcpServer } from "../../../src/twin/kohzu/kohzu-server.js";
import { referenceCellStages } from "../../../src/twin/kohzu/stage-models.js";
import { NeedleDriveEmulator } from "../../../src/twin/needle/needle-drive.js";
import { PtyPort } from "../../../src/twin/pty-port.js";
import { freePorts, UrController } from "../../../src/twin/ur/ur-controller.js";

const host = "127.0.0.1";
const [, , folder = "."] = process.argv;

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

/** Calls `stop` with the moment at which a stop command was whole. */
type Ear = (bytes: Buffer) => void;

/** For links that carry text; what precedes the last command is forgotten. */
function textEar(link: string, stop: RegExp): Ear {
  let heard = "";
  return (bytes) => {
    const atS = monotonicNow();
    heard = (heard + bytes.toString("latin1")).slice(-4000);
    if (!stop.test(heard)) return;
    heard = "";
    say({ link, atS });
  };
}

/** Messages of `commandLength` integers; the third is the kind. */
function reverseEar(link: string): Ear {
  let pending = Buffer.alloc(0);
  return (bytes) => {
    const atS = monotonicNow();
    pending = Buffer.concat([pending, bytes]);
    for (; pending.length >= 4 * commandLength; pending = pending.subarray(4 * commandLength))
      if (pending.readInt32BE(8) === reverseCommand.STOP) say({ link, atS });
  };
}

/** A listener that passes everything on to another address. @returns its port */
async function tap(
  toPort: number,
  hear: { readonly fromClient?: () => Ear; readonly fromServer?: () => Ear },
  change: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Promise<number> {
  const pass = (from: Socket, to: Socket, ear: Ear | undefined, edit: typeof change): void => {
    from.setNoDelay(true);
    from.on("data", (bytes) => {
      ear?.(bytes);
      to.write(edit(bytes));
    });
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  };
  const server = createServer((client) => {
    const device = connect(toPort, host);
    pass(client, device, hear.fromClient?.(), change);
    pass(device, client, hear.fromServer?.(), (bytes) => bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

const file = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
const arm = new UrController({ host, ports: freePorts, initialQ: file.knownPoseRad });
await arm.start();

// The control program connects back to the address that its text names: a tap is put there instead, too.
const callbacks = new Map<number, Promise<number>>();
let script = "";
const primary = createServer((client) => {
  const device = connect(arm.ports.primary, host);
  const ear = textEar("arm, program", /def surgiclaw_stop\(\)[^]*?\nend\n/);
  client.on("data", (bytes) => {
    ear(bytes);
    script += bytes.toString("utf8");
    if (!script.endsWith("end\n")) return;
    const whole = script;
    script = "";
    const back = /socket_open\("([^"]+)", (\d+),/.exec(whole);
    if (back === null) {
      device.write(whole);
      return;
    }
    const port = Number(back[2]);
    const made = callbacks.get(port) ?? tap(port, { fromServer: () => reverseEar("arm, control link") });
    callbacks.set(port, made);
    void made.then((tapPort) => device.write(whole.replace(back[0], `socket_open("${host}", ${tapPort},`)));
  });
  device.on("data", (bytes) => client.write(bytes));
  for (const [one, other] of [
    [client, device],
    [device, client],
  ] as const) {
    one.setNoDelay(true);
    one.on("close", () => other.destroy());
    one.on("error", () => other.destroy());
  }
});
await new Promise<void>((resolve) => primary.listen(0, host, resolve));

const aries = new KohzuEmulator({
  axes: referenceCellStages.map((model) => ({ model, homed: true })),
  seed: 7,
});
const stagePort = await new KohzuTcpServer(aries).listen(host, 0);
const stages = await tap(stagePort, { fromClient: () => textEar("stages", /STP\d+\/\d\r\n/) });

const drive = new NeedleDriveEmulator({ seed: 7, homed: true, dialect: "zaber-ascii" });
const needle = path.join(folder, "needle");
const pty = new PtyPort({ path: needle });
const device = drive.attach((bytes) => pty.write(bytes));
const ear = textEar("needle", /estop[^\n]*\n/);
pty.onData = (bytes) => {
  ear(Buffer.from(bytes));
  device(bytes);
};
await pty.open();

const { rtde, dashboard, modbus } = arm.ports;
say({
  ...{ host, stages, needle },
  arm: { rtde, dashboard, modbus, primary: (primary.address() as AddressInfo).port },
});
process.stdin.resume().on("end", () => {
  void pty.close().finally(() => process.exit(0));
});
