/** What two sides of a line said to each other, for text2pcap: pieces of one direction that follow each other make one frame. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

export class LineRecord {
  private readonly frames: { readonly fromDevice: boolean; bytes: Buffer }[] = [];

  add(fromDevice: boolean, bytes: Uint8Array): void {
    const last = this.frames.at(-1);
    if (last?.fromDevice === fromDevice) last.bytes = Buffer.concat([last.bytes, bytes]);
    else this.frames.push({ fromDevice, bytes: Buffer.from(bytes) });
  }

  get count(): number {
    return this.frames.length;
  }

  /** Makes a capture of it, each frame in a packet of its own. @param port of the device's side */
  capture(file: string, transport: "udp" | "tcp", port: number): void {
    const text = this.frames.map(
      ({ fromDevice, bytes }) =>
        `${fromDevice ? "I" : "O"} 000000 ${bytes.toString("hex").replace(/../g, "$& ")}`,
    );
    writeFileSync(`${file}.txt`, `${text.join("\n")}\n`);
    const option = transport === "udp" ? "-u" : "-T";
    execFileSync("text2pcap", ["-q", "-D", option, `${port},1024`, `${file}.txt`, file], { stdio: "ignore" });
  }
}
