/**
 * Writes the parts of the documentation that the program itself knows: the table of configuration keys, the table of
 * command methods and their JSON Schemas, every rule of the gate and the files it can be tried with, the JSON Schema of the
 * device profiles. With --check it only says whether they are up to date.
 *   npm run docs
 *   node scripts/docs.mjs --check
 */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as prettier from "prettier";
import { z } from "zod";
import { readHazards } from "./hazards.mjs";
import { faultsPage } from "./faults-page.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const dist = process.env.SURGICLAW_DIST ?? path.join(root, "dist");
const { explainConfig } = await import(path.join(dist, "src/base/config.js"));
const { methods, eventSchemas, protocolVersion } = await import(
  path.join(dist, "src/service/command/protocol.js")
);
const { prerequisites } = await import(path.join(dist, "src/agent/safety/prerequisites.js"));
const { conditionIds, conditionText } = await import(path.join(dist, "src/agent/safety/conditions.js"));
const { guardRules, invariants } = await import(path.join(dist, "src/agent/safety/guard.js"));
const { profileJsonSchema } = await import(path.join(dist, "src/cell/profile.js"));
const { gateCaseSchema, replyMetadataSchema } = await import(
  path.join(dist, "src/agent/perception/gate-case.js")
);
const { failureModes } = await import(path.join(dist, "test/agent/safety/failure-modes.js"));
const { documentFaults } = await import(path.join(dist, "test/faults/ur/document-faults.js"));
const { cellFaults } = await import(path.join(dist, "test/faults/cell-faults.js"));
const { calibrationSchema } = await import(path.join(dist, "src/base/calibration-file.js"));
const { faultRules } = await import(path.join(dist, "src/agent/safety/fault-rules.js"));
const { skillNames } = await import(path.join(dist, "src/agent/safety/skill-names.js"));

const cell = (text) => String(text).replaceAll("|", "\\|");

function configTable() {
  const rows = explainConfig().map((entry) => {
    const fallback = entry.required
      ? "required"
      : entry.default === undefined
        ? "none"
        : `\`${JSON.stringify(entry.default)}\``;
    const columns = [
      `\`${entry.path}\``,
      entry.type,
      entry.unit ?? "",
      fallback,
      entry.requiresRestart ? "restart" : "live",
      entry.description,
    ];
    return `| ${columns.map(cell).join(" | ")} |`;
  });
  return [
    "| key | type and range | unit | default | change | meaning |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const schemaOf = (schema, io) => z.toJSONSchema(schema, { io, unrepresentable: "any" });

function methodTable() {
  const rows = Object.entries(methods).map(([name, spec]) => {
    const params = Object.keys(schemaOf(spec.params, "input").properties ?? {});
    return `| \`${name}\` | ${params.map((param) => `\`${param}\``).join(", ")} | ${spec.control ? "yes" : "no"} | ${cell(spec.summary)} |`;
  });
  return ["| method | parameters | needs the lease | what it does |", "|---|---|---|---|", ...rows].join(
    "\n",
  );
}

/** Conditions down, skills across. */
function skillTable(conditions, mark) {
  const head = `| it is known that | ${skillNames.map((name) => `\`${name}\``).join(" | ")} |`;
  const rows = conditions.map(
    (condition) =>
      `| ${cell(conditionText[condition])} | ${skillNames.map((name) => mark(name, condition)).join(" | ")} |`,
  );
  return [head, `|---|${skillNames.map(() => ":-:|").join("")}`, ...rows].join("\n");
}

const prerequisiteTable = () =>
  skillTable(conditionIds, (skill, condition) => prerequisites[skill][condition]);

function guardRuleTable() {
  const rows = Object.entries(guardRules).map(([id, { source, limit, clear }]) => {
    const text = id === "stateFresh" ? "the state is fresh (every skill but the stop)" : conditionText[id];
    return `| ${[text, source, limit, clear].map(cell).join(" | ")} |`;
  });
  return ["| invariant | looked at | lost when | may run again when |", "|---|---|---|---|", ...rows].join(
    "\n",
  );
}

function invariantTable() {
  const watched = conditionIds.filter((id) => skillNames.some((skill) => invariants[skill].includes(id)));
  return skillTable(watched, (skill, condition) => (invariants[skill].includes(condition) ? "watched" : "-"));
}

/** Modes down; what the failure is, where it is caught, and with which reason. */
function failureTable() {
  const places = {
    form: "parser",
    arrival: "how it arrived",
    gate: "gate, by measurement",
    prompt: "before prompting",
  };
  const rows = failureModes.map(({ number, failure, place, cases }) => {
    const codes = [...new Set(cases.flatMap(({ code }) => code ?? []))];
    const tolerated = cases.filter(({ code }) => code === undefined && place !== "prompt");
    const verdict =
      place === "prompt"
        ? "escaped and fenced"
        : `refused: ${codes.map((code) => `\`${code}\``).join(", ")}` +
          (tolerated.length === 0 ? "" : `; accepted: ${tolerated.map(({ title }) => title).join(", ")}`);
    return `| ${number} | ${cell(failure)} | ${places[place]} | ${verdict} | ${cases.map(({ title }) => title).join("; ")} |`;
  });
  return ["| | failure | judged by | verdict | cases tested |", "|--:|---|---|---|---|", ...rows].join("\n");
}

const testText = (test) =>
  "is" in test
    ? `is ${test.is}`
    : `${"above" in test ? `above ${test.above}` : `below ${test.below}`}${test.times ? ` × ${test.times}` : ""}`;

function faultTable() {
  const rows = faultRules.map((rule) => {
    const begins = `\`${rule.signal}\` ${testText(rule.trigger)}${rule.unknownTriggers ? ", or unknown" : ""}`;
    const gone = `${testText(rule.clear)}${rule.clearForS > 0 ? ` for ${rule.clearForS} s` : ""}`;
    return `| ${cell(rule.text)} | ${begins} | ${gone} | ${rule.severity} | ${rule.override ? "yes" : "no"} |`;
  });
  return ["| fault | begins when | gone when | severity | override |", "|---|---|---|---|---|", ...rows].join(
    "\n",
  );
}

