/** Faults of the dashboard: late greetings, late answers, late text. */
import t from "tap";
import { DashboardClient } from "../../../src/cell/ur/dashboard-client.js";
import { soon } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm } from "./active-arm.js";

t.test("arm-dashboard-banner: a greeting that comes after two seconds is waited for", async (t) => {
  const { controller, faults } = await connectedArm(t);
  faults.set("arm-dashboard-banner", 2);
  const options = { host: "127.0.0.1", port: controller.ports.dashboard, replyLimitS: 5 };
  const patient = new DashboardClient({ ...options, bannerLimitS: 10 });
  t.teardown(() => patient.close());
  t.match(await patient.send("robotmode", soon()), /^Robotmode: /);
  const hasty = new DashboardClient({ ...options, bannerLimitS: 0.3 });
  t.teardown(() => hasty.close());
  await t.rejects(hasty.connect(soon()), { code: "LINK_TIMEOUT", detail: /banner/ });
});

t.test("arm-dashboard-slow: a late answer is never taken for the answer to the next command", async (t) => {
  const { controller, faults } = await connectedArm(t);
  const client = new DashboardClient({
    host: "127.0.0.1",
    port: controller.ports.dashboard,
    bannerLimitS: 10,
    replyLimitS: 0.4,
  });
  t.teardown(() => client.close());
  await client.connect(soon());
  faults.set("arm-dashboard-slow", 0.8);
  await t.rejects(client.send("robotmode", soon()), { code: "LINK_TIMEOUT", detail: /robotmode/ });
  faults.set("arm-dashboard-slow", 0);
  t.match(await client.send("safetymode", soon()), /^Safetymode: /);
});

t.test("arm-dashboard-lag: safety comes from RTDE, whatever the dashboard still says", async (t) => {
  const { controller, robot, faults } = await activeArm(t);
  faults.set("arm-dashboard-lag", 3);
  const client = new DashboardClient({
    host: "127.0.0.1",
    port: controller.ports.dashboard,
    bannerLimitS: 10,
    replyLimitS: 5,
  });
  t.teardown(() => client.close());
  await client.connect(soon());
  faults.set("arm-protective-stop", 153);
  await waitFor(() => robot.state().lifecycle === "fault");
  t.equal(robot.state().fault?.code, "DEVICE_EMERGENCY_STOP");
  t.equal(await client.send("safetymode", soon()), "Safetymode: NORMAL", "the text lags behind");
  t.match(
    await client.send("unlock protective stop", soon()).catch((error: unknown) => String(error)),
    /Cannot unlock protective stop until 5s/,
  );
});
