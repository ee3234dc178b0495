/** An emulated controller on a hand-turned clock, and a client that speaks raw lines. */
import { KohzuEmulator, type KohzuOptions } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { referenceCellStages } from "../../../src/twin/kohzu/stage-models.js";

export class Clock {
  now = 1000;
  advance(seconds: number): void {
    this.now += seconds;
  }
}

export interface RawClient {
  /** Sends one command and returns all lines that came back, without line ends, TAB shown as a space. */
  ask(command: string): string[];
  /** Sends bytes as they are. */
  send(bytes: string): void;
  /** Lines received and not yet looked at. */
  take(): string[];
  close(): void;
}

export function rawClient(controller: KohzuEmulator, transport: "tcp" | "serial" = "tcp"): RawClient {
  let text = "";
  const client = controller.attach(transport, (bytes) => {
    text += bytes.toString("latin1");
  });
  const take = (): string[] => {
    const lines = text.split("\r\n");
    text = lines.pop() ?? "";
    return lines.map((line) => line.replaceAll("\t", " "));
  };
  const send = (bytes: string): void => client.receive(Buffer.from(bytes, "latin1"));
  return {
    send,
    take,
    ask(command) {
      send(`${transport === "serial" ? "\x02" : ""}${command}\r\n`);
      return take();
    },
    close: () => client.close(),
  };
}

export function bench(options: Partial<KohzuOptions> = {}): {
  readonly clock: Clock;
  readonly controller: KohzuEmulator;
  readonly client: RawClient;
} {
  const clock = new Clock();
  const controller = new KohzuEmulator({
    seed: 7,
    axes: [...referenceCellStages.map((model) => ({ model, homed: true })), null],
    clock: () => clock.now,
    ...options,
  });
  return { clock, controller, client: rawClient(controller) };
}
