/** tshark's Modbus dissector on what the needle's driver and the emulated drive say to each other. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rig, quick } from "../../cell/needle/rig.js";
import { peerTest } from "../peer.js";
import { dissect, faulty, tsharkVersion } from "./dissect.js";
import { LineRecord } from "./line-record.js";

/** Any port will do: the dissector is told which one the drive's side is. */
const drivePort = 1502;

peerTest(
  {
    peer: "tshark, Modbus RTU dissector (Debian)",
    version: tsharkVersion,
    against: "needle driver and emulated drive",
    exercised:
      "function codes, register addresses and counts, checksums, requests and replies in pairs, a whole move",
  },
  async (t, check) => {
    const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-modbus-"));
    const { driver, port, end } = await rig("modbus-rtu", { activate: false });
    t.teardown(async () => {
      await end();
      rmSync(folder, { recursive: true, force: true });
    });
    const line = new LineRecord();
    const hear = port.onData;
    port.onData = (bytes) => {
      line.add(false, bytes);
      hear?.(bytes);
    };
    const write = port.write.bind(port);
    port.write = (bytes) => {
      line.add(true, bytes);
      write(bytes);
    };
    await driver.connect();
    await driver.activate();
    await driver.moveTo(2e-3, quick, AbortSignal.timeout(30_000));

    const capture = path.join(folder, "line.pcap");
    line.capture(capture, "udp", drivePort);
    const decode = [
      `udp.port==${drivePort},mbrtu`,
      `mbrtu.udp.port:${drivePort}`,
      "mbrtu.crc_verification:TRUE",
    ];
    const rows = (filter: string, ...fields: string[]): string[][] =>
      dissect(capture, decode, filter, fields);

    const all = rows("mbrtu", "udp.srcport", "modbus.func_code", "mbrtu.crc16.status", "mbrtu.unit_id");
    check(all.length === line.count && all.length > 20, `${all.length} frames, every one of them Modbus RTU`);
    check(rows(faulty, "frame.number").length === 0, "no frame is malformed");
    check(
      all.every(([, , status]) => Number(status) === 1),
      "every checksum is right",
      { first: all[0] },
    );
    check(
      all.every(([, , , unit]) => Number(unit) === 1),
      "every frame names the drive",
    );
    const pairs = all.filter(([source]) => Number(source) === drivePort).length;
    check(Math.abs(2 * pairs - all.length) <= 1, "as many replies as requests", { pairs });
    check(
      all.every(([, code], i) => i % 2 === 0 || code === all[i - 1]?.[1]),
      "a reply has the function code of its request",
    );
    const codes = new Set(all.map(([, code]) => Number(code)));
    check(
      [...codes].every((code) => [3, 4, 6, 16].includes(code)),
      "reads and writes of registers",
      {
        codes: [...codes],
      },
    );
    const reads = rows("modbus.func_code == 4 && modbus.word_cnt", "modbus.reference_num", "modbus.word_cnt");
    check(
      reads.length > 0 && reads.every(([, words]) => Number(words) >= 1),
      "reads name register and count",
      {
        reads: reads.slice(0, 3),
      },
    );
  },
);
