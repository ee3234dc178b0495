/** The device families that keep the contract, each with its driver and its emulated device on a real link. */
import { monotonicNow } from "../../src/base/clock.js";
import { loadAxes } from "../../src/cell/kohzu/axis-config.js";
import type { KohzuAddress } from "../../src/cell/kohzu/kohzu-address.js";
import { KohzuController } from "../../src/cell/kohzu/kohzu-controller.js";
import type { MicroscopeOptions } from "../../src/cell/microscope/camera-options.js";
import { Microscope } from "../../src/cell/microscope/microscope.js";
import { loadProfile } from "../../src/cell/profile.js";
import type { UrPorts } from "../../src/twin/ur/ur-controller.js";
import type { WireFaults } from "../../src/twin/wire-faults.js";
import { xa04aR102 } from "../../src/twin/kohzu/stage-models.js";
import { rig as kohzuRig } from "../cell/kohzu/rig.js";
import { GigePeer } from "../cell/microscope/gige-peer.js";
import { CameraPeer, cameraProgram } from "../cell/microscope/camera-peer.js";
import { quick, rig as needleRig, slow, type Dialect } from "../cell/needle/rig.js";
import { rig as urRig, startQ } from "../cell/ur/rig.js";
import { ArmLine } from "./arm-line.js";
import { replyFaults, type ContractLine, type ContractRig, type Family } from "./contract.js";

const lineOf = (faults: WireFaults): ContractLine => ({
  count: () => faults.count,
  plan(fault, nth) {
    if (fault.kind === "refused") throw new RangeError("an emulator refuses nothing on demand");
    faults.plan(fault, nth);
  },
  clear: () => faults.clear(),
});

const needle = (dialect: Dialect): Family => ({
  name: `needle drive, ${dialect}`,
  async make({ replyTimeoutS } = {}) {
    const { driver, emulator, port, end } = await needleRig(dialect, {
      activate: false,
      ...(replyTimeoutS === undefined ? {} : { replyTimeoutS }),
    });
    let target = 0;
    return {
      name: "needle",
      driver: {
        status: () => driver.status,
        connect: (signal) => driver.connect(signal),
        activate: (signal) => driver.activate(signal),
        deactivate: () => driver.deactivate(),
        reset: (signal) => driver.reset(signal),
        close: () => driver.close(),
        // Out and back, so that each has somewhere to go.
        move: (signal) => driver.moveTo(emulator.positionM() > 3e-3 ? 0 : 6e-3, slow, signal),
        moveBriefly: (signal) => driver.moveTo((target = target === 1e-4 ? 0 : 1e-4), quick, signal),
        stop: () => driver.halt("estop"),
        read: () => driver.read(),
        counters: () => driver.counters,
      },
      twin: {
        moving: () => emulator.isMoving(),
        position: () => emulator.positionM(),
        unplug: () => port.close(),
        plugIn: () => port.open(),
      },
      line: lineOf(emulator.faults),
      end,
    };
  },
});

