/** docs/faults.html does what the compiled arbiter does: its script is run and compared, signal by signal. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import vm from "node:vm";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { arbitrate, standingFaults } from "../../src/agent/safety/fault-arbiter.js";
import { faultRules, type FaultSignals } from "../../src/agent/safety/fault-rules.js";

const html = await readFile(path.join(projectRoot, "docs/faults.html"), "utf8");
const script = /<script>([^]*)<\/script>/.exec(html)?.[1] ?? "";

/** Elements that remember their text, class and listeners; enough for the page. */
function fakeDocument(): { document: object; elements: Map<string, FakeElement> } {
  const elements = new Map<string, FakeElement>();
  const document = {
    createElement: () => new FakeElement(elements),
    getElementById: (id: string) => {
      const found = elements.get(id) ?? new FakeElement(elements);
      elements.set(id, found);
      return found;
    },
  };
  return { document, elements };
}

class FakeElement {
  textContent = "";
  className = "";
  value = "";
  disabled = false;
  children: FakeElement[] = [];
  private readonly listeners = new Map<string, () => void>();
  constructor(private readonly all: Map<string, FakeElement>) {}
  set id(name: string) {
    this.all.set(name, this);
  }
  append(...parts: FakeElement[]): void {
    this.children.push(...parts);
  }
  replaceChildren(): void {
    this.children = [];
  }
  addEventListener(event: string, listener: () => void): void {
    this.listeners.set(event, listener);
  }
  fire(event: string): void {
    this.listeners.get(event)?.();
  }
}

t.test("the page agrees with the program on every single failure", async (t) => {
  const { document, elements } = fakeDocument();
  let nowMs = 0;
  const context = {
    document,
    performance: { now: () => nowMs },
    setInterval: () => 0,
    alert: () => undefined,
  };
  vm.runInNewContext(script, context);
  const well: Record<string, unknown> = {};
  const active = (): string[] =>
    (elements.get("rules")?.children ?? []).flatMap((row, index) =>
      row.className === "active" ? [faultRules[index - 1]?.id ?? ""] : [],
    );
  for (const { signal } of faultRules) {
    const first = elements.get(signal)?.children[0]?.value ?? "null";
    well[signal] = JSON.parse(first);
  }
  t.same(active(), []);
  const choose = (signal: string, value: string): void => {
    const select = elements.get(signal);
    if (select === undefined) return;
    select.value = value;
    select.fire("change");
  };
  for (const { signal } of faultRules) {
    const options = (elements.get(signal)?.children ?? []).map(({ value }) => value);
    for (const option of options) {
      // All is well for long enough that nothing lingers.
      for (const _ of [1, 2]) {
        choose(signal, options[0] ?? "");
        nowMs += 10_000;
      }
      choose(signal, option);
      const signals = { ...well, [signal]: JSON.parse(option) as unknown } as unknown as FaultSignals;
      const expected = standingFaults(
        faultRules,
        arbitrate(faultRules, {}, signals, { minFreeBytes: 500e6 }, 0),
      );
      t.same(
        active(),
        expected.map(({ rule }) => rule.id),
        `${signal} = ${option}`,
      );
    }
    choose(signal, options[0] ?? "");
    nowMs += 10_000;
    choose(signal, options[0] ?? "");
  }
  t.match(elements.get("verdict")?.textContent, /Stopped and latched/, "stops stay until a person resets");
});
