/** The GigE Vision camera of test/native/grabber/peer as a program. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { CellError } from "../../../src/base/errors.js";
import { programPath } from "../../../src/base/paths.js";

/** The camera of test/native/grabber/peer as a program, with faults by command. */
export class GigePeer {
  private readonly lines: Interface;

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.lines = createInterface({ input: child.stdout });
  }

  static async start(address: string, serial: string, ...size: number[]): Promise<GigePeer> {
    const child = spawn(programPath("gige-peer"), [address, serial, ...size.map(String)]);
    const peer = new GigePeer(child);
    try {
      await once(peer.lines, "line", { signal: AbortSignal.timeout(10_000) });
    } catch (error) {
      await peer.kill();
      throw error;
    }
    return peer;
  }

  /** As a cable pulled: no goodbye. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }

  /** Acknowledgements of the control channel so far, lost ones included. */
  async answers(): Promise<number> {
    return Number(await this.ask("answers"));
  }

  /** One of the lines that gige_camera_main.cc takes. */
  async tell(line: string): Promise<void> {
    const said = await this.ask(line);
    if (said !== "done") throw new CellError("COMMAND_INVALID", `the peer does not know ${line}`);
  }

  private async ask(line: string): Promise<string> {
    const answer = once(this.lines, "line", { signal: AbortSignal.timeout(10_000) });
    this.child.stdin.write(`${line}\n`);
    const [said] = (await answer) as [string];
    return said;
  }

  /** Ends the camera; what it counted. */
  async end(): Promise<{ frames: number; resendRequests: number; resentPackets: number }> {
    const answer = once(this.lines, "line", { signal: AbortSignal.timeout(10_000) });
    this.child.stdin.end();
    const [said] = (await answer) as [string];
    const [frames = NaN, resendRequests = NaN, resentPackets = NaN] = [...said.matchAll(/\d+/g)].map(Number);
    return { frames, resendRequests, resentPackets };
  }
}
