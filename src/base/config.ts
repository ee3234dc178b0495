/** Loading the configuration: one YAML file, checked whole, every path in it made absolute. */
import path from "node:path";
import { configSchema, type Config } from "./config-schema.js";
import { CellError } from "./errors.js";
import { projectRoot } from "./paths.js";
import { explainSchema, type ExplainedKey } from "./schema-keys.js";
import { loadYaml } from "./yaml-file.js";

export type { Config } from "./config-schema.js";

export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path of the file. */
  readonly file: string;
  /** The text as read, for the recording. */
  readonly text: string;
}

/** A profile by name is a file that ships; anything with a slash or .yaml is a path beside the configuration. */
export function profileFile(profile: string, baseFolder: string): string {
  if (profile.includes("/") || profile.endsWith(".yaml")) return path.resolve(baseFolder, profile);
  return path.join(projectRoot, "firmware-profiles", `${profile}.yaml`);
}

/** ipc://PATH with the path made absolute; other transports as they are. */
function resolveEndpoint(endpoint: string, baseFolder: string): string {
  if (!endpoint.startsWith("ipc://") || endpoint.startsWith("ipc://@")) return endpoint;
  return `ipc://${path.resolve(baseFolder, endpoint.slice("ipc://".length))}`;
}

/** The configuration with every relative path resolved against the folder of its file. */
export function resolvePaths(config: Config, baseFolder: string): Config {
  const at = (file: string): string => path.resolve(baseFolder, file);
  const { devices } = config;
  return {
    ...config,
    cell: { ...config.cell, file: at(config.cell.file) },
    calibration: { file: at(config.calibration.file) },
    devices: {
      ...devices,
      arm: { ...devices.arm, profile: profileFile(devices.arm.profile, baseFolder) },
      stages: {
        ...devices.stages,
        profile: profileFile(devices.stages.profile, baseFolder),
        ...(devices.stages.path === undefined ? {} : { path: at(devices.stages.path) }),
      },
      needle: {
        ...devices.needle,
        profile: profileFile(devices.needle.profile, baseFolder),
        path: at(devices.needle.path),
      },
      microscopes: devices.microscopes.map((entry) => ({
        ...entry,
        profile: profileFile(entry.profile, baseFolder),
      })),
    },
    reasoner: { ...config.reasoner, endpoint: resolveEndpoint(config.reasoner.endpoint, baseFolder) },
    record: {
      ...config.record,
      folder: at(config.record.folder),
      ...(config.record.signingKey === undefined ? {} : { signingKey: at(config.record.signingKey) }),
    },
    command: {
      ...config.command,
      endpoint: resolveEndpoint(config.command.endpoint, baseFolder),
      events: resolveEndpoint(config.command.events, baseFolder),
    },
    log: config.log.file === undefined ? config.log : { ...config.log, file: at(config.log.file) },
  };
}

/** @throws CellError CONFIG_UNREADABLE or CONFIG_INVALID naming file, line, key and what was expected. */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  const absolute = path.resolve(file);
  const { value, text } = await loadYaml(absolute, configSchema, {
    unreadable: "CONFIG_UNREADABLE",
    invalid: "CONFIG_INVALID",
  });
  return { config: resolvePaths(value, path.dirname(absolute)), file: absolute, text };
}

/** Every key with type, unit, default and whether a change needs a restart. */
export const explainConfig = (): ExplainedKey[] => explainSchema(configSchema);

function flatten(value: unknown, prefix: string, into: Map<string, unknown>): Map<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [name, child] of Object.entries(value)) {
      flatten(child, prefix === "" ? name : `${prefix}.${name}`, into);
    }
  } else into.set(prefix, value);
  return into;
}

/** What a re-read file changes: the keys a running daemon may take, and those that wait for a restart. */
export function compareConfigs(present: Config, next: Config): { live: string[]; restart: string[] } {
  const before = flatten(present, "", new Map());
  const after = flatten(next, "", new Map());
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name)),
  );
  const liveKeys = new Set(
    explainConfig()
      .filter((entry) => !entry.requiresRestart)
      .map((entry) => entry.path),
  );
  return {
    live: changed.filter((name) => liveKeys.has(name)),
    restart: changed.filter((name) => !liveKeys.has(name)),
  };
}

/** `present` with the live keys of `next`. */
export function takeLiveKeys(present: Config, next: Config): Config {
  const merged = structuredClone(present) as unknown as Record<string, Record<string, unknown>>;
  const source = next as unknown as Record<string, Record<string, unknown>>;
  for (const { path: name, requiresRestart } of explainConfig()) {
    if (requiresRestart) continue;
    const [section, leaf, ...deeper] = name.split(".");
    if (section === undefined || leaf === undefined || deeper.length > 0) {
      throw new CellError("INTERNAL", `live key ${name} lies too deep to be taken`);
    }
    const from = source[section];
    const into = merged[section];
    if (from !== undefined && into !== undefined) into[leaf] = from[leaf];
  }
  return merged as unknown as Config;
}
