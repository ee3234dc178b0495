/**
 * The contract that every driver keeps with its device, and every emulated device with its driver. One table of families
 * (families.ts) runs through these cases; a new family is one more entry.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { asCellError, type CellError } from "../../src/base/errors.js";
import type { LinkCounters } from "../../src/cell/links/request-link.js";
import type { DeviceState } from "../../src/cell/lifecycle.js";
import type { ReplyFault } from "../../src/twin/wire-faults.js";
import { waitFor } from "../faults/wait.js";

/** A driver as the contract sees it. */
export interface ContractDriver {
  status(): {
    readonly desired: string;
    readonly current: DeviceState;
    readonly fault?: CellError | undefined;
  };
  connect(signal: AbortSignal): Promise<unknown>;
  activate(signal: AbortSignal): Promise<unknown>;
  /** Left out where the family has none. */
  deactivate?(): unknown;
  /** A person's way out of a fault. */
  reset(signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
  /** Something that moves for a second or more; for a camera, a frame. */
  move(signal: AbortSignal): Promise<unknown>;
  /** The same, and over at once. */
  moveBriefly(signal: AbortSignal): Promise<unknown>;
  stop(): unknown;
  /** One request that changes nothing. */
  read(): Promise<unknown>;
  counters?(): LinkCounters;
}

/** The device behind it, seen from outside its protocol. */
export interface ContractTwin {
  moving(): boolean;
  position(): number;
  /** The device is unreachable, or there again. */
  unplug(): Promise<void>;
  plugIn(): Promise<void>;
}

/** What happens to a reply; refused: it says that the request is not allowed. */
export type ContractFault = ReplyFault | { readonly kind: "refused" };

/** What can be done to single replies, for devices that answer one request with one reply. */
export interface ContractLine {
  /** Replies sent so far. */
  count(): number | Promise<number>;
  /** The nth reply from now. */
  plan(fault: ContractFault, nth: number): void | Promise<void>;
  clear(): void | Promise<void>;
  /** Planned faults that have happened, where a session may end before its turn comes. */
  readonly happened?: number;
}

export interface ContractRig {
  readonly name: string;
  readonly driver: ContractDriver;
  readonly twin: ContractTwin;
  readonly line?: ContractLine;
  /** It works by itself while it is active, as a camera does: "moving" means that frames come. */
  readonly streams?: true;
  end(): Promise<void>;
}

export interface MakeOptions {
  readonly replyTimeoutS?: number;
  /** Mechanics as fast as they go, seldom looked at: nothing needs to be caught on its way. */
  readonly brisk?: boolean;
}

export interface Family {
  readonly name: string;
  /** Its links repair most losses by themselves: an error need not reach the caller. */
  readonly heals?: true;
  /** What its exchanges meet, in turn; the usual four unless given. */
  readonly faults?: readonly ContractFault[];
  /** So many of its exchanges are met, spread evenly: it reads hundreds of registers, one like the other. */
  readonly atMost?: number;
  /** So many of its rigs may run at a time, since they wait most of theirs. */
  readonly atOnce?: number;
  /** A fresh device and a driver for it, nothing opened by the driver. */
  make(options?: MakeOptions): Promise<ContractRig>;
}

export const soon = (): AbortSignal => AbortSignal.timeout(30_000);
/** No byte of 255: behind a Telnet login it would be a command. */
export const garbage = Buffer.from([0xfe, 0xfd, 0x00, 0x0d, 0x0a]);

const errorOf = async (work: Promise<unknown>): Promise<CellError | undefined> => {
  try {
    await work;
    return undefined;
  } catch (error) {
    return asCellError(error);
  }
};

export async function activeRig(
  family: Family,
  options: { replyTimeoutS?: number } = {},
): Promise<ContractRig> {
  const rig = await family.make(options);
  await rig.driver.connect(soon());
  await rig.driver.activate(soon());
  return rig;
}

/** The device comes to rest and stays so. */
export async function staysAtRest(t: Test, { twin, streams }: ContractRig, what: string): Promise<void> {
  if (streams) return;
  await waitFor(() => !twin.moving());
  const at = twin.position();
  await delay(60);
  t.equal(twin.moving(), false, `${what}: at rest`);
  t.equal(twin.position(), at, `${what}: nothing resumes by itself`);
}

/** Brings a device back as a person would; what a loaded machine lets time out is tried again. */
export async function recover({ driver }: ContractRig): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const error = await errorOf(
      (async () => {
        if (driver.status().current === "fault") await driver.reset(soon());
        if (driver.status().current === "unconfigured") await driver.connect(soon());
        await driver.activate(soon());
      })(),
    );
    if (error === undefined) return;
    if (attempt === 4) throw error;
    await delay(300);
  }
}

