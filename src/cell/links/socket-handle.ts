/**
 * What lies under a socket of Node: its descriptor, and whether the event loop reads it. Neither is part of the public
 * interface, and there is no other way to share a connection with a process or a thread of our own.
 */
import type { Socket } from "node:net";

interface Handle {
  readonly fd?: number;
  readStart?(): void;
  readStop?(): void;
}

const handleOf = (socket: Socket): Handle | null | undefined =>
  (socket as unknown as { readonly _handle?: Handle | null })._handle;

/** Undefined when the socket is not open. */
export function descriptorOf(socket: Socket): number | undefined {
  const fd = handleOf(socket)?.fd;
  return fd === undefined || fd < 0 ? undefined : fd;
}

/** With `on` false what arrives stays in the kernel for another reader of the descriptor. */
export function setReading(socket: Socket, on: boolean): void {
  const handle = handleOf(socket);
  if (on) handle?.readStart?.();
  else handle?.readStop?.();
}
