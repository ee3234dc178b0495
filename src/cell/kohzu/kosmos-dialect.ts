/** ARIES with LYNX units, and CRUX: four parameters to a drive, speed tables, settings by number, ROG. */
import { CellError } from "../../base/errors.js";
import type { RequestOptions } from "../links/request-link.js";
import type { KohzuAxis } from "./axis-config.js";
import { describeCode } from "./codec/codes.js";
import { integerField, ResponseMethod } from "./codec/framing.js";
import { decodeSpeedTable, type SpeedTable } from "./codec/speed-table.js";
import { decodeStatus, type AxisStatus, type StatusLayout } from "./codec/status.js";
import type { StageCommand } from "./kohzu-link.js";
import { requireIdentity, requireSpeed, type DialectContext, type StageDialect } from "./stage-dialect.js";

/** System settings by number (manual pages 113 to 122). */
const originMethodSetting = 2;
const backlashSetting = 12;

export class KosmosDialect implements StageDialect {
  readonly family = "aries";
  private readonly layout: StatusLayout;
  /** Speed tables as the controller holds them, by axis and number. */
  private readonly tables = new Map<string, SpeedTable>();

  constructor(private readonly context: DialectContext) {
    this.layout = context.profile.statusLayout ?? "aries";
  }

  async identify(axes: readonly KohzuAxis[], signal?: AbortSignal): Promise<void> {
    const { name, link, profile } = this.context;
    this.tables.clear();
    const reply = await link.request("IDN", [], { signal });
    const found = reply.data[0] ?? "nothing";
    if (profile.dialect === "crux") {
      // One number: the version times 1000.
      const version = integerField(reply, 1);
      requireIdentity(this.context, found, [Math.floor(version / 1000), Math.floor((version % 1000) / 100)]);
      return;
    }
    requireIdentity(
      this.context,
      found,
      profile.identity.includes(found) ? [1, 2, 3].map((field) => integerField(reply, field)) : [],
    );
    const map = await link.request("RAX", [], { signal });
    const present = map.data.slice(2).join("");
    for (const { number } of axes)
      if (present[number - 1] !== "1")
        throw new CellError("DEVICE_MISSING", `${name}: axis ${number} does not exist on this controller`);
  }

  async readSetup(axis: KohzuAxis, signal?: AbortSignal): Promise<void> {
    const { name } = this.context;
    const backlash = await this.setting(axis.number, backlashSetting, signal);
    if (backlash !== 0)
      throw new CellError(
        "CONFIG_INVALID",
        `${name}: axis ${axis.number} corrects backlash itself (setting 12 is ${backlash})`,
        { remedy: "set it to 0: backlash has one owner, and that is the driver's one-sided approach" },
      );
    for (const n of new Set([axis.moveTable, axis.originTable])) await this.speed(axis, n, { signal });
  }

  async speed(axis: KohzuAxis, n: number, options: RequestOptions): Promise<SpeedTable> {
    const key = `${axis.number}/${n}`;
    const known = this.tables.get(key);
    if (known !== undefined) return known;
    const { signal } = options;
    const table = decodeSpeedTable(await this.context.link.request("RTB", [axis.number, n], { signal }));
    requireSpeed(this.context, axis, n, table);
    this.tables.set(key, table);
    return table;
  }

  async status(axis: number, signal?: AbortSignal): Promise<AxisStatus> {
    return decodeStatus(await this.context.link.request("STR", [axis], { signal }), this.layout);
  }

  async position(axis: number, signal?: AbortSignal): Promise<number> {
    return integerField(await this.context.link.request("RDP", [axis], { signal }), 0);
  }

  async homed(axis: number, signal?: AbortSignal): Promise<boolean> {
    return integerField(await this.context.link.request("ROG", [axis], { signal }), 0) === 1;
  }

  async drive(axis: KohzuAxis, table: number, target: number, options: RequestOptions): Promise<void> {
    const parameters = [axis.number, table, target, ResponseMethod.quick];
    const reply = await this.context.link.request("APS", parameters, options);
    if (reply.kind === "W")
      throw new CellError(
        "DEVICE_LIMIT",
        `${this.context.name}: APS${parameters.join("/")}: ${describeCode(integerField(reply, 0))}`,
      );
  }

  async searchOrigin(axis: KohzuAxis, options: RequestOptions): Promise<void> {
    await this.writeSetting(axis.number, originMethodSetting, axis.originMethod, options);
    await this.context.link.request("ORG", [axis.number, axis.originTable, ResponseMethod.quick], options);
  }

  originFound(): void {
    // The controller knows by itself (ROG).
  }

  stopCommands(): readonly StageCommand[] {
    return [{ name: "STP", parameters: [0, 1] }];
  }

  async release(signal?: AbortSignal): Promise<void> {
    await this.context.link.request("REM", [], { signal });
    if (this.context.profile.dialect === "aries") await this.context.link.request("RAX", [], { signal });
  }

  private async setting(axis: number, number: number, signal: AbortSignal | undefined): Promise<number> {
    return integerField(await this.context.link.request("RSY", [axis, number], { signal }), 1);
  }

  private async writeSetting(
    axis: number,
    number: number,
    value: number,
    options: RequestOptions,
  ): Promise<void> {
    if ((await this.setting(axis, number, options.signal)) === value) return;
    await this.context.link.request("WSY", [axis, number, value], options);
    // A setting may be acknowledged and yet not applied.
    const found = await this.setting(axis, number, options.signal);
    if (found !== value)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.context.name}: axis ${axis} setting ${number} was set to ${value} and reads ${found}`,
      );
  }
}
