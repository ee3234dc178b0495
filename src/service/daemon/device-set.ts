/** Opens and closes the devices of a cell as its configuration and profiles name them. One place knows the families. */
import type { CellFile } from "../../base/cell-file.js";
import type { Config } from "../../base/config.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { CellDevices } from "../../cell/devices.js";
import { Guardian, type GuardedLink } from "../../cell/guardian/guardian.js";
import { loadAxes } from "../../cell/kohzu/axis-config.js";
import { kohzuAddress, type KohzuAddress } from "../../cell/kohzu/kohzu-address.js";
import { KohzuController } from "../../cell/kohzu/kohzu-controller.js";
import { KohzuStages } from "../../cell/kohzu/kohzu-stages.js";
import { Microscope } from "../../cell/microscope/microscope.js";
import { NeedleDrive } from "../../cell/needle/needle-drive.js";
import { loadProfile, type StageControllerProfile } from "../../cell/profile.js";
import type { DhParameters } from "../../cell/ur/kinematics.js";
import { readUrProfile, type UrProfile } from "../../cell/ur/profile.js";
import { UrArm } from "../../cell/ur/ur-arm.js";
import { UrRobot } from "../../cell/ur/ur-robot.js";
import type { DeviceStatus } from "../command/protocol.js";
import type { FaultSignals, Signal } from "../../agent/safety/fault-rules.js";
import type { Logger } from "./logger.js";

export interface DeviceSetOptions {
  readonly config: Config;
  readonly cellFile: CellFile;
  readonly log: Logger;
  /** Where the guardian writes what it did. */
  readonly guardianLog: string;
}

/** Silence after which the arm stops by itself: several keep-alives, and a busy moment of this machine. */
const armTimeoutS = 0.25;

export class DeviceSet implements CellDevices {
  private constructor(
    readonly arm: UrArm,
    readonly stages: KohzuStages,
    readonly needle: NeedleDrive,
    readonly microscopes: readonly [Microscope, Microscope],
    readonly guardian: Guardian,
    readonly urProfile: UrProfile,
    private readonly controller: KohzuController,
    private readonly guarded: () => readonly GuardedLink[],
    /** A serial line that the guardian shares went down and will be opened anew. */
    private readonly lineIsClosed: () => boolean,
  ) {}

  /** Makes the drivers from configuration and profiles; opens nothing. @throws CellError PROFILE_INVALID, CONFIG_INVALID */
  static async make(options: DeviceSetOptions): Promise<DeviceSet> {
    const { config, cellFile, log, guardianLog } = options;
    const { arm, stages, needle, microscopes, guardian } = config.devices;
    const urProfile = readUrProfile(arm.profile);
    const robot = new UrRobot({
      host: arm.host,
      ports: {
        rtde: arm.rtdePort,
        dashboard: arm.dashboardPort,
        primary: arm.primaryPort,
        modbus: arm.modbusPort,
      },
      reverse: { host: arm.callbackHost },
      profile: urProfile,
      readTimeoutS: armTimeoutS,
      log,
    });
    const stageProfile = await loadProfile(stages.profile, "stage-controller");
    const address = kohzuAddress(stages, stageProfile.baudRate.value);
    const controller = new KohzuController({
      name: "stages",
      address,
      profile: stageProfile,
      axes: await loadAxes(cellFile.stages),
    });
    const needleProfile = await loadProfile(needle.profile, "needle-drive");
    if ((needle.driver === "modbus") !== (needleProfile.dialect === "modbus-rtu"))
      throw new CellError(
        "CONFIG_INVALID",
        `devices.needle: driver ${needle.driver} with profile ${needleProfile.name}, which speaks ${needleProfile.dialect}`,
      );
    const drive = new NeedleDrive({
      name: "needle",
      path: needle.path,
      baudRate: needle.baud,
      profile: needleProfile,
    });
    drive.onState = ({ fault }) => {
      if (fault) log.error({ device: "needle", code: fault.code, why: fault.message }, "device fault");
    };
    controller.onState = ({ fault }) => {
      if (fault) log.error({ device: "stages", code: fault.code, why: fault.message }, "device fault");
    };
    const views = await Promise.all(
      microscopes.map(
        async (entry) =>
          new Microscope({
            name: entry.name,
            profile: await loadProfile(entry.profile, "microscope"),
            address: entry.address,
            ...(entry.serial === undefined ? {} : { serial: entry.serial }),
            frameRate: entry.frameRate,
            packetSize: entry.packetSize,
            silenceLimitS: config.loop.frameMaxAgeS,
          }),
      ),
    );
    const [first, second] = views;
    if (first === undefined || second === undefined)
      throw new CellError("CONFIG_INVALID", "a cell has two microscopes");
    const links = (): readonly GuardedLink[] => {
      const stageLink = guardedStages(address, stageProfile.dialect, controller);
      const descriptor = descriptorOf(drive.serialDescriptor, "needle");
      const needleLink: GuardedLink =
        needleProfile.dialect === "modbus-rtu"
          ? { kind: "needle-modbus", descriptor, unit: needleProfile.unit }
          : {
              kind: "needle-serial",
              descriptor,
              device: needleProfile.deviceAddress,
              axis: needleProfile.axisNumber,
            };
      return [stageLink, needleLink];
    };
    return new DeviceSet(
      new UrArm(robot),
      new KohzuStages(controller),
      drive,
      [first, second],
      new Guardian({
        logPath: guardianLog,
        silenceS: guardian.silenceMs / 1e3,
        periodS: guardian.heartbeatMs / 1e3,
        eventLoopLimitS: guardian.eventLoopMs / 1e3,
      }),
      urProfile,
      controller,
      links,
      () =>
        drive.serialDescriptor === undefined ||
        (address.transport !== "tcp" && controller.sharedDescriptor === undefined),
    );
  }

