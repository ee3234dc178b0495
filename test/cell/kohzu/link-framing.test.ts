/** Replies in any pieces and of any kind: what the driver's link makes of them, in each family. */
import t from "tap";
import fc from "fast-check";
import { CellError } from "../../../src/base/errors.js";
import { StageEnvelope } from "../../../src/cell/envelope.js";
import { KohzuLink } from "../../../src/cell/kohzu/kohzu-link.js";
import type { ByteLink } from "../../../src/cell/links/byte-link.js";
import { cellAxes } from "./rig.js";

/** A line at whose other end the test writes whatever it likes. */
class OpenLine implements ByteLink {
  readonly description = "open line";
  readonly descriptor = undefined;
  isOpen = true;
  written = "";
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;
  holdReading(): void {}
  async open(): Promise<void> {
    this.isOpen = true;
  }
  write(bytes: Uint8Array): void {
    this.written += Buffer.from(bytes).toString("latin1");
  }
  async close(): Promise<void> {
    this.isOpen = false;
  }
}

const replies = {
  aries: {
    request: ["RDP", [1]],
    reply: "C\tRDP1\t-1234\r\n",
    value: "-1234",
    spontaneous: "W\tSYS\t52\r\n",
  },
  sc: { request: ["RDP", [1, 0]], reply: "C\tRDP1\t-1234\r\n", value: "-1234", spontaneous: "" },
} as const;

const axes = await cellAxes();
const linkOf = (family: "aries" | "sc", line: OpenLine): KohzuLink =>
  new KohzuLink(line, {
    ...{
      device: "stages",
      family,
      stx: family === "sc",
      staleAtOpen: family === "sc",
      replyTimeoutS: 5,
      quietS: 0.001,
    },
    envelope: new StageEnvelope("stages", family, axes),
  });

for (const family of ["aries", "sc"] as const)
  t.test(`${family}: a reply at every split point, behind a spontaneous line`, async (t) => {
    const { request, reply, value, spontaneous } = replies[family];
    const bytes = Buffer.from(spontaneous + reply, "latin1");
    for (let cut = 0; cut <= bytes.length; cut++) {
      const line = new OpenLine();
      const heard: string[] = [];
      const link = linkOf(family, line);
      link.onSystem = (system) => heard.push(system.data.join());
      const asked = link.request(request[0], request[1]);
      await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      line.onData(bytes.subarray(0, cut));
      line.onData(bytes.subarray(cut));
      t.equal((await asked).data[0], value);
      t.strictSame(heard, spontaneous === "" ? [] : ["52"]);
    }
  });

t.test("bytes that are no reply never answer a request: it fails, or still waits for its own", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (noise) => {
      const text = Buffer.from(noise).toString("latin1");
      fc.pre(!text.includes("RDP1"));
      const line = new OpenLine();
      const link = linkOf("aries", line);
      const asked = link.request("RDP", [1]).then(
        (reply) => reply.data[0],
        (error: unknown) => (error instanceof CellError ? error.code : "another error"),
      );
      await new Promise((resolve) => setImmediate(resolve));
      line.onData(Buffer.concat([noise, Buffer.from("\r\nC\tRDP1\t7\r\n", "latin1")]));
      const outcome = await asked;
      return outcome === "7" || outcome === "LINK_PROTOCOL";
    }),
    { numRuns: 200 },
  );
});

t.test("a reply without an end closes the link with an excerpt", async (t) => {
  const line = new OpenLine();
  const link = linkOf("aries", line);
  const reasons: string[] = [];
  link.onClosed = (reason) => reasons.push(reason.message);
  const asked = t.rejects(link.request("RDP", [1]), {
    code: "LINK_PROTOCOL",
    message: /without a line end: 43 43/,
  });
  await new Promise((resolve) => setImmediate(resolve));
  line.onData(Buffer.alloc(1025, "C"));
  await asked;
  t.notOk(line.isOpen);
  t.equal(reasons.length, 1);
});