const kohzu = (
  name: string,
  profileName: string,
  transport: KohzuAddress["transport"],
  dialect: "aries" | "crux" | "sc",
): Family => ({
  name,
  async make({ replyTimeoutS, brisk = false } = {}) {
    // An SC controller does not tell whether an origin was found: the driver searches it in every session.
    const knowsOrigin = dialect !== "sc";
    const axes = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);
    const made = await kohzuRig({
      profile: profileName,
      transport,
      axes,
      emulator: {
        dialect,
        speedFactor: brisk ? 30 : knowsOrigin ? 1 : 4,
        axes: [{ model: xa04aR102, homed: true }],
      },
    });
    const { emulator } = made;
    await made.driver.close();
    const profile = await loadProfile(profileName, "stage-controller");
    const driver = new KohzuController({
      name: "stages",
      address: made.address,
      axes,
      ...(brisk ? { pollS: 0.05 } : {}),
      profile:
        replyTimeoutS === undefined
          ? profile
          : { ...profile, replyTimeout: { ...profile.replyTimeout, value: replyTimeoutS } },
    });
    let target = 0;
    return {
      name: "stages",
      driver: {
        status: () => driver.status,
        connect: (signal) => driver.connect(signal),
        async activate(signal) {
          await driver.activate(signal);
          if (driver.lastReading(1)?.homed !== true) await driver.home(1, { signal });
        },
        deactivate: () => driver.deactivate(),
        reset: (signal) => driver.reset(signal),
        close: () => driver.close(),
        move: (signal) => driver.moveAbsolute(1, emulator.truePosition(1) > 1e-3 ? -4000 : 4000, { signal }),
        moveBriefly: (signal) => driver.moveAbsolute(1, (target = target === 20 ? 0 : 20), { signal }),
        stop: () => driver.stop(),
        read: () => driver.readAxis(1),
        counters: () => driver.counters,
      },
      twin: {
        moving: () => emulator.isMoving(1),
        position: () => emulator.truePosition(1),
        unplug: () => made.unplug(),
        plugIn: () => made.plugIn(),
      },
      line: lineOf(emulator.faults),
      async end() {
        await driver.close();
        await made.end();
      },
    };
  },
});

export const needles: readonly Family[] = [needle("zaber-ascii"), needle("modbus-rtu")];

/** The family that does not tell whether an origin was found. */
export const scSeries = "SC series";

export const stages: readonly Family[] = [
  kohzu("ARIES over TCP", "kohzu-aries", "tcp", "aries"),
  kohzu("ARIES over a serial line", "kohzu-aries", "serial", "aries"),
  kohzu("CRUX", "kohzu-crux", "serial", "crux"),
  kohzu(scSeries, "kohzu-sc-410", "serial", "sc"),
];

/** An ARIES in its other roles: the same exchanges as in the host role, on another connection. */
export const stagesByRole: readonly Family[] = [
  kohzu("ARIES behind a Telnet login", "kohzu-aries", "telnet", "aries"),
  kohzu("ARIES that dials", "kohzu-aries", "dialled", "aries"),
];

/** Ports that stay the same when a controller is switched off and on. */
async function samePorts(profile: string): Promise<UrPorts> {
  const scout = await urRig({ profile });
  const { ports } = scout.controller;
  await scout.close();
  return ports;
}

/** @param throughLine with something between driver and controller that meddles with single exchanges */
const arm = (profile: string, throughLine: boolean): Family => ({
  name: profile,
  ...(throughLine ? { heals: true, atOnce: 6 } : {}),
  async make() {
    const line = new ArmLine();
    const { controller, robot, close } = throughLine
      ? await urRig({ profile, between: (ports) => line.between(ports) })
      : await urRig({ profile, controller: { ports: await samePorts(profile) } });
    let off = false;
    const away = startQ.map((value, i) => value + (i === 0 ? 1.2 : 0));
    const back = startQ;
    const q0 = (): number => controller.jointPositions(performance.now() / 1e3)[0] ?? 0;
    const pace = { speedRadS: 0.5, accelerationRadS2: 1.5 };
    return {
      name: "UR",
      driver: {
        status: () => {
          const { lifecycle, desired, fault } = robot.state();
          return { current: lifecycle, desired, fault };
        },
        connect: (signal) => robot.connect(signal),
        activate: (signal) => robot.activate(signal),
        deactivate: () => robot.deactivate(),
        reset: (signal) => robot.reset(signal),
        close: () => robot.close(),
        move: (signal) => robot.moveJoints(q0() > 0.6 ? back : away, pace, signal),
        moveBriefly: (signal) =>
          robot.moveJoints(
            startQ.map((value, i) => value + (i === 0 ? (q0() > 0.12 ? 0 : 0.05) : 0)),
            { speedRadS: 1, accelerationRadS2: 3 },
            signal,
          ),
        stop: () => robot.stop(),
        read: () => Promise.resolve(robot.state()),
      },
      twin: {
        moving: () => controller.fastestJoint > 1e-6,
        position: q0,
        async unplug() {
          if (controller.fastestJoint > 1e-6) controller.dropConnections();
          else {
            off = true;
            await controller.stop();
          }
        },
        async plugIn() {
          if (off) await controller.start();
          off = false;
        },
      },
      ...(throughLine ? { line } : {}),
      async end() {
        await close();
        await line.close();
      },
    };
  },
});

