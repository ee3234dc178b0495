/**
 * our-reader HOST HZ FIELD,FIELD,…: the product's RTDE client on its own. For every line on its input it prints, as JSON,
 * the CPU time of this process (s), the packages decoded so far and the newest timestamp.
 */
import { createInterface } from "node:readline";
import { RtdeClient, rtdeDefaults } from "../../../src/cell/ur/rtde-client.js";

const [, , host = "127.0.0.1", hertz = "500", fields = "timestamp"] = process.argv;
const client = new RtdeClient({
  ...rtdeDefaults,
  host,
  port: 30004,
  frequencyHz: Number(hertz),
  required: fields.split(","),
});
let packages = 0;
client.on("sample", () => packages++);
await client.connect(10);
console.log("ready");
createInterface({ input: process.stdin })
  .on("line", () => {
    const { user, system } = process.cpuUsage();
    const timestampS = client.latest?.timestampS ?? NaN;
    console.log(JSON.stringify({ cpuS: (user + system) / 1e6, packages, timestampS }));
  })
  .on("close", () => void client.close());
