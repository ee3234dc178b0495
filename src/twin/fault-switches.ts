/**
 * The faults that a running twin can be given: one switch each, by name, from the control socket, a scenario or a test.
 * Every device family has a table of its own; the twin joins them.
 */
import { CellError } from "../base/errors.js";

export type FaultValue = string | number | undefined;

export interface FaultSwitch {
  /** What happens, as one sentence without a period. */
  readonly what: string;
  /** What the value is, with its unit, for switches that take one. */
  readonly value?: string;
  /** @throws RangeError when the value is none of those. */
  readonly set: (value: FaultValue) => void;
}

export type FaultTable = Readonly<Record<string, FaultSwitch>>;

export class FaultSwitches {
  private readonly switches = new Map<string, FaultSwitch>();

  constructor(...tables: FaultTable[]) {
    for (const table of tables) {
      for (const [name, one] of Object.entries(table)) {
        if (this.switches.has(name)) throw new CellError("INTERNAL", `two faults are called ${name}`);
        this.switches.set(name, one);
      }
    }
  }

  has(name: string): boolean {
    return this.switches.has(name);
  }

  /** @throws CellError COMMAND_INVALID for an unknown name or a value that does not fit. */
  set(name: string, value?: FaultValue): void {
    const one = this.switches.get(name);
    if (!one) {
      throw new CellError("COMMAND_INVALID", `there is no fault ${name}`, {
        remedy: "`npx surgiclaw twin faults` lists them",
      });
    }
    try {
      one.set(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new CellError("COMMAND_INVALID", `${name} takes ${one.value ?? "no value"}: ${error.message}`);
    }
  }

  list(): { readonly fault: string; readonly what: string; readonly value: string | null }[] {
    return [...this.switches].map(([fault, { what, value }]) => ({ fault, what, value: value ?? null }));
  }
}

/** The value as a number. @throws RangeError */
export function numberValue(value: FaultValue, least = -Infinity, most = Infinity): number {
  const number = typeof value === "string" ? Number(value) : value;
  if (number === undefined || !Number.isFinite(number) || number < least || number > most) {
    throw new RangeError(`${String(value)} is no number from ${least} to ${most}`);
  }
  return number;
}

/** The value as on or off; on when there is none. @throws RangeError */
export function onOff(value: FaultValue): boolean {
  if (value === undefined || value === "on" || value === 1) return true;
  if (value === "off" || value === 0) return false;
  throw new RangeError(`${value} is neither on nor off`);
}
