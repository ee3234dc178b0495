/** Which transcripts a device of a configuration is checked with, and over which link. */
import type { Config } from "../../base/config.js";
import type { ByteLink } from "../../cell/links/byte-link.js";
import { kohzuAddress, linkTo } from "../../cell/kohzu/kohzu-address.js";
import { SerialLink } from "../../cell/links/serial-link.js";
import { TcpLink } from "../../cell/links/tcp-link.js";
import { loadProfile } from "../../cell/profile.js";

export const checkable = ["arm", "stages", "needle"] as const;
export type Checkable = (typeof checkable)[number];

export interface PlannedCheck {
  readonly transcript: string;
  readonly transport: "serial" | "tcp";
  readonly link: ByteLink;
}

export const serialCheck = (transcript: string, path: string, baudRate: number): PlannedCheck => ({
  transcript,
  transport: "serial",
  link: new SerialLink({ path, baudRate }),
});

export const tcpCheck = (transcript: string, host: string, port: number): PlannedCheck => ({
  transcript,
  transport: "tcp",
  link: new TcpLink({ host, port }),
});

/** Opens nothing. @throws CellError PROFILE_INVALID */
export async function planCheck(device: Checkable, config: Config): Promise<PlannedCheck[]> {
  const { arm, stages, needle } = config.devices;
  switch (device) {
    case "arm":
      return [
        tcpCheck("ur-dashboard", arm.host, arm.dashboardPort),
        tcpCheck("ur-rtde", arm.host, arm.rtdePort),
        tcpCheck("ur-primary", arm.host, arm.primaryPort),
        tcpCheck("ur-primary", arm.host, arm.secondaryPort),
        tcpCheck("ur-realtime", arm.host, arm.realtimePort),
        ...(arm.modbusPort === undefined ? [] : [tcpCheck("ur-modbus", arm.host, arm.modbusPort)]),
      ];
    case "stages": {
      const { dialect, baudRate } = await loadProfile(stages.profile, "stage-controller");
      const address = kohzuAddress(stages, baudRate.value);
      const transport = address.transport === "serial" ? "serial" : "tcp";
      return [{ transcript: `kohzu-${dialect}`, transport, link: linkTo(address) }];
    }
    case "needle": {
      const { dialect } = await loadProfile(needle.profile, "needle-drive");
      return [serialCheck(`needle-${dialect}`, needle.path, needle.baud)];
    }
  }
}
