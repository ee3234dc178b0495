/**
 * Bytes in any pieces, in any order, of any kind: what the emulated controllers make of them, in each dialect. Whatever
 * arrives, a good request that follows a line end is answered as if nothing had been.
 */
import t from "tap";
import fc from "fast-check";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { bench, rawClient, type RawClient } from "./bench.js";

const axes = [
  { model: xa04aR102, homed: true },
  { model: xa04aR102, homed: true },
];

interface Family {
  readonly name: string;
  readonly dialect: "aries" | "crux" | "sc";
  readonly transport: "tcp" | "serial";
  /** Requests that move nothing, with their replies. */
  readonly exchange: readonly (readonly [string, string])[];
}

const families: readonly Family[] = [
  {
    name: "ARIES over TCP",
    dialect: "aries",
    transport: "tcp",
    exchange: [
      ["RDP1", "C RDP1 0"],
      ["ROG2", "C ROG2 1"],
      ["IDN", "C IDN ARIES 1 4 4"],
      ["APS1/4/1", "E APS1 100"],
    ],
  },
  {
    name: "ARIES on a serial line",
    dialect: "aries",
    transport: "serial",
    exchange: [
      ["RDP1", "C RDP1 0"],
      ["RSY2/16", "C RSY2 16 50000"],
      ["FOO", "E FOO 4"],
    ],
  },
  {
    name: "CRUX",
    dialect: "crux",
    transport: "serial",
    exchange: [
      ["RDP2", "C RDP2 0"],
      ["IDN", "C IDN CRUX-D 1404"],
      ["WRP1/9000000", "E WRP1 102"],
    ],
  },
  {
    name: "SC series",
    dialect: "sc",
    transport: "serial",
    exchange: [
      ["RDP1/0", "C RDP1 0"],
      ["IDN", "C IDN0 400 1"],
      ["STR1/2", "C STR2 1 0 1 0 0 0 0 0"],
    ],
  },
];

const client = ({ dialect, transport }: Family): RawClient =>
  rawClient(bench({ dialect, axes }).controller, transport);

for (const family of families) {
  const stx = family.transport === "serial" ? "\x02" : "";
  const bytes = family.exchange.map(([request]) => `${stx}${request}\r\n`).join("");
  const replies = family.exchange.map(([, reply]) => reply);

  t.test(`${family.name}: every split point, and single bytes`, async (t) => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const one = client(family);
      one.send(bytes.slice(0, cut));
      one.send(bytes.slice(cut));
      t.strictSame(one.take(), replies, `cut at ${cut}`);
    }
    const one = client(family);
    for (const byte of bytes) one.send(byte);
    t.strictSame(one.take(), replies);
  });

  t.test(`${family.name}: any pieces`, async () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
        const one = client(family);
        const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
        edges.slice(1).forEach((end, i) => one.send(bytes.slice(edges[i], end)));
        return one.take().join("|") === replies.join("|");
      }),
      { numRuns: 200 },
    );
  });

  t.test(`${family.name}: garbage moves nothing and leaves the next line readable`, async () => {
    // Anything but what could begin a request that drives.
    const garbage = fc.uint8Array({ maxLength: 60 }).filter((noise) => {
      const text = Buffer.from(noise).toString("latin1");
      return !/[A-Z]{3}/.test(text);
    });
    fc.assert(
      fc.property(garbage, (noise) => {
        const { controller } = bench({ dialect: family.dialect, axes });
        const one = rawClient(controller, family.transport);
        one.send(Buffer.from(noise).toString("latin1"));
        one.send("\r\n");
        one.take();
        const [request = "", reply = ""] = family.exchange[0] ?? [];
        one.send(`${stx}${request}\r\n`);
        return one.take().join("|") === reply && !controller.isMoving(1) && !controller.isMoving(2);
      }),
      { numRuns: 300 },
    );
  });

  t.test(`${family.name}: a line without an end is forgotten`, async (t) => {
    const one = client(family);
    one.send("A".repeat(5000));
    one.send("\r\n");
    one.take();
    one.send(bytes);
    t.strictSame(one.take(), replies);
  });
}

t.test("a request in two pieces is not mixed with that of another client", async (t) => {
  const { controller } = bench();
  const [first, second] = [rawClient(controller), rawClient(controller)];
  first.send("RD");
  second.send("ROG1\r\n");
  first.send("P1\r\n");
  t.strictSame(first.take(), ["C RDP1 0"]);
  t.strictSame(second.take(), ["C ROG1 1"]);
});
