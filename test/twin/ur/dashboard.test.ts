/** Dashboard sentences by software version, against the table of the reference, written down here by hand. */
import { once } from "node:events";
import { connect } from "node:net";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { answerDashboard, type Panel } from "../../../src/twin/ur/dashboard-commands.js";
import { runtimeState } from "../../../src/cell/ur/codec/enums.js";
import { ControllerModel } from "../../../src/twin/ur/controller-model.js";
import { quickTiming } from "../../../src/twin/ur/controller-timing.js";
import { ProgramDisk } from "../../../src/twin/ur/program-disk.js";
import { readFirmware } from "../../../src/twin/ur/firmware.js";
import { freePorts, UrController } from "../../../src/twin/ur/ur-controller.js";

const spoken = { atS: 0, robotMode: "RUNNING", safetyMode: "NORMAL", program: "STOPPED", running: false };

/** What a controller with this profile answers. */
function panelOf(profile: string, local = false): (line: string) => string {
  const firmware = readFirmware(path.join(projectRoot, "firmware-profiles", `${profile}.yaml`));
  const model = new ControllerModel(firmware, quickTiming, [0, -1, 1, 0, 1, 0], {
    say: () => undefined,
    openSocket: () => {
      throw new Error("no socket is opened here");
    },
  });
  const panel: Panel = { userRole: "PROGRAMMER", operationalMode: undefined, local };
  return (line) => answerDashboard(line, model, spoken, panel);
}

const unknown = (line: string): string => `could not understand: '${line}'`;

t.test("CB3 3.3", (t) => {
  const ask = panelOf("ur5-cb3-3.3");
  t.equal(ask("RobotMode"), "Robotmode: RUNNING", "not case-sensitive");
  t.equal(ask("safetymode"), "Safetymode: NORMAL");
  t.equal(ask("programState"), "STOPPED");
  t.equal(ask("running"), "Program running: false");
  t.equal(ask("get loaded program"), "No program loaded");
  t.equal(ask("load /programs/a.urp"), "File not found: /programs/a.urp");
  t.equal(ask("load installation b.installation"), "File not found: b.installation");
  t.equal(ask("play"), "Failed to execute: play");
  t.equal(ask("popup mind the arm"), "showing popup");
  t.equal(ask("close popup"), "closing popup");
  t.equal(ask("addToLog hello"), "Added log message");
  t.equal(ask("setUserRole operator"), "Setting user role: OPERATOR");
  t.equal(ask("getUserRole"), "OPERATOR");
  for (const newer of [
    "restart safety",
    "get robot model",
    "get serial number",
    "saveLog",
    "safetystatus",
    "version",
  ]) {
    t.equal(ask(newer), unknown(newer));
  }
  t.end();
});

t.test("CB3 3.15", (t) => {
  const ask = panelOf("ur5-cb3-3.15");
  t.equal(ask("PolyscopeVersion"), "URSoftware 3.15.8.106339 (Jun 20 2022)");
  t.equal(ask("get robot model"), "UR5");
  t.equal(ask("restart safety"), "Restarting safety");
  t.equal(ask("saveLog"), "Log saved to disk");
  for (const foreign of ["safetystatus", "is in remote control", "get operational mode"]) {
    t.equal(ask(foreign), unknown(foreign), "e-Series alone");
  }
  t.equal(ask("power on and on"), "Powering on", "words behind a command are no other command");
  t.equal(ask("powers"), unknown("powers"));
  t.end();
});

t.test("e-Series 5.11, in remote control and in local mode", (t) => {
  const ask = panelOf("ur5e-5.11");
  t.equal(ask("get robot model"), "UR5", "without its e");
  t.equal(ask("version"), "5.11.9.1010452");
  t.equal(ask("is in remote control"), "true");
  t.equal(ask("safetystatus"), "Safetystatus: NORMAL");
  t.equal(ask("get operational mode"), "NONE");
  t.match(ask("set operational mode manual"), /is set$/);
  t.equal(ask("get operational mode"), "MANUAL");
  t.match(ask("clear operational mode"), /^No longer controlling/);
  t.equal(ask("getUserRole"), unknown("getUserRole"), "taken away");
  const local = panelOf("ur5e-5.11", true);
  t.equal(local("is in remote control"), "false");
  for (const acting of [
    "power on",
    "brake release",
    "play",
    "stop",
    "unlock protective stop",
    "restart safety",
  ]) {
    t.equal(local(acting), `Failed to execute: ${acting}`);
  }
  t.equal(local("robotmode"), "Robotmode: RUNNING", "questions are answered");
  t.end();
});

t.test("clients that never end a line or a program are sent away, and the others stay served", async (t) => {
  const controller = new UrController({ ports: freePorts });
  await controller.start();
  t.teardown(() => controller.stop());
  for (const [port, flood] of [
    [controller.ports.dashboard, Buffer.alloc(1 << 17, 65)],
    [controller.ports.primary, Buffer.alloc((1 << 22) + 10, 32)],
    [controller.ports.secondary, Buffer.from(`def endless():\n${"  x = 1\n".repeat(600_000)}`)],
  ] as const) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined).resume();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(flood);
    await closed;
    t.pass("closed");
  }
  const other = connect(controller.ports.dashboard, "127.0.0.1");
  const [banner] = (await once(other, "data")) as [Buffer];
  t.match(banner.toString(), /^Connected/);
  other.destroy();
});