export const arms: readonly Family[] = ["ur5-cb3-3.15", "ur5-cb3-3.3"].map((profile) => arm(profile, false));
export const armsByLine: readonly Family[] = [arm("ur5-cb3-3.15", true)];

const cameraAddress = "127.0.0.1";

/** A camera that is ended and started again. */
interface CameraProcess {
  kill(): Promise<void>;
}

/** @param start a camera at its address */
async function microscopeRig<Peer extends CameraProcess>(
  options: Omit<MicroscopeOptions, "name">,
  start: () => Promise<Peer>,
  lineTo?: (peer: Peer) => ContractLine,
): Promise<ContractRig> {
  let peer: Peer | undefined = await start();
  const microscope = new Microscope({
    name: "view1",
    frameRate: 10,
    ringSize: 8,
    ...options,
  });
  const frame = async (): Promise<void> => {
    const lease = await microscope.nextFrame(monotonicNow(), 10);
    lease.release();
  };
  return {
    name: "view1",
    streams: true,
    driver: {
      status: () => microscope.status,
      connect: (signal) => microscope.connect(signal),
      activate: (signal) => microscope.activate(signal),
      reset: (signal) => microscope.reopen(signal),
      close: () => microscope.close(),
      move: async () => {
        for (;;) await frame();
      },
      moveBriefly: frame,
      stop: () => undefined,
      read: () => microscope.exposureUs(),
    },
    twin: {
      moving: () => microscope.online(),
      position: () => 0,
      async unplug() {
        await peer?.kill();
        peer = undefined;
      },
      async plugIn() {
        peer = await start();
      },
    },
    ...(lineTo === undefined ? {} : { line: lineTo(peer) }),
    async end() {
      await microscope.close();
      await peer?.kill();
    },
  };
}

export const microscopes: readonly Family[] = [
  {
    name: "microscope, a third party's GigE Vision camera",
    async make(): Promise<ContractRig> {
      const profile = await loadProfile("microscope-md65", "microscope");
      const program = cameraProgram();
      if (program === undefined)
        throw new Error("neither arv-fake-gv-camera-0.8 nor build/bin/fake-gv-camera is here");
      const options = { profile, address: cameraAddress, serial: "SIM01", packetSize: 16000 };
      return microscopeRig(options, async () => {
        const peer = await CameraPeer.start(program, cameraAddress, "SIM01");
        if (peer === undefined)
          throw new Error(`port 3956 of ${cameraAddress} stays taken by another camera`);
        return peer;
      });
    },
  },
];

/** The same with a camera whose acknowledgements can be meddled with, one by one. */
export const microscopesByLine: readonly Family[] = [
  {
    name: "microscope, the GigE Vision camera of the native tests",
    heals: true,
    faults: [...replyFaults, { kind: "refused" }],
    atMost: 22,
    async make(): Promise<ContractRig> {
      const profile = await loadProfile("microscope-md65-gige", "microscope");
      return microscopeRig(
        { profile, address: cameraAddress, serial: "PEER1", packetSize: 9000, frameRate: 5 },
        () => GigePeer.start(cameraAddress, "PEER1", 2048, 2048),
        (peer) => ({
          count: () => peer.answers(),
          plan: async ({ kind }, nth) => peer.tell(`answer ${kind} ${(await peer.answers()) + nth}`),
          clear: () => peer.tell("answer lost 0"),
        }),
      );
    },
  },
];
