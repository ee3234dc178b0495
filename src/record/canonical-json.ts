/**
 * Canonical JSON (RFC 8785): one text for one value, so that a hash over it means the value. Keys are sorted by UTF-16
 * code units, numbers and strings are written as ECMAScript writes them. Two additions for measured data: non-finite
 * numbers become the strings "NaN", "Infinity" and "-Infinity" instead of vanishing into null, and bigints become
 * decimal strings.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : `"${String(value)}"`;
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "bigint":
      return `"${value.toString()}"`;
    case "object":
      break;
    default:
      throw new TypeError(`a ${typeof value} has no JSON form`);
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${value.map(arrayItem).join(",")}]`;
  if (ArrayBuffer.isView(value)) throw new TypeError("binary data does not belong in JSON");
  const fields: string[] = [];
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) {
    const field = record[key];
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${canonicalJson(field)}`);
  }
  return `{${fields.join(",")}}`;
}

const arrayItem = (item: unknown): string => (item === undefined ? "null" : canonicalJson(item));
