/** Where a stage controller is, and what link leads there. */
import type { ByteLink } from "../links/byte-link.js";
import { DialledLink } from "../links/dialled-link.js";
import { SerialLink } from "../links/serial-link.js";
import { TcpLink } from "../links/tcp-link.js";
import { TelnetLink } from "../links/telnet-link.js";

/** The roles of an ARIES on its network (manual pages 47 to 55): host, Telnet, and client, which dials this machine. */
export type KohzuAddress =
  | { readonly transport: "tcp"; readonly host: string; readonly port: number }
  | {
      readonly transport: "telnet";
      readonly host: string;
      readonly port: number;
      readonly password: string;
    }
  | {
      readonly transport: "dialled";
      readonly host: string;
      readonly port: number;
      /** How long to wait for the controller's call, s; long enough for any unless given. */
      readonly waitS?: number;
    }
  | { readonly transport: "serial"; readonly path: string; readonly baudRate: number };

/** The same as a configuration says it. */
export interface ConfiguredAddress {
  readonly transport: KohzuAddress["transport"];
  readonly host: string;
  readonly port: number;
  readonly password: string;
  readonly path?: string | undefined;
  readonly baud?: number | undefined;
}

/** @param profileBaudRate speed of a serial line unless the configuration gives one */
export function kohzuAddress(configured: ConfiguredAddress, profileBaudRate: number): KohzuAddress {
  const { transport, host, port, password, path = "", baud = profileBaudRate } = configured;
  switch (transport) {
    case "tcp":
    case "dialled":
      return { transport, host, port };
    case "telnet":
      return { transport, host, port, password };
    case "serial":
      return { transport, path, baudRate: baud };
  }
}

export function linkTo(address: KohzuAddress): ByteLink {
  switch (address.transport) {
    case "tcp":
      return new TcpLink(address);
    case "telnet":
      return new TelnetLink(address);
    case "dialled":
      return new DialledLink(address, address.waitS);
    case "serial":
      return new SerialLink(address);
  }
}