  /**
   * Opens every link and starts the guardian. A camera that is offline is a condition of the cell, not an obstacle; every
   * other missing device is one. @throws CellError naming the device
   */
  async connect(signal: AbortSignal, log: Logger): Promise<void> {
    await named("arm", this.arm.robot.connect(signal));
    await named("stages", this.controller.connect(signal));
    await named("needle", this.needle.connect(signal));
    for (const microscope of this.microscopes) {
      try {
        await microscope.connect(signal);
        await microscope.activate(signal);
      } catch (error) {
        const known = asCellError(error);
        if (known.code === "DEVICE_WRONG_MODEL" || known.code === "LINK_ABORTED") throw known;
        log.warn({ camera: microscope.name, why: known.message }, "camera offline");
      }
    }
    await this.guardian.start(this.guarded(), signal);
  }

  /** Allows motion; moves nothing. */
  async activate(signal: AbortSignal): Promise<void> {
    await this.arm.robot.activate(signal);
    await this.controller.activate(signal);
    await this.needle.activate(signal);
  }

  /** After a person's reset: clears what the devices latched, where its cause is gone, and lets the guardian watch again. */
  async reset(signal: AbortSignal): Promise<void> {
    const drives = async (): Promise<readonly GuardedLink[]> => {
      await this.controller.reset(signal);
      await this.needle.reset(signal);
      return this.guarded();
    };
    if (this.guardian.status().pid === undefined || this.lineIsClosed())
      await this.guardian.renew(drives, signal);
    else {
      await this.guardian.rearm(signal);
      await drives();
    }
    const state = this.arm.robot.state();
    if (state.protectiveStopped) await this.arm.robot.recoverProtectiveStop(signal);
    else if (state.lifecycle !== "active") await this.arm.robot.reset(signal);
    await this.activate(signal);
  }

  /** Immediate and unconditional on every link. */
  stop(): void {
    this.arm.stop();
    this.stages.stop();
    this.needle.stop();
  }

  /** Of the arm: with its own calibration once connected. */
  get geometry(): DhParameters {
    return this.arm.robot.geometry;
  }

  /** Serial numbers of the devices that tell one and are online, by their name. */
  serials(): ReadonlyMap<string, string> {
    return new Map(
      this.microscopes.flatMap(({ name, identity }): [string, string][] =>
        identity === undefined ? [] : [[name, identity.serial]],
      ),
    );
  }