function documentFaultTable(faults) {
  const rows = faults.map(
    ({ area, fault, switches, test }) =>
      `| ${area} | ${cell(fault)} | ${switches.map((name) => `\`${name}\``).join(", ")} | ${cell(test)} |`,
  );
  return ["| area | fault | switch | test |", "|---|---|---|---|", ...rows].join("\n");
}

async function hazardTable() {
  const { requirements, hazards } = await readHazards();
  const rows = hazards.flatMap(({ id, situation, cause, severity, controls }) =>
    controls.map(({ id: control, text, requirement, tests }, index) =>
      [
        index === 0 ? `**${id}** ${cell(situation)}` : "",
        index === 0 ? cell(cause) : "",
        index === 0 ? severity : "",
        `${control}: ${cell(text)}`,
        `${requirement}: ${cell(requirements[requirement])}`,
        tests.map((test) => `\`${cell(test)}\``).join("<br>"),
      ].join(" | "),
    ),
  );
  return [
    "| hazard | cause | severity | control | requirement | tests |",
    "|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}

const jsonSchema = (schema) => JSON.stringify(schemaOf(schema, "input"));

function protocolSchema() {
  const calls = Object.entries(methods).map(([name, { summary, control, params, result }]) => [
    name,
    { summary, control, params: schemaOf(params, "input"), result: schemaOf(result, "output") },
  ]);
  const events = Object.entries(eventSchemas).map(([topic, schema]) => [topic, schemaOf(schema, "output")]);
  return JSON.stringify({
    title: "Command protocol of surgiclawd",
    version: protocolVersion,
    methods: Object.fromEntries(calls),
    events: Object.fromEntries(events),
  });
}

/** The text with what lies between the markers of `name` replaced. */
function between(text, name, content) {
  const begin = `<!-- generated: ${name} (npm run docs) -->`;
  const end = `<!-- end of ${name} -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the markers of ${name} are missing`);
  return `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`;
}

const read = async (file) => readFile(path.join(root, file), "utf8").catch(() => "");
const wanted = {
  "docs/configuration.md": between(await read("docs/configuration.md"), "configuration keys", configTable()),
  "docs/commands.md": between(await read("docs/commands.md"), "methods", methodTable()),
  "docs/arm-faults.md": between(
    await read("docs/arm-faults.md"),
    "arm faults",
    documentFaultTable(documentFaults),
  ),
  "docs/cell-faults.md": between(
    await read("docs/cell-faults.md"),
    "cell faults",
    documentFaultTable(cellFaults),
  ),
  "docs/safety.md": between(await read("docs/safety.md"), "faults", faultTable()),
  "docs/hazards.md": between(await read("docs/hazards.md"), "hazards", await hazardTable()),
  "docs/gate.md": between(
    between(
      between(
        between(await read("docs/gate.md"), "prerequisites", prerequisiteTable()),
        "invariants",
        invariantTable(),
      ),
      "limits of the invariants",
      guardRuleTable(),
    ),
    "failure modes",
    failureTable(),
  ),
  "docs/faults.html": await faultsPage(dist),
  "docs/gate-case.schema.json": jsonSchema(gateCaseSchema),
  "docs/gate-meta.schema.json": jsonSchema(replyMetadataSchema),
  "docs/command-protocol.schema.json": protocolSchema(),
  "calibration/calibration.schema.json": JSON.stringify({
    title: "Calibration files of surgiclaw",
    ...schemaOf(calibrationSchema, "input"),
  }),
  "firmware-profiles/profile.schema.json": JSON.stringify({
    title: "Device profiles of surgiclaw",
    ...profileJsonSchema(),
  }),
};
for (const [file, text] of Object.entries(wanted)) {
  const target = path.join(root, file);
  const options = (await prettier.resolveConfig(target)) ?? {};
  const formatted = await prettier.format(text, { ...options, filepath: target });
  if (formatted === (await read(file))) continue;
  if (process.argv.includes("--check")) {
    console.error(`${file} is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    await writeFile(target, formatted);
    console.log(`${file} written`);
  }
}
