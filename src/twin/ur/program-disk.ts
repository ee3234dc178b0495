/**
 * The programs on the controller's disk, as the dashboard loads them. A real `.urp` is a packed tree of the panel; here it
 * is the URScript that the panel would make of it.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = "/programs";

/** Waits for a person, as the program of this name does that comes with test suites of client libraries. */
const shipped: Readonly<Record<string, string>> = {
  "wait_program.urp": "def wait_program():\n  while True:\n    sleep(0.1)\n  end\nend\n",
};

export class ProgramDisk {
  /**
   * @param programs text by file name
   * @param directory whose `*.urp` are on the disk, too, read when they are asked for
   */
  constructor(
    private readonly programs: Readonly<Record<string, string>> = {},
    private readonly directory?: string,
  ) {}

  /** Full path of a program that was asked for by name or by path; undefined when there is none. */
  find(wanted: string): string | undefined {
    const name = path.posix.basename(wanted);
    if (wanted !== name && wanted !== `${folder}/${name}`) return undefined;
    return this.text(name) === undefined ? undefined : `${folder}/${name}`;
  }

  /** URScript of a program. */
  text(wanted: string): string | undefined {
    const name = path.posix.basename(wanted);
    const known = this.programs[name] ?? shipped[name];
    if (known !== undefined || this.directory === undefined || !name.endsWith(".urp")) return known;
    const file = path.join(this.directory, name);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }
}