t.test("the greeting comes before every answer, also for a client that does not wait for it", async (t) => {
  const controller = new UrController({ ports: freePorts });
  await controller.start();
  t.teardown(() => controller.stop());
  const socket = connect(controller.ports.dashboard, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.write("get loaded program\n");
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.split("\n").length > 2) break;
  }
  t.match(text, /^Connected: Universal Robots Dashboard Server\nNo program loaded\n$/);
});

t.test("digital outputs show in the masterboard data of the primary stream", async (t) => {
  const controller = new UrController({ ports: freePorts });
  await controller.start();
  t.teardown(() => controller.stop());
  controller.runScript(
    "sec outputs():\n  set_standard_digital_out(2, True)\n  set_configurable_digital_out(1, True)\nend\n",
  );
  const socket = connect(controller.ports.primary, "127.0.0.1");
  let stream: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk) => (stream = Buffer.concat([stream, chunk])));
  t.teardown(() => socket.destroy());
  const outputs = (): number | undefined => {
    let seen: number | undefined;
    for (
      let at = 0;
      at + 5 <= stream.length && at + stream.readInt32BE(at) <= stream.length;
      at += stream.readInt32BE(at)
    ) {
      if (stream[at + 4] !== 16) continue;
      const end = at + stream.readInt32BE(at);
      for (let sub = at + 5; sub < end; sub += stream.readUInt32BE(sub)) {
        if (stream[sub + 4] === 3) seen = stream.readUInt32BE(sub + 9);
      }
    }
    return seen;
  };
  for (let i = 0; outputs() !== 0b10_0000_0100 && i < 300; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(outputs(), 0b10_0000_0100);
});

t.test("programs of the disk: load, play, pause, stop; scripts from the network are none of them", (t) => {
  const model = new ControllerModel(
    readFirmware(path.join(projectRoot, "firmware-profiles", "ur5-cb3-3.15.yaml")),
    { bootS: 0, powerOnS: 0, brakeReleaseS: 0, unlockWaitS: 5 },
    [0, -1.6, 1.9, -1.9, -1.57, 0],
    {
      say: () => undefined,
      openSocket: () => {
        throw new Error("no socket is opened here");
      },
    },
    new ProgramDisk({ "swing.urp": "def swing():\n  movej([0.6,-1.6,1.9,-1.9,-1.57,0], a=1, v=0.3)\nend\n" }),
  );
  const steps = (count: number): void => {
    for (let i = 0; i < count; i++) model.step();
  };
  const panel: Panel = { userRole: "PROGRAMMER", operationalMode: undefined, local: false };
  const ask = (line: string): string => {
    const running = model.runtimeState === runtimeState.PLAYING;
    return answerDashboard(line, model, { ...spoken, program: model.panelState, running }, panel);
  };
  t.equal(ask("load swing.urp"), "Loading program: /programs/swing.urp");
  t.equal(ask("get loaded program"), "Loaded program: /programs/swing.urp");
  t.equal(ask("isProgramSaved"), "true swing.urp");
  t.equal(ask("play"), "Failed to execute: play", "the arm is not powered");
  steps(3);
  model.releaseBrakes();
  steps(10);
  t.equal(ask("programState"), "STOPPED swing.urp");
  t.equal(ask("pause"), "Failed to execute: pause");
  t.equal(ask("play"), "Starting program");
  steps(60);
  t.equal(ask("programState"), "PLAYING swing.urp");
  t.equal(ask("running"), "Program running: true");
  t.ok((model.arm.qd[0] ?? 0) > 0.25);
  t.equal(ask("pause"), "Pausing program");
  steps(60);
  const held = model.arm.q;
  t.equal(model.runtimeState, runtimeState.PAUSED);
  t.equal(ask("programState"), "PAUSED swing.urp");
  steps(60);
  t.same(model.arm.q, held, "it stands on its path");
  t.ok((held[0] ?? 0) > 0.05 && (held[0] ?? 0) < 0.4);
  t.equal(ask("play"), "Starting program");
  steps(250);
  t.equal(model.arm.q[0], 0.6, "and goes on to its end");
  t.equal(ask("programState"), "STOPPED swing.urp");
  model.runScript("def other():\n  sleep(1)\nend");
  steps(2);
  t.equal(ask("programState"), "STOPPED swing.urp", "the panel does not know of it");
  t.equal(ask("running"), "Program running: true");
  t.equal(ask("load wait_program.urp"), "Loading program: /programs/wait_program.urp");
  t.equal(ask("play"), "Starting program");
  steps(10);
  t.equal(ask("stop"), "Stopped");
  steps(2);
  t.equal(ask("programState"), "STOPPED wait_program.urp");
  t.end();
});
