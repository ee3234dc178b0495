import t from "tap";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { loadProfile, profileFolder, profileJsonSchema } from "../../src/cell/profile.js";
import { loadAxes } from "../../src/cell/kohzu/axis-config.js";

t.test("figures become SI and keep where they come from", async (t) => {
  const stage = await loadProfile("kohzu-xa04a-r102", "linear-stage");
  t.equal(stage.step.value, 0.5e-6);
  t.equal(stage.step.unit, "m");
  t.equal(stage.step.provenance, "derived");
  const swivel = await loadProfile("kohzu-sa07a-rm02", "goniometer");
  t.ok(Math.abs(swivel.axes.upper.step.value - (0.0015 * Math.PI) / 180) < 1e-18);
  const needle = await loadProfile("needle-zaber-ascii", "needle-drive");
  t.ok(Math.abs(needle.stroke.value - 6e-3) < 1e-18);
});

t.test("soft limits are whole pulses, rounded once", async (t) => {
  const [x, tilt] = await loadAxes([
    { axis: 1, profile: "kohzu-xa04a-r102" },
    { axis: 4, profile: "kohzu-sa07a-rm02", part: "upper" },
  ]);
  t.equal(x?.maxPulses, 14_700);
  t.equal(tilt?.maxPulses, 6600);
  await t.rejects(
    loadAxes([
      { axis: 1, profile: "kohzu-xa04a-r102" },
      { axis: 1, profile: "kohzu-xa04a-r102" },
    ]),
    { code: "CONFIG_INVALID", message: /axis 1/ },
  );
});

t.test("half step: twice the pulses for the same way, speed and limits", async (t) => {
  const [full] = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);
  const [half] = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102-half-step" }]);
  t.match(full, { maxPulses: 14_700, maxPps: 5000, approachPulses: 20 });
  // 7.35 mm, 2.5 mm/s and 10 µm of 0.25 µm
  t.match(half, { maxPulses: 29_400, maxPps: 10_000, approachPulses: 40 });
});

t.test("a wrong file is refused with file and key", async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "profile-"));
  const good = await readFile(path.join(profileFolder, "kohzu-xa04a-r102.yaml"), "utf8");
  const broken = async (change: (text: string) => string): Promise<string> => {
    const file = path.join(folder, `${Math.random()}.yaml`);
    await writeFile(file, change(good));
    return file;
  };
  for (const [change, message] of [
    [(s: string) => `${s}colour: blue\n`, /colour: unknown key/],
    [(s: string) => s.replace("value: 2.5", "value: fast"), /maxSpeed/],
    [(s: string) => s.replace("unit: mm/s", "unit: furlong"), /maxSpeed/],
    [(s: string) => s.replace("provenance: derived", "provenance: hearsay"), /provenance/],
    [(s: string) => s.replace("value: 0.5", "value: -0.5"), /step/],
    [(s: string) => s.replace("value: 0.5", "value: 0.25"), /step: the step times the division/],
    [
      (s: string) => s.replace(/^lostMotion:/m, "lostMotionn:"),
      /lostMotionn: unknown key; did you mean "lostMotion"/,
    ],
  ] as const)
    await t.rejects(loadProfile(await broken(change), "linear-stage"), { code: "PROFILE_INVALID", message });
  await t.rejects(loadProfile("kohzu-aries", "needle-drive"), {
    code: "PROFILE_INVALID",
    message: /expected needle-drive, got stage-controller/,
  });
  await t.rejects(loadProfile("no-such-device", "microscope"), { code: "PROFILE_INVALID" });
});

t.test("every shipped file of these kinds loads, and the JSON Schema knows its kind", async (t) => {
  const known = JSON.stringify(profileJsonSchema());
  for (const [name, kind] of [
    ["kohzu-aries", "stage-controller"],
    ["kohzu-crux", "stage-controller"],
    ["kohzu-sc-410", "stage-controller"],
    ["kohzu-xa04a-r102", "linear-stage"],
    ["kohzu-xa04a-r102-half-step", "linear-stage"],
    ["kohzu-sa07a-rm02", "goniometer"],
    ["kohzu-sa07a-rm02-half-step", "goniometer"],
    ["needle-zaber-ascii", "needle-drive"],
    ["microscope-md65", "microscope"],
    ["microscope-md65-gige", "microscope"],
    ["microscope-md65-usb3", "microscope"],
    ["microscope-md65-v4l2", "microscope"],
  ] as const) {
    t.equal((await loadProfile(name, kind)).name, name);
    t.ok(known.includes(`"const":"${kind}"`));
  }
});
