/** What an RTDE server can do to its clients, each seen in reports of users or in the source of clients. */
import type { Socket } from "node:net";

export class RtdeQuirks {
  /** Version 2 is refused, as firmware before 3.4 does. */
  onlyVersion1 = false;
  /** Output fields that are answered with NOT_FOUND. */
  readonly notFound = new Set<string>();
  /** Inputs that another part of the controller has claimed (a field bus, say). */
  readonly claimed = new Set<string>();
  /** The answer to a start request comes as it should, twice, or so many seconds late. */
  startReply: "once" | "twice" | { readonly lateS: number } = "once";
  /** A data package leaves before the answer to the start request. */
  dataFirst = false;
  /** A text message greets every client, before it asks for anything. */
  messageFirst = false;
  /** Nothing leaves in a segment of more bytes than these. */
  segmentBytes = Infinity;
  /** The list of names of a recipe is cut after so many bytes, as old software did at 2048. */
  recipeBytes = Infinity;
  /** Fields of a recipe after so many are not found, as software is said to have done at 96. */
  recipeFields = Infinity;
  /** How long a client may leave its connection full before it is closed, s. */
  slowReaderS: number;
  /** Data packages wait until so many leave in one segment; 1 sends each at once. */
  bundle = 1;
  /** The next data package is cut in the middle and the connection reset. */
  cutNext = false;
  /** Nothing is sent; connections stay open. */
  paused = false;
  /** Added to every timestamp. */
  timeShiftS = 0;
  /** So many cycles are left out. */
  skip = 0;

  /** @param slowReaderS see there */
  constructor(slowReaderS: number) {
    this.slowReaderS = slowReaderS;
  }

  private readonly waiting = new WeakMap<Socket, Buffer[]>();

  /** One package on its way to a client. */
  send(socket: Socket, bytes: Buffer): void {
    if (bytes.length <= this.segmentBytes) socket.write(bytes);
    else
      for (let at = 0; at < bytes.length; at += this.segmentBytes)
        socket.write(bytes.subarray(at, at + this.segmentBytes));
  }

  /** A data package: these may be bundled or cut. */
  sendData(socket: Socket, bytes: Buffer): void {
    if (this.cutNext) {
      this.cutNext = false;
      socket.write(bytes.subarray(0, bytes.length >> 1), () => socket.resetAndDestroy());
      return;
    }
    const held = this.waiting.get(socket) ?? [];
    held.push(bytes);
    if (held.length < this.bundle) {
      this.waiting.set(socket, held);
      return;
    }
    this.waiting.delete(socket);
    this.send(socket, held.length === 1 ? bytes : Buffer.concat(held));
  }
}
