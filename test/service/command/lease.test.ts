import t from "tap";
import { Lease } from "../../../src/service/command/lease.js";

t.test("one holder at a time, and each new one has a higher epoch", (t) => {
  const lease = new Lease(10);
  const first = lease.acquire("ann", 0);
  t.equal(lease.use(first, 1), "ann");
  t.throws(() => lease.acquire("bob", 2), { code: "LEASE_DENIED", detail: /ann/ });
  const again = lease.acquire("ann", 3);
  t.ok(again > first, "also for the same client");
  t.throws(() => lease.use(first, 3), { code: "LEASE_DENIED" }, "a late command of the earlier epoch");
  lease.release(again);
  t.equal(lease.status(4), null);
  const bob = lease.acquire("bob", 4);
  t.ok(bob > again);
  const forced = lease.acquire("eve", 5, true);
  t.ok(forced > bob);
  t.throws(() => lease.use(bob, 5), { code: "LEASE_DENIED" }, "the one it was taken from");
  t.end();
});

t.test("an unused lease ends, a used one goes on", (t) => {
  const lease = new Lease(10);
  const epoch = lease.acquire("ann", 0);
  lease.use(epoch, 9);
  t.equal(lease.use(epoch, 19), "ann", "10 s after its last use it still holds");
  t.throws(() => lease.use(epoch, 29.1), { code: "LEASE_DENIED" });
  t.equal(lease.status(29.1), null);
  t.end();
});

t.test("a takeover keeps the lease until handback", (t) => {
  const lease = new Lease(10);
  const epoch = lease.acquire("ann", 0);
  lease.keep(true, 0);
  lease.release(epoch);
  t.equal(lease.status(1e6)?.client, "ann", "released and long unused, but kept");
  t.throws(() => lease.acquire("bob", 1e6), { code: "LEASE_DENIED" });
  const later = lease.acquire("ann", 1e6);
  t.equal(lease.status(1e6)?.held, true, "the same person in another terminal keeps it");
  lease.keep(false, 1e6);
  lease.release(later);
  t.equal(lease.status(1e6), null);
  t.end();
});
