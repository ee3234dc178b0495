import t from "tap";
import { skillNames, type SkillName } from "../../../src/agent/safety/skill-names.js";
import { SkillRegistry } from "../../../src/agent/skills/registry.js";

const program = (name: SkillName, timeLimitS = 10) => ({
  name,
  summary: "",
  timeLimitS,
  run: async () => ({ status: "succeeded" as const, detail: "" }),
});

t.test("complete or refused", async (t) => {
  const all = skillNames.map((name) => program(name));
  t.equal(new SkillRegistry(all).get("INSERT").name, "INSERT");
  t.throws(() => new SkillRegistry(all.slice(1)), { message: /SPATIAL_REGISTRATION/ });
  t.throws(() => new SkillRegistry([...all, program("INSERT")]), { message: /twice/ });
  t.throws(() => new SkillRegistry([...all.slice(0, 6), program("MOVE" as SkillName)]), { message: /MOVE/ });
  t.throws(() => new SkillRegistry([...all.slice(0, 6), program("SAFE_STOP", Infinity)]), {
    message: /limit/,
  });
});
