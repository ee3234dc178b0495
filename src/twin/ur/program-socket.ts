/** A TCP connection that a program on the controller opens to a computer. */
import { connect } from "node:net";
import type { ScriptSocket } from "./script/services.js";

/** Unread bytes beyond which the program's connection is closed: it would never catch up. */
const receiveLimit = 1 << 20;

export function openProgramSocket(host: string, port: number): ScriptSocket {
  const socket = connect({ host, port, noDelay: true });
  let state: ScriptSocket["state"] = "connecting";
  let received: Buffer = Buffer.alloc(0);
  socket.on("connect", () => {
    state = "open";
  });
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    if (received.length > receiveLimit) socket.destroy();
  });
  const closed = (): void => {
    state = "closed";
    socket.destroy();
  };
  socket.on("end", closed);
  socket.on("error", closed);
  socket.on("close", closed);
  return {
    get state() {
      return state;
    },
    get available() {
      return received.length;
    },
    peek: () => received,
    take(count) {
      const taken = received.subarray(0, count);
      received = received.subarray(count);
      return taken;
    },
    write(bytes) {
      if (state !== "open") return false;
      socket.write(bytes);
      return true;
    },
    close() {
      state = "closed";
      socket.end();
    },
  };
}
