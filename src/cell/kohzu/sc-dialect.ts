/**
 * The SC series (SC-200, 400, 800, 210, 410) on its serial line, written against public drivers: eight parameters to a
 * drive, one speed per axis (ASI, read back by RMS), and an STP for each axis that answers when it has stopped. It tells
 * nobody whether an axis is homed, so that this connection remembers what it has homed itself.
 */
import { CellError } from "../../base/errors.js";
import type { RequestOptions } from "../links/request-link.js";
import type { KohzuAxis } from "./axis-config.js";
import { integerField, ResponseMethod } from "./codec/framing.js";
import type { SpeedTable } from "./codec/speed-table.js";
import { decodeStatus, type AxisStatus } from "./codec/status.js";
import type { StageCommand } from "./kohzu-link.js";
import { requireIdentity, requireSpeed, type DialectContext, type StageDialect } from "./stage-dialect.js";

/** Trapezoid. */
const speedPattern = 2;
/** What all public programs ask ORG for: the near-origin edge. */
const originMethod = 3;
/** Warning 1: the target is the present position. */
const alreadyThere = 1;

/**
 * The SC has no speed tables. Profiles name those of the KOSMOS family, and this is what they hold as delivered
 * (ARIES/LYNX manual page 17).
 */
const tableSpeed = (n: number): SpeedTable => ({
  startPps: 500,
  topPps: (n + 1) * 1000,
  accelerationS: (16 + 4 * n) / 100,
  decelerationS: (16 + 4 * n) / 100,
  pattern: "trapezoid",
});

export class ScDialect implements StageDialect {
  readonly family = "sc";
  private readonly written = new Map<number, { readonly table: number; readonly speed: SpeedTable }>();
  private readonly found = new Set<number>();

  constructor(private readonly context: DialectContext) {}

  async identify(axes: readonly KohzuAxis[], signal?: AbortSignal): Promise<void> {
    const { name, link, profile } = this.context;
    this.written.clear();
    this.found.clear();
    const reply = await link.request("IDN", [], { signal });
    requireIdentity(this.context, reply.data[0] ?? "nothing", [integerField(reply, 1)]);
    for (const { number } of axes)
      if (number > profile.maxAxes.value)
        throw new CellError("DEVICE_MISSING", `${name}: axis ${number} does not exist on this controller`);
  }

  async readSetup(axis: KohzuAxis, signal?: AbortSignal): Promise<void> {
    await this.speed(axis, axis.moveTable, { signal });
  }

  /** Writes the speed of the axis, and reads back what the controller made of it. */
  async speed(axis: KohzuAxis, table: number, options: RequestOptions): Promise<SpeedTable> {
    const known = this.written.get(axis.number);
    if (known?.table === table) return known.speed;
    const { link, name } = this.context;
    const wanted = tableSpeed(table);
    requireSpeed(this.context, axis, table, wanted);
    const ramps = [wanted.accelerationS, wanted.decelerationS].map((time) => Math.round(time * 100));
    await link.request(
      "ASI",
      [axis.number, wanted.startPps, wanted.topPps, ...ramps, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      options,
    );
    const reply = await link.request("RMS", [axis.number], { signal: options.signal });
    const speed: SpeedTable = {
      startPps: integerField(reply, 0),
      topPps: integerField(reply, 1),
      accelerationS: integerField(reply, 13) / 100,
      decelerationS: integerField(reply, 14) / 100,
      pattern: "trapezoid",
    };
    if (!(speed.topPps > 0 && speed.topPps <= wanted.topPps))
      throw new CellError(
        "DEVICE_REFUSED",
        `${name}: axis ${axis.number}: speed was set to ${wanted.topPps} pps and reads ${speed.topPps}`,
      );
    this.written.set(axis.number, { table, speed });
    return speed;
  }

  async status(axis: number, signal?: AbortSignal): Promise<AxisStatus> {
    return decodeStatus(await this.context.link.request("STR", [1, axis], { signal }), "sc");
  }

  async position(axis: number, signal?: AbortSignal): Promise<number> {
    return integerField(await this.context.link.request("RDP", [axis, 0], { signal }), 0);
  }

  homed(axis: number): Promise<boolean> {
    return Promise.resolve(this.found.has(axis));
  }

  async drive(axis: KohzuAxis, table: number, target: number, options: RequestOptions): Promise<void> {
    await this.speed(axis, table, options);
    const parameters = [axis.number, speedPattern, 0, 0, target, 0, 0, ResponseMethod.quick];
    const reply = await this.context.link.request("APS", parameters, options);
    if (reply.kind === "W" && integerField(reply, 0) !== alreadyThere)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.context.name}: APS${parameters.join("/")}: warning ${reply.data.join(" ")}`,
      );
  }

  async searchOrigin(axis: KohzuAxis, options: RequestOptions): Promise<void> {
    await this.speed(axis, axis.originTable, options);
    this.found.delete(axis.number);
    await this.context.link.request(
      "ORG",
      [axis.number, speedPattern, 0, 0, originMethod, ResponseMethod.quick],
      options,
    );
  }

  originFound(axis: number): void {
    this.found.add(axis);
  }

  stopCommands(axes: readonly number[]): readonly StageCommand[] {
    return axes.map((axis) => ({ name: "STP", parameters: [axis, 1] }));
  }

  release(): Promise<void> {
    // It has no lock of its own.
    return Promise.resolve();
  }
}
