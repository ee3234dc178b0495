/** The golden transcripts that ship, replayed against every emulated device; and a device that answers otherwise. */
import { execFile } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { checkDevice, type CheckReport } from "../../../src/lab/check/device-check.js";
import { linkTo } from "../../../src/cell/kohzu/kohzu-address.js";
import { serialCheck, tcpCheck, type PlannedCheck } from "../../../src/lab/check/device-links.js";
import { loadTranscript, transcriptNames } from "../../../src/lab/check/transcript.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { rig as kohzuRig } from "../../cell/kohzu/rig.js";
import { dialects, rig as needleRig } from "../../cell/needle/rig.js";
import { rig as urRig } from "../../cell/ur/rig.js";

const replay = async ({ link, transport, transcript }: PlannedCheck): Promise<CheckReport> =>
  checkDevice(link, transport, await loadTranscript(transcript), { replyTimeoutS: 5 });

const covered = new Set<string>();

function passes(t: Test, report: CheckReport): void {
  covered.add(report.transcript);
  for (const step of report.steps) t.ok(step.passed, step.what, { step });
  t.equal(report.passed, true);
}

for (const dialect of dialects)
  t.test(`needle drive, ${dialect}`, async (t) => {
    const { link, emulator, end } = await needleRig(dialect, { activate: false });
    t.teardown(end);
    passes(t, await replay(serialCheck(`needle-${dialect}`, link, 115_200)));
    t.equal(emulator.isMoving(), false);
  });

for (const [name, profile, transport, dialect] of [
  ["ARIES over TCP", "kohzu-aries", "tcp", "aries"],
  ["ARIES behind a Telnet login", "kohzu-aries", "telnet", "aries"],
  ["ARIES that dials", "kohzu-aries", "dialled", "aries"],
  ["ARIES over a serial line", "kohzu-aries", "serial", "aries"],
  ["CRUX", "kohzu-crux", "serial", "crux"],
  ["SC series", "kohzu-sc-410", "serial", "sc"],
] as const)
  t.test(name, async (t) => {
    const made = await kohzuRig({
      profile,
      transport,
      emulator: { dialect, axes: [{ model: xa04aR102, homed: true }] },
    });
    t.teardown(() => made.end());
    const { address } = made;
    passes(
      t,
      await replay({
        transcript: `kohzu-${dialect}`,
        transport: address.transport === "serial" ? "serial" : "tcp",
        link: linkTo(address),
      }),
    );
  });

for (const profile of ["ur5-cb3-3.15", "ur5-cb3-3.3"])
  t.test(profile, async (t) => {
    const { controller, close } = await urRig({ profile });
    t.teardown(close);
    const { dashboard, rtde, primary, secondary, realtime, modbus } = controller.ports;
    passes(t, await replay(tcpCheck("ur-dashboard", "127.0.0.1", dashboard)));
    passes(t, await replay(tcpCheck("ur-rtde", "127.0.0.1", rtde)));
    passes(t, await replay(tcpCheck("ur-primary", "127.0.0.1", primary)));
    passes(t, await replay(tcpCheck("ur-primary", "127.0.0.1", secondary)));
    passes(t, await replay(tcpCheck("ur-realtime", "127.0.0.1", realtime)));
    passes(t, await replay(tcpCheck("ur-modbus", "127.0.0.1", modbus)));
  });

t.test("every transcript that ships was replayed", async (t) => {
  t.strictSame([...covered].sort(), transcriptNames());
});

t.test("a device that answers otherwise: the step, what was expected and what came are told", async (t) => {
  // Says the right things but for the device id, and nothing at all to what it does not know.
  const server = createServer((socket) => {
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      if (text.startsWith("/1 0 get device.id")) socket.write("@01 0 OK IDLE -- many\r\n");
      else if (text === "/1 0\r\n") socket.write("@01 0 OK IDLE -- 0\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { link } = tcpCheck("", "127.0.0.1", port);
  const report = await checkDevice(link, "tcp", await loadTranscript("needle-zaber-ascii"), {
    replyTimeoutS: 0.1,
  });
  t.equal(report.passed, false);
  t.match(report.steps[0], { passed: true });
  t.match(report.steps[2], {
    passed: false,
    what: "it tells its device id",
    sent: "/1 0 get device.id\\r\\n",
    got: "@01 0 OK IDLE -- many\\r\\n",
  });
  t.match(report.steps[1], { passed: false, got: "" });
});

t.test("the command says so with its exit code", async (t) => {
  const { link, end } = await needleRig("modbus-rtu", { activate: false });
  t.teardown(end);
  const run = (transcript: string): Promise<{ code: number; stdout: string }> =>
    promisify(execFile)(
      process.execPath,
      [
        path.join(projectRoot, "dist", "src", "cli", "main.js"),
        ...["check", "device", "--transcript", transcript, "--serial", link, "--json"],
      ],
      { timeout: 60_000 },
    ).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: unknown) => error as { code: number; stdout: string },
    );
  const right = await run("needle-modbus-rtu");
  t.equal(right.code, 0);
  t.match(JSON.parse(right.stdout), [{ transcript: "needle-modbus-rtu", passed: true }]);
  const wrong = await run("kohzu-sc");
  t.equal(wrong.code, 1, "another protocol");
  t.match(JSON.parse(wrong.stdout), [{ passed: false }]);
});
