/** The role of an ARIES on its network (manual pages 47 to 55). Written by WIP, in force after a power cycle. */
import { olderThan, type Firmware } from "./firmware.js";

export const networkRoles = ["host", "client", "telnet"] as const;
export type NetworkRole = (typeof networkRoles)[number];

export class NetworkSettings {
  private now: NetworkRole;
  /** Role, address, mask, port, as delivered but for the role. */
  private written: readonly string[];

  constructor(
    role: NetworkRole,
    private readonly firmware: Firmware,
  ) {
    this.now = role;
    this.written = [`${networkRoles.indexOf(role)}`, "192.168.1.120", "255.0.0.0", "12321"];
  }

  get role(): NetworkRole {
    return this.now;
  }

  get values(): readonly string[] {
    return this.written;
  }

  /** Whether this firmware has the role of this number. */
  knows(role: string): boolean {
    const found = networkRoles[Number(role)];
    return (
      /^\d$/.test(role) && found !== undefined && !(found === "telnet" && olderThan(this.firmware, [1, 4, 0]))
    );
  }

  write(values: readonly string[]): void {
    this.written = [...values];
  }

  powerCycle(): void {
    this.now = networkRoles[Number(this.written[0])] ?? "host";
  }
}
