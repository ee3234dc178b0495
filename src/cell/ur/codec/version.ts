/** Version of a controller's software and comparisons on it. */
export interface SoftwareVersion {
  readonly major: number;
  readonly minor: number;
  readonly bugfix: number;
  readonly build: number;
}

/** Whether `version` is at least the given one of its series: CB3 is major 3, e-Series major 5. */
export function atLeast(
  version: SoftwareVersion,
  cb3: readonly [minor: number, bugfix?: number] | null,
  eSeries: readonly [minor: number, bugfix?: number] | undefined = [0],
): boolean {
  const least = version.major >= 5 ? eSeries : cb3;
  if (!least) return false;
  const [minor, bugfix = 0] = least;
  return version.minor > minor || (version.minor === minor && version.bugfix >= bugfix);
}

export const versionText = (version: SoftwareVersion): string =>
  `${version.major}.${version.minor}.${version.bugfix}.${version.build}`;

/** Parses `URSoftware 3.15.8.106339 (Jun 20 2022)` and plain `3.15.8.106339`. */
export function parseVersion(text: string): SoftwareVersion | undefined {
  const match = /(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  if (!match) return undefined;
  return {
    major: Number(match[1]),
    minor: Number(match[2]),
    bugfix: Number(match[3]),
    build: Number(match[4] ?? 0),
  };
}
