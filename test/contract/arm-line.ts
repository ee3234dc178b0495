/**
 * Stands between the arm's driver and its controller and does something to the nth exchange on any of their links: replies
 * and messages of RTDE, lines of the dashboard, messages of the primary stream, and the programs that the driver sends.
 * What streams by itself (RTDE data, states) passes untouched and is not counted.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { LineFramer } from "../../src/cell/ur/codec/dashboard.js";
import { encodePacket, PrimaryFramer, primaryType } from "../../src/cell/ur/codec/primary.js";
import { encodeFrame, RtdeFramer, rtdePackage } from "../../src/cell/ur/codec/rtde.js";
import type { UrRobotOptions } from "../../src/cell/ur/ur-types.js";
import type { ReplyFault } from "../../src/twin/wire-faults.js";
import type { ContractLine } from "./contract.js";

interface Unit {
  readonly bytes: Buffer;
  readonly counts: boolean;
}
/** Cuts what the controller says into units. */
type Cut = (chunk: Buffer) => Unit[];

const cutters: Readonly<Record<"rtde" | "dashboard" | "primary", () => Cut>> = {
  rtde() {
    const framer = new RtdeFramer();
    return (chunk) =>
      framer.push(chunk).map(({ type, payload }) => ({
        bytes: encodeFrame(type, payload),
        counts: type !== rtdePackage.DATA,
      }));
  },
  dashboard() {
    const framer = new LineFramer();
    return (chunk) =>
      framer.push(chunk).map((line) => ({ bytes: Buffer.from(`${line}\n`, "latin1"), counts: true }));
  },
  primary() {
    const framer = new PrimaryFramer();
    return (chunk) =>
      framer.push(chunk).map(({ type, body }) => ({
        bytes: encodePacket(type, body),
        counts: type === primaryType.ROBOT_MESSAGE,
      }));
  },
};

export class ArmLine implements ContractLine {
  private readonly servers: Server[] = [];
  private readonly sockets = new Set<Socket>();
  private exchanges = 0;
  private planned: { readonly at: number; readonly fault: ReplyFault } | undefined;
  private met = 0;

  count(): number {
    return this.exchanges;
  }
  /** Faults that have happened. */
  get happened(): number {
    return this.met;
  }
  plan(fault: ReplyFault, nth: number): void {
    this.planned = { at: this.exchanges + nth, fault };
  }
  clear(): void {
    this.planned = undefined;
  }

  /** Stands in front of these ports of a controller. @returns those for the driver */
  async between(ports: UrRobotOptions["ports"]): Promise<UrRobotOptions["ports"]> {
    return {
      ...ports,
      rtde: await this.open("rtde", ports.rtde),
      dashboard: await this.open("dashboard", ports.dashboard),
      primary: await this.open("primary", ports.primary),
    };
  }

  private async open(kind: "rtde" | "dashboard" | "primary", port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: "127.0.0.1", port, noDelay: true });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(one);
        one.on("error", () => one.destroy());
        one.on("close", () => {
          this.sockets.delete(one);
          other.destroy();
        });
      }
      const cut = cutters[kind]();
      far.on("data", (chunk) => {
        for (const { bytes, counts } of cut(chunk)) {
          if (counts) this.pass(bytes, near);
          else near.write(bytes);
        }
      });
      // The driver writes a program in one piece.
      near.on("data", (chunk) => {
        if (kind === "primary") this.pass(chunk, far);
        else far.write(chunk);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.servers.push(server);
    const address = server.address();
    return address !== null && typeof address === "object" ? address.port : 0;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  private pass(bytes: Buffer, to: Socket): void {
    this.exchanges++;
    if (this.planned?.at !== this.exchanges) {
      to.write(bytes);
      return;
    }
    const { fault } = this.planned;
    this.planned = undefined;
    this.met++;
    if (fault.kind === "lost") return;
    if (fault.kind === "garbage-before") to.write(fault.bytes);
    if (fault.kind === "repeated") to.write(bytes);
    if (fault.kind === "cut") {
      // TCP loses nothing in the middle: what is cut is the end of the connection.
      to.write(bytes.subarray(0, fault.count), () => to.resetAndDestroy());
      return;
    }
    to.write(bytes);
  }
}
