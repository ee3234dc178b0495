/** Who may command: over the lives of a daemon, and whatever a link does to messages. */
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { Authority, countStart } from "../../../src/service/command/authority.js";

t.test("a call is let through once, and only under the holder's epoch", async (t) => {
  const authority = new Authority(10);
  const epoch = authority.lease.acquire("ann", 0);
  t.equal(authority.admit(epoch, "a", 1), "ann");
  t.throws(() => authority.admit(epoch, "a", 1), { code: "COMMAND_INVALID" }, "doubled");
  t.throws(() => authority.admit(epoch + 1, "b", 1), { code: "LEASE_DENIED" }, "never granted");
  const bob = authority.lease.acquire("bob", 2, true);
  t.throws(() => authority.admit(epoch, "c", 2), { code: "LEASE_DENIED" }, "late");
  t.equal(authority.admit(bob, "a", 2), "bob", "another client's ids are its own");
});

t.test("an epoch of an earlier life never fits a later one", async (t) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-starts-")), "runs", "starts.json");
  const unkept: string[] = [];
  const begin = async (): Promise<Authority> =>
    new Authority(10, await countStart(file, (why) => unkept.push(why)));
  const first = await begin();
  const old = Array.from({ length: 50 }, (_, k) => first.lease.acquire("ann", k));
  const second = await begin();
  const epoch = second.lease.acquire("bob", 0);
  t.ok(old.every((one) => one < epoch));
  for (const one of old) t.throws(() => second.admit(one, "x", 0), { code: "LEASE_DENIED" });
  t.same(JSON.parse(await readFile(file, "utf8")), { starts: 2 });
  t.same(unkept, []);
  await writeFile(file, "{");
  await t.rejects(begin(), { code: "CONFIG_UNREADABLE" }, "a damaged count is no beginning");
});

t.test("a disk that takes nothing is told", async (t) => {
  const unkept: string[] = [];
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-starts-"));
  await writeFile(path.join(folder, "runs"), "a file where a folder should be");
  const start = await countStart(path.join(folder, "runs", "starts.json"), (why) => unkept.push(why));
  t.equal(start, 1);
  t.match(unkept, [/starts\.json/]);
});
