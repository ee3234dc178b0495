/** The form of docs/faults.html: its looks, and the script that feeds signals to the arbiter ten times a second. */
export const faultsPageStyle = `
body { font: 15px/1.45 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; color: #1d2327; }
h1 { font-size: 1.4rem; }
#verdict { font-size: 1.2rem; font-weight: 600; padding: .8rem 1rem; border-radius: .3rem; margin: 1rem 0; background: #e6f4ea; }
#verdict.notice { background: #fff4d6; } #verdict.refuse { background: #ffe3cc; } #verdict.stop { background: #fbd5d1; }
.columns { display: flex; gap: 2rem; align-items: flex-start; flex-wrap: wrap; }
form label { display: flex; justify-content: space-between; gap: 1rem; padding: .2rem 0; } form select { width: 11rem; }
table { border-collapse: collapse; flex: 1; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d5d9dd; vertical-align: top; }
tr.active { background: #fdeceb; } tr.overridden { background: #eef2f6; } td small { color: #5b6670; display: block; }
`;

export const faultsPageScript = `
const limits = { minFreeBytes: 500e6 };
const well = { armAgeS: 0.01, armFault: false, emergencyStop: false, protectiveStop: false, stagesReady: true,
  needleReady: true, needleIntact: true, guardianWatches: true, camerasSilent: 0, diskFreeBytes: 9e9,
  recordWritable: true, eventLoopLateS: 0, wallClockStepS: 0 };
const choices = { armAgeS: [0.01, 0.75, 2], camerasSilent: [0, 1, 2], diskFreeBytes: [9e9, 510e6, 400e6],
  eventLoopLateS: [0, 0.07, 0.2], wallClockStepS: [0, 1.5, 3600] };
const signals = { ...well };
const told = {
  undefined: "All is well: the gate decides, skill by skill.",
  notice: "A fault is shown; nothing else happens.",
  refuse: "The self-check does not pass: no skill begins but the stop, and one that runs is stopped.",
  stop: "All motion ends at once, and a stop is latched until a person resets it." };
let state = {};
let latched = null;
const seconds = () => performance.now() / 1e3;
const text = (test) => "is" in test ? "is " + test.is
  : ("above" in test ? "above " + test.above : "below " + test.below) + (test.times ? " × " + test.times : "");
const element = (name, content = "", kind = "") => {
  const made = document.createElement(name);
  made.textContent = content;
  made.className = kind;
  return made;
};

const form = document.getElementById("signals");
for (const [name, value] of Object.entries(well)) {
  const label = element("label", name);
  const select = element("select");
  select.id = name;
  for (const choice of [...(choices[name] ?? [value, !value]), "unknown"]) {
    const option = element("option", String(choice));
    option.value = JSON.stringify(choice);
    select.append(option);
  }
  select.addEventListener("change", () => { signals[name] = JSON.parse(select.value); look(); });
  label.append(select);
  form.append(label);
}

function look() {
  const before = new Set(standingFaults(faultRules, state).map(({ rule }) => rule.id));
  state = arbitrate(faultRules, state, signals, limits, seconds());
  const faults = standingFaults(faultRules, state);
  const begun = faults.filter(({ rule }) => !before.has(rule.id));
  if (worstSeverity(begun) === "stop")
    latched = begun.filter(({ rule }) => rule.severity === "stop").map(({ rule }) => rule.text).join("; ");
  show(faults);
}

function show(faults) {
  const worst = worstSeverity(faults);
  const verdict = document.getElementById("verdict");
  verdict.className = latched === null ? (worst ?? "") : "stop";
  verdict.textContent = latched === null ? told[worst] : "Stopped and latched: " + latched + ". ";
  if (latched !== null) {
    const reset = element("button", "a person resets");
    reset.addEventListener("click", () => {
      if (worst === "stop" || worst === "refuse") return alert("Not reset: the self-check does not pass.");
      latched = null;
      look();
    });
    verdict.append(reset);
  }
  const table = document.getElementById("rules");
  table.replaceChildren();
  const head = element("tr");
  for (const title of ["rule", "begins when", "gone when", "severity", "override"]) head.append(element("th", title));
  table.append(head);
  for (const rule of faultRules) {
    const fault = faults.find((one) => one.rule.id === rule.id);
    const row = element("tr", "", fault === undefined ? "" : fault.overridden ? "overridden" : "active");
    const what = element("td", rule.text);
    what.append(element("small", rule.id + ": " + rule.remedy));
    const begins = rule.signal + " " + text(rule.trigger) + (rule.unknownTriggers ? ", or unknown" : "") +
      (rule.forS > 0 ? " for " + rule.forS + " s" : "");
    const gone = text(rule.clear) + (rule.clearForS > 0 ? " for " + rule.clearForS + " s" : "");
    row.append(what, element("td", begins), element("td", gone), element("td", rule.severity));
    const override = element("td", rule.override ? "" : "never");
    if (rule.override) {
      const button = element("button", fault !== undefined && fault.overridden ? "overridden" : "override");
      button.disabled = fault === undefined || fault.overridden;
      button.addEventListener("click", () => { state = overrideFault(faultRules, state, rule.id) ?? state; look(); });
      override.append(button);
    }
    row.append(override);
    table.append(row);
  }
}

look();
setInterval(() => {
  const before = JSON.stringify(state);
  state = arbitrate(faultRules, state, signals, limits, seconds());
  if (JSON.stringify(state) !== before) show(standingFaults(faultRules, state));
}, 100);
`;
