/** Values of URScript. Lists, poses and structs are values: an assignment or an argument copies them. */

export interface ListValue {
  readonly kind: "list";
  readonly items: Value[];
}
/** x, y, z in metres and a rotation vector in radians. */
export interface PoseValue {
  readonly kind: "pose";
  readonly items: number[];
}
export interface StructValue {
  readonly kind: "struct";
  readonly fields: Map<string, Value>;
}
/** Threads are numbers (from 1), as programs compare handles with 0; `undefined` is the value of a call without result. */
export type Value = number | boolean | string | ListValue | PoseValue | StructValue | undefined;

export const list = (items: readonly Value[]): ListValue => ({ kind: "list", items: [...items] });
export const pose = (items: readonly number[]): PoseValue => ({ kind: "pose", items: [...items] });

export function copy(value: Value): Value {
  if (typeof value !== "object") return value;
  switch (value.kind) {
    case "list":
      return { kind: "list", items: value.items.map(copy) };
    case "pose":
      return { kind: "pose", items: [...value.items] };
    case "struct":
      return {
        kind: "struct",
        fields: new Map([...value.fields].map(([name, field]) => [name, copy(field)])),
      };
  }
}

export function typeName(value: Value): string {
  if (value === undefined) return "none";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : value.kind;
}

export function equal(a: Value, b: Value): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  if (a.kind === "struct" || b.kind === "struct") {
    if (a.kind !== "struct" || b.kind !== "struct" || a.fields.size !== b.fields.size) return false;
    return [...a.fields].every(([name, value]) => equal(value, b.fields.get(name)));
  }
  return a.items.length === b.items.length && a.items.every((item, i) => equal(item, b.items[i]));
}

/** Text of a value as `textmsg` and `to_str` write it. */
export function show(value: Value): string {
  if (value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number")
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value === "string") return value;
  if (value.kind === "pose") return `p[${value.items.map(show).join(", ")}]`;
  if (value.kind === "list") return `[${value.items.map(show).join(", ")}]`;
  return `struct(${[...value.fields].map(([name, field]) => `${name}=${show(field)}`).join(", ")})`;
}
