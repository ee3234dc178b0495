/** tshark's GVCP and GVSP dissectors on what the grabber and the camera of the native tests say to each other. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { projectRoot } from "../../../src/base/paths.js";
import { interopFile, peerTest } from "../peer.js";
import { dissect, faulty, tsharkVersion } from "./dissect.js";

peerTest(
  {
    peer: "tshark, GVCP and GVSP dissectors (Debian)",
    version: tsharkVersion,
    against: "grabber and GigE Vision camera of the native tests",
    exercised:
      "register and memory access, control privilege, heartbeat, stream set-up, image leader, payload, trailer, packets asked for again and sent again",
  },
  (t, check) => {
    const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-capture-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const capture = path.join(folder, "gige.pcapng");
    const traffic = path.join(projectRoot, "dist", "test", "interop", "tshark", "gige-traffic.js");
    const said = execFileSync(interopFile("tshark", "capture.sh"), [capture, process.execPath, traffic], {
      encoding: "utf8",
      timeout: 90_000,
    });
    const counted = JSON.parse(said) as { received: number; resentPackets: number; incomplete: number };
    const [[port = ""] = []] = dissect(capture, [], "gvcp.bootstrap.scpx.hostport > 0", [
      "gvcp.bootstrap.scpx.hostport",
    ]);
    check(Number(port) > 0, "the stream's port is written to the camera", { port });
    const gvsp = [`udp.port==${port},gvsp`];
    const rows = (filter: string, ...fields: string[]): string[][] => dissect(capture, gvsp, filter, fields);

    check(rows(faulty, "frame.number").length === 0, "no packet is malformed or cut");
    check(rows("gvcp.cmd.status != 0", "frame.number").length === 0, "no command was refused");
    const commands = rows("gvcp.cmd.command", "gvcp.cmd.command", "gvcp.cmd.req_id");
    const answers = rows("gvcp.ack", "gvcp.ack");
    const resends = commands.filter(([command]) => Number(command) === 0x40);
    check(resends.length > 0, "packets were asked for again");
    check(
      commands.length - resends.length === answers.length,
      "every other command has its acknowledgement",
      { commands: commands.length, answers: answers.length },
    );
    const privilege = "gvcp.cmd.writereg.bootstrapregister == 0xa00";
    check(rows(privilege, "frame.number").length >= 2, "the control privilege is taken and given back");
    const written = new Map(
      // The dissector names the address of a memory access in the same way: only a write has a value.
      rows(
        "gvcp.bootstrap.custom.register.value",
        "gvcp.bootstrap.custom.register.write",
        "gvcp.bootstrap.custom.register.value",
      ).map(([register, value]) => [Number(register), Number(value)]),
    );
    for (const [register, value, name] of [
      [0x10008, 256, "width"],
      [0x1000c, 192, "height"],
      [0x10010, 32, "offset in x"],
      [0x10014, 16, "offset in y"],
      [0x10020, 0x010c0006, "pixel format Mono12Packed"],
    ] as const)
      check(written.get(register) === value, `${name}: the register was written`, {
        at: written.get(register),
      });

    const leaders = rows(
      "gvsp.format == 1 && gvsp.status == 0",
      "gvsp.blockid16",
      "gvsp.sizex",
      "gvsp.sizey",
      "gvsp.offsetx",
      "gvsp.offsety",
      "gvsp.pixel",
    );
    check(leaders.length >= 15, `${leaders.length} image leaders`);
    check(
      leaders.every(([, ...rest]) => rest.map(Number).join() === "256,192,32,16,17563654"),
      "each with size, offset and pixel format of the registers",
    );
    // 73,728 bytes in packets of 1500, of which 36 are headers.
    const packets = Math.ceil((256 * 192 * 1.5) / (1500 - 36));
    const trailers = rows("gvsp.format == 2 && gvsp.status == 0", "gvsp.packetid24");
    check(
      trailers.length > 0 && trailers.every(([id]) => Number(id) === packets + 1),
      `trailers close after ${packets} packets`,
    );
    const sizes = new Set(rows("gvsp.format == 3 && udp.length > 1400", "ip.len").map(([length]) => length));
    check([...sizes].join() === "1500", "full packets have the size that was set, IP header included", {
      sizes: [...sizes],
    });
    const again = rows("gvsp.status == 0x100", "gvsp.packetid24");
    check(
      again.length >= counted.resentPackets,
      "the grabber counts no more resent packets than there were",
      {
        again: again.length,
        counted,
      },
    );
    check(counted.resentPackets > 0 && counted.incomplete === 0, "and lost no frame for the lost packets");
    return Promise.resolve();
  },
);