  status(): DeviceStatus[] {
    const arm = this.arm.robot.state();
    const entry = (
      name: string,
      status: {
        readonly current: DeviceStatus["current"];
        readonly desired: DeviceStatus["desired"];
        readonly fault?: CellError | undefined;
      },
      detail: string,
    ): DeviceStatus => ({
      name,
      current: status.current,
      desired: status.desired,
      detail: status.fault === undefined ? detail : status.fault.message,
    });
    return [
      entry(
        "arm",
        { current: arm.lifecycle, desired: arm.desired, fault: arm.fault },
        `${this.urProfile.model} ${arm.robotMode}, ${arm.safetyMode}`,
      ),
      entry("stages", this.controller.status, "KOHZU controller"),
      entry("needle", this.needle.status, "needle drive"),
      ...this.microscopes.map((microscope) =>
        entry(
          microscope.name,
          microscope.status,
          microscope.online() ? (microscope.identity?.model ?? "camera") : "offline",
        ),
      ),
    ];
  }

  /** What the arbiter of faults looks at of devices and guardian, from what is known. */
  signals(): Pick<
    FaultSignals,
    | "armAgeS"
    | "armFault"
    | "emergencyStop"
    | "protectiveStop"
    | "stagesReady"
    | "needleReady"
    | "guardianWatches"
    | "camerasSilent"
  > {
    const arm = this.arm.robot.state();
    const ready = (current: DeviceStatus["current"]): boolean =>
      current === "active" || current === "inactive";
    const told = arm.connected && arm.ageS < 1;
    return {
      armAgeS: arm.connected ? arm.ageS : "unknown",
      armFault: arm.lifecycle === "fault",
      emergencyStop: told ? arm.emergencyStopped : "unknown",
      protectiveStop: told ? arm.protectiveStopped : "unknown",
      stagesReady: ready(this.controller.status.current),
      needleReady: ready(this.needle.status.current),
      guardianWatches: this.guardian.alive,
      camerasSilent: this.microscopes.filter((microscope) => !microscope.online()).length,
    };
  }

  /** What a device itself says about a fault of it. */
  faultDetail(signal: Signal): string {
    const arm = this.arm.robot.state();
    switch (signal) {
      case "armAgeS":
        return arm.connected ? `the last is ${arm.ageS.toFixed(2)} s old` : "no connection";
      case "armFault":
        return arm.fault?.message ?? arm.lifecycle;
      case "stagesReady":
        return this.controller.status.fault?.message ?? this.controller.status.current;
      case "needleReady":
        return this.needle.status.fault?.message ?? this.needle.status.current;
      case "guardianWatches":
        return this.guardian.status().reason;
      case "camerasSilent":
        return this.microscopes
          .filter((microscope) => !microscope.online())
          .map(({ name }) => name)
          .join(", ");
      default:
        return "";
    }
  }

  async close(): Promise<void> {
    this.stop();
    await Promise.allSettled(this.microscopes.map((microscope) => microscope.close()));
    await Promise.allSettled([this.arm.robot.close(), this.controller.close(), this.needle.close()]);
    await this.guardian.stop().catch(() => undefined);
  }
}

/** Links name their address; whoever reads the error knows the device by the key of the configuration. */
async function named(device: string, connecting: Promise<void>): Promise<void> {
  try {
    await connecting;
  } catch (error) {
    const known = asCellError(error);
    if (known.detail.startsWith(`${device}:`)) throw known;
    const { code, detail, remedy } = known;
    throw new CellError(code, `${device}: ${detail}`, { cause: error, remedy });
  }
}

/** What the guardian stops the stages by. */
function guardedStages(
  address: KohzuAddress,
  dialect: StageControllerProfile["dialect"],
  controller: KohzuController,
): GuardedLink {
  if (address.transport === "tcp") return { kind: "aries-tcp", host: address.host, port: address.port };
  const descriptor = descriptorOf(controller.sharedDescriptor, "stages");
  if (dialect === "sc") return { kind: "sc-serial", descriptor, axes: controller.axisNumbers };
  return { kind: address.transport === "serial" ? "aries-serial" : "aries-connection", descriptor };
}

function descriptorOf(descriptor: number | undefined, name: string): number {
  if (descriptor === undefined) throw new CellError("SAFETY_NO_GUARDIAN", `the line of ${name} is not open`);
  return descriptor;
}
