/**
 * What a key of a file means, beside its type: unit, description, whether a change needs a restart. The notes hang on
 * the zod schema, so that checking, explaining and documenting read from one place.
 */
import { z } from "zod";

export interface KeyNotes {
  /** SI symbol or "px", "bit/s", ...; left out for texts and counts. */
  readonly unit?: string;
  readonly description: string;
  /** False when a running daemon takes the change on SIGHUP. */
  readonly requiresRestart: boolean;
}

const notes = z.registry<KeyNotes>();

/** Attaches notes to the outermost schema of a key. Keys need a restart unless they say otherwise. */
export function key<S extends z.ZodType>(
  schema: S,
  description: string,
  extra: { readonly unit?: string; readonly live?: boolean } = {},
): S {
  // A copy: schemas such as "port" are shared between keys, their notes are not.
  const own = schema.clone();
  notes.add(own, {
    description,
    requiresRestart: extra.live !== true,
    ...(extra.unit === undefined ? {} : { unit: extra.unit }),
  });
  return own;
}

/** The schema inside optional and default wrappers, and behind a preprocessing step. */
export function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return unwrap(schema.def.innerType as z.ZodType);
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.def.out as z.ZodType) : schema;
}

/** The schema of the key at `path` (wrappers kept at the last step, so that its notes are found), if there is one. */
export function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  if (path.length === 0) return notes.has(schema) ? schema : unwrap(schema);
  const [first, ...rest] = path;
  const here = unwrap(schema);
  let next: z.ZodType | undefined;
  if (here instanceof z.ZodObject) next = (here.shape as Record<PropertyKey, z.ZodType>)[first ?? ""];
  else if (here instanceof z.ZodArray) next = here.element as z.ZodType;
  else if (here instanceof z.ZodTuple && typeof first === "number") {
    next = (here.def.items as readonly z.ZodType[])[first];
  }
  return next === undefined ? undefined : schemaAt(next, rest);
}

/** Type and range in words: `number 1 to 200`, `one of rules, zmq`. */
export function describeType(schema: z.ZodType): string {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodEnum) return `one of ${inner.options.join(", ")}`;
  if (inner instanceof z.ZodNumber) {
    const word = inner.format === "safeint" ? "whole number" : "number";
    const { minValue, maxValue } = inner;
    const low = minValue !== null && Number.isFinite(minValue) && minValue > Number.MIN_SAFE_INTEGER;
    const high = maxValue !== null && Number.isFinite(maxValue) && maxValue < Number.MAX_SAFE_INTEGER;
    if (low && high) return `${word} ${minValue} to ${maxValue}`;
    if (low) return `${word}, at least ${minValue}`;
    return high ? `${word}, at most ${maxValue}` : word;
  }
  if (inner instanceof z.ZodString) return inner.minLength ? "text, not empty" : "text";
  if (inner instanceof z.ZodBoolean) return "true or false";
  if (inner instanceof z.ZodLiteral) return [...inner.values].map(String).join(" or ");
  if (inner instanceof z.ZodArray) {
    return `list of ${describeType(inner.element as z.ZodType)}`;
  }
  if (inner instanceof z.ZodTuple) return `list of ${inner.def.items.length} entries`;
  if (inner instanceof z.ZodObject) return "section";
  return inner.def.type;
}

/** Type, range and unit of a key in words. */
export function describeKey(schema: z.ZodType): string {
  const unit = notes.get(schema)?.unit;
  return unit === undefined ? describeType(schema) : `${describeType(schema)} (${unit})`;
}

/** One line of the explanation of a schema. */
export interface ExplainedKey {
  readonly path: string;
  readonly type: string;
  readonly unit: string | undefined;
  /** Undefined: the key must be given, or it is optional and left out. */
  readonly default: unknown;
  readonly required: boolean;
  readonly requiresRestart: boolean;
  readonly description: string;
}

function defaultOf(schema: z.ZodType): unknown {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? schema.def.defaultValue
    : undefined;
}

/** Every leaf key of an object schema in file order; list entries appear as `name[]`. */
export function explainSchema(schema: z.ZodType, prefix = ""): ExplainedKey[] {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, child]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const bare = unwrap(child);
    if (bare instanceof z.ZodObject) return explainSchema(child, path);
    const element = bare instanceof z.ZodArray ? (bare.element as z.ZodType) : undefined;
    if (element !== undefined && unwrap(element) instanceof z.ZodObject) {
      return explainSchema(element, `${path}[]`);
    }
    const note = notes.get(child);
    const fallback = defaultOf(child);
    return [
      {
        path,
        type: describeType(child),
        unit: note?.unit,
        default: fallback,
        required: fallback === undefined && !(child instanceof z.ZodOptional),
        requiresRestart: note?.requiresRestart ?? true,
        description: note?.description ?? "",
      },
    ];
  });
}

/** Leaf keys without a description: a schema is complete when there is none. */
export function undescribedKeys(schema: z.ZodType): string[] {
  return explainSchema(schema)
    .filter((entry) => entry.description === "")
    .map((entry) => entry.path);
}
