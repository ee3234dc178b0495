/** Watchdogs over RTDE inputs that programs set; they belong to the program and vanish with it. */
import type { Program } from "./script/program.js";
import type { WatchdogAction } from "./script/services.js";

interface Watchdog {
  readonly program: Program;
  readonly variable: string;
  readonly limitS: number;
  readonly action: WatchdogAction;
  fedS: number;
}

export class Watchdogs {
  private list: Watchdog[] = [];

  set(program: Program, variable: string, minimumHz: number, action: WatchdogAction, nowS: number): void {
    // Trips after about two missed periods; a rate of zero does not disarm it but trips at once, as the software does.
    const limitS = minimumHz > 0 ? 2 / minimumHz : 0.04;
    this.list = this.list.filter((watchdog) => watchdog.variable !== variable);
    this.list.push({ program, variable, limitS, action, fedS: nowS });
  }

  /** An input package with this variable came, whatever its value. */
  feed(names: ReadonlyMap<string, unknown>, nowS: number): void {
    for (const watchdog of this.list) if (names.has(watchdog.variable)) watchdog.fedS = nowS;
  }

  /** The variable whose watchdog trips now and does not ignore it. */
  tripped(nowS: number): string | undefined {
    const late = this.list.find(({ fedS, limitS }) => nowS - fedS > limitS);
    if (!late) return undefined;
    this.list = this.list.filter((other) => other !== late);
    return late.action === "ignore" ? undefined : late.variable;
  }

  end(program: Program): void {
    this.list = this.list.filter((watchdog) => watchdog.program !== program);
  }
}