/** unconfigured → inactive → active → inactive → finalized; motion only while active; desired and current published. */
export async function lifecycle(t: Test, family: Family): Promise<void> {
  const rig = await family.make();
  t.teardown(() => rig.end());
  const { driver } = rig;
  t.match(driver.status(), { current: "unconfigured" });
  t.match(
    await errorOf(driver.move(soon())),
    { code: "COMMAND_INVALID" },
    "no motion before it is connected",
  );
  await driver.connect(soon());
  t.match(driver.status(), { desired: "inactive", current: "inactive" });
  t.match(await errorOf(driver.move(soon())), { code: "COMMAND_INVALID" }, "no motion while it is inactive");
  await staysAtRest(t, rig, "connected");
  await driver.activate(soon());
  t.match(driver.status(), { desired: "active", current: "active" });
  await staysAtRest(t, rig, "activated");
  await driver.activate(soon());
  t.equal(driver.status().current, "active", "activating twice changes nothing");
  await driver.moveBriefly(soon());
  if (driver.deactivate) {
    await driver.deactivate();
    t.match(driver.status(), { desired: "inactive", current: "inactive" });
    t.match(
      await errorOf(driver.move(soon())),
      { code: "COMMAND_INVALID" },
      "no motion once it is inactive again",
    );
  }
  await driver.close();
  t.match(driver.status(), { desired: "finalized", current: "finalized" });
  await driver.close();
  t.match(await errorOf(driver.connect(soon())), { code: "COMMAND_INVALID" }, "closed for good");
  t.match(await errorOf(driver.move(soon())), { code: "COMMAND_INVALID" });
}

/** The device may come later than the program: the driver says so, waits in its state, and connects when it is there. */
export async function anyStartOrder(t: Test, family: Family): Promise<void> {
  const rig = await family.make();
  t.teardown(() => rig.end());
  const { driver, twin } = rig;
  await twin.unplug();
  const missing = await errorOf(driver.connect(soon()));
  t.match(missing, { code: /LINK_CONNECT|DEVICE_MISSING|CAMERA_OFFLINE|LINK_TIMEOUT/ });
  t.equal(driver.status().current, "unconfigured", "a device that is not there yet is no fault");
  await twin.plugIn();
  await driver.connect(soon());
  await driver.activate(soon());
  await driver.moveBriefly(soon());
  t.equal(driver.status().current, "active");
}

/** An abort and a stop end a motion; the error says which; both may be said twice and at any time. */
export async function abortAndStop(t: Test, family: Family): Promise<void> {
  const rig = await activeRig(family);
  t.teardown(() => rig.end());
  const { driver, twin } = rig;
  const abort = new AbortController();
  const aborted = errorOf(driver.move(abort.signal));
  await waitFor(() => twin.moving());
  abort.abort();
  t.match(await aborted, { code: /LINK_ABORTED|SAFETY_STOPPED/ });
  await staysAtRest(t, rig, "abort");
  await recover(rig);
  const stopped = errorOf(driver.move(soon()));
  await waitFor(() => twin.moving());
  await Promise.all([driver.stop(), driver.stop()]);
  t.match(await stopped, { code: /LINK_ABORTED|SAFETY_STOPPED/ });
  await staysAtRest(t, rig, "stop");
  await driver.stop();
  await recover(rig);
  await driver.moveBriefly(soon());
  const before = AbortSignal.abort();
  const position = twin.position();
  t.ok(await errorOf(driver.move(before)), "what is cancelled before it begins");
  t.equal(twin.position(), position, "does not begin");
}

/** The link breaks while something moves: an error, a latched fault, and no motion when the link is back. */
export async function pulledCable(t: Test, family: Family): Promise<void> {
  const rig = await activeRig(family);
  t.teardown(() => rig.end());
  const { driver, twin } = rig;
  const failed = errorOf(driver.move(soon()));
  await waitFor(() => twin.moving());
  await twin.unplug();
  t.match(await failed, { code: /LINK_|DEVICE_|CAMERA_|SAFETY_STOPPED/ });
  await waitFor(() => driver.status().current === "fault");
  t.ok(driver.status().fault, "the reason is kept");
  t.ok(await errorOf(driver.move(soon())), "no motion in a fault");
  await waitFor(() => !twin.moving());
  const at = twin.position();
  await twin.plugIn();
  await delay(100);
  t.equal(twin.position(), at, "a link that is back moves nothing");
  t.equal(driver.status().current, "fault", "and resets nothing");
  await recover(rig);
  await driver.moveBriefly(soon());
}

