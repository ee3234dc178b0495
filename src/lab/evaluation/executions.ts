/** The executions of skills in an audit log: when each began and ended, what it reported, its stages. Pure. */
import type { AuditEntry } from "../../record/audit-entry.js";

export interface Stage {
  readonly atS: number;
  readonly name: string;
  readonly measurements: Readonly<Record<string, unknown>>;
}

export interface Execution {
  readonly skill: string;
  readonly startS: number;
  readonly endS: number;
  /** `succeeded`, `failed`, `not_converged`, `stopped`; `broken off` when the log ends first. */
  readonly status: string;
  readonly detail: string;
  readonly measurements: Readonly<Record<string, unknown>>;
  readonly stages: readonly Stage[];
}

type Data = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const record = (value: unknown): Data => (typeof value === "object" && value !== null ? (value as Data) : {});

/** In the order of their beginning. */
export function executionsOf(entries: readonly AuditEntry[]): Execution[] {
  const open = new Map<string, Execution & { stages: Stage[] }>();
  for (const { action, monotonicS, data: raw } of entries) {
    const data = record(raw);
    const id = text(data["decisionId"]);
    const known = open.get(id);
    if (action === "skill.start") {
      open.set(id, {
        skill: text(data["skill"]),
        startS: monotonicS,
        endS: monotonicS,
        status: "broken off",
        detail: "the log ends before the skill",
        measurements: {},
        stages: [],
      });
    } else if (known === undefined) continue;
    else if (action === "skill.stage") {
      const measurements = record(data["measurements"]);
      known.stages.push({ atS: monotonicS, name: text(data["stage"]), measurements });
    } else if (action === "skill.end") {
      open.set(id, {
        ...known,
        endS: monotonicS,
        status: text(data["status"]),
        detail: text(data["detail"]),
        measurements: record(data["measurements"]),
      });
    }
  }
  return [...open.values()];
}
