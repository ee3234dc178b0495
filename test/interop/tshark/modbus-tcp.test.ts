/** tshark's Modbus/TCP dissector on what the robot driver's cross-check and the emulated controller say to each other. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { UrModbusClient } from "../../../src/cell/ur/modbus-client.js";
import { rig, soon, startQ } from "../../cell/ur/rig.js";
import { peerTest } from "../peer.js";
import { dissect, faulty, tsharkVersion } from "./dissect.js";
import { LineRecord } from "./line-record.js";

/** Any port will do: the dissector is told which one the controller's side is. */
const port = 1502;

peerTest(
  {
    peer: "tshark, Modbus/TCP dissector (Debian)",
    version: tsharkVersion,
    against: "robot driver's cross-check and emulated UR5 CB3 3.15",
    exercised:
      "transaction ids, lengths, unit, function codes, register addresses, counts and values, an exception, requests and replies in pairs",
  },
  async (t, check) => {
    const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-modbus-tcp-"));
    const { controller, close } = await rig();
    const line = new LineRecord();
    const between = createServer((near) => {
      const far = connect(controller.ports.modbus, "127.0.0.1");
      near.on("data", (bytes) => {
        line.add(false, bytes);
        far.write(bytes);
      });
      far.on("data", (bytes) => {
        line.add(true, bytes);
        near.write(bytes);
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on("error", () => one.destroy());
        one.on("close", () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
    const entrance = (between.address() as AddressInfo).port;
    t.teardown(async () => {
      between.close();
      await close();
      rmSync(folder, { recursive: true, force: true });
    });
    const client = new UrModbusClient("127.0.0.1", entrance, 10);
    for (let i = 0; i < 5; i++) await client.read(soon());
    client.close();
    // A register that does not exist, asked for by hand: transaction 0x0102, unit 255, one register at 1000.
    const asking = connect(entrance, "127.0.0.1");
    asking.write(Buffer.from("010200000006ff0303e80001", "hex"));
    await new Promise((resolve) => asking.once("data", resolve));
    asking.destroy();

    const capture = path.join(folder, "robot.pcap");
    line.capture(capture, "tcp", port);
    const rows = (filter: string, ...fields: string[]): string[][] =>
      dissect(capture, [`tcp.port==${port},mbtcp`, `mbtcp.tcp.port:${port}`], filter, fields);
    const all = rows(
      "mbtcp",
      "tcp.srcport",
      "mbtcp.trans_id",
      "mbtcp.prot_id",
      "mbtcp.len",
      "mbtcp.unit_id",
      "modbus.func_code",
      "tcp.len",
    );
    check(
      all.length === line.count && all.length === 22,
      "eleven requests and replies, all of them Modbus/TCP",
      {
        frames: all.length,
      },
    );
    check(rows(faulty, "frame.number").length === 0, "no frame is malformed");
    check(
      all.every(([, , protocol, length, unit, , bytes]) => {
        return Number(protocol) === 0 && Number(unit) === 255 && Number(length) + 6 === Number(bytes);
      }),
      "protocol 0, unit 255, and the length of the header is that of the frame",
    );
    check(
      all.every(([source], i) => (Number(source) === port) === (i % 2 === 1)),
      "a reply after every request",
    );
    check(
      all.every(
        ([, id, , , , code], i) => i % 2 === 0 || (id === all[i - 1]?.[1] && code === all[i - 1]?.[5]),
      ),
      "with the transaction and the function code of its request",
    );
    check(new Set(all.slice(0, 20).map(([, id]) => id)).size === 10, "no transaction id is used twice");
    const asked = rows(
      "modbus.func_code == 3 && !modbus.byte_cnt && tcp.dstport == 1502",
      "modbus.reference_num",
    );
    check(
      asked.some(([address]) => Number(address) === 258) &&
        asked.some(([address]) => Number(address) === 270),
      "robot mode (258) and joint angles (270) are asked for",
      { asked },
    );
    const [angles = []] = rows(
      "modbus.byte_cnt > 20 && tcp.srcport == 1502",
      "modbus.regnum16",
      "modbus.regval_uint16",
    );
    const values = new Map(
      (angles[0] ?? "").split(",").map((number, i) => [Number(number), Number(angles[1]?.split(",")[i])]),
    );
    // Milliradians, as the register table of the manufacturer says; 2π - 1.6 rad are 4683 of them.
    check(values.get(270) === 100, "the first joint stands at 100 mrad in register 270", {
      at: values.get(270),
    });
    check(Math.abs((values.get(271) ?? 0) - 4683) <= 1, "the second at a whole turn less 1600 mrad", {
      at: values.get(271),
      startQ,
    });
    const [refused] = rows("modbus.exception_code", "mbtcp.trans_id", "modbus.exception_code");
    check(refused?.join() === "258,2", "an address that does not exist: exception 2 to its transaction", {
      refused,
    });
  },
);