/** Deadlines name device, command and elapsed time; late replies are counted and never believed. */
export async function deadlines(t: Test, family: Family): Promise<void> {
  const rig = await activeRig(family, { replyTimeoutS: 0.5 });
  t.teardown(() => rig.end());
  const { driver, line, name } = rig;
  await line?.plan({ kind: "late", delayS: 0.8 }, 1);
  const error = await errorOf(driver.read());
  t.match(error, { code: "LINK_TIMEOUT" });
  t.match(error?.message ?? "", new RegExp(`${name}: no reply to \\S.* after 0\\.(49|[5-9])\\d* s`));
  await delay(500);
  await recover(rig);
  await driver.read();
  t.ok((driver.counters?.().late ?? 0) >= 1, "the late reply was counted");
  t.ok((driver.counters?.().timeouts ?? 0) >= 1);
}

/** Bytes outside the protocol: the link is closed, the bytes are kept as hex, what moves is stopped. */
export async function outOfProtocol(t: Test, family: Family): Promise<void> {
  const rig = await activeRig(family);
  t.teardown(() => rig.end());
  const { driver, twin, line } = rig;
  const failed = errorOf(driver.move(soon()));
  await waitFor(() => twin.moving());
  await line?.plan({ kind: "garbage-before", bytes: garbage }, 1);
  const error = await failed;
  t.match(error, { code: "LINK_PROTOCOL" });
  t.match(error?.message ?? "", /fe fd 00/);
  t.match(driver.status(), { current: "fault", fault: { code: "LINK_PROTOCOL" } });
  await staysAtRest(t, rig, "garbage");
  await line?.clear();
  await recover(rig);
  await driver.moveBriefly(soon());
}

export const replyFaults: readonly ContractFault[] = [
  { kind: "lost" },
  { kind: "garbage-before", bytes: garbage },
  { kind: "cut", count: 3 },
  { kind: "repeated" },
];

/** How many exchanges a session has. */
async function countOf(rig: ContractRig, session: (rig: ContractRig) => Promise<void>): Promise<number> {
  try {
    await session(rig);
    return (await rig.line?.count()) ?? 0;
  } finally {
    await rig.end();
  }
}

/**
 * An error at the nth exchange, for every n from the first of the handshake to the last of one motion. Whatever fails, it
 * fails with an error of the catalogue; then nothing moves until a person resets, and then all works again.
 */
export async function everyExchange(t: Test, family: Family, turn = 0): Promise<void> {
  const whole = async ({ driver }: ContractRig): Promise<void> => {
    await driver.connect(soon());
    await driver.activate(soon());
    await driver.moveBriefly(soon());
  };
  const count = await countOf(await family.make({ brisk: true }), whole);
  t.ok(count > 5, `${count} exchanges`);
  const { faults = replyFaults } = family;
  let failures = 0;
  let happened = 0;
  const one = async (n: number): Promise<void> => {
    const fault = faults[(n + turn) % faults.length] ?? { kind: "lost" };
    const what = `exchange ${n}, ${fault.kind}`;
    const rig = await family.make({ replyTimeoutS: 0.3, brisk: true });
    try {
      await rig.line?.plan(fault, n);
      const error = await errorOf(whole(rig));
      if (error !== undefined) {
        failures++;
        if (!/^(LINK|DEVICE|CAMERA)_|^SAFETY_HEARTBEAT$/.test(error.code))
          t.fail(`${what}: ${error.message}`);
      }
      await staysAtRest(t, rig, what);
      happened += rig.line?.happened ?? 1;
      await rig.line?.clear();
      await recover(rig);
      await rig.driver.moveBriefly(soon());
    } finally {
      await rig.end();
    }
  };
  const { atOnce = 1, atMost = count } = family;
  // Without a common divisor with the number of faults, so that all of them have their turn.
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let stride = Math.max(1, Math.ceil(count / atMost));
  while (divisor(stride, faults.length) !== 1) stride++;
  const places = Array.from({ length: Math.ceil(count / stride) }, (_, i) => 1 + i * stride);
  for (let i = 0; i < places.length; i += atOnce) await Promise.all(places.slice(i, i + atOnce).map(one));
  const met = places.length;
  t.ok(happened > 0.8 * met, `${happened} of ${met} faults happened`);
  if (family.heals) t.ok(failures < met, `${failures} of ${met} faults were seen as errors`);
  else t.ok(failures > met / 4, `${failures} of ${met} faults were seen as errors`);
}
