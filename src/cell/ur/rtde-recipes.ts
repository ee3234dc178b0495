/** What the controller answers to a recipe: types by position, or why it does not know or give a field. */
import { CellError } from "../../base/errors.js";
import { excerpt } from "./codec/bytes.js";
import { isRtdeType, RecipeCodec, splitNames, type RtdeVersion } from "./codec/rtde.js";

/** @throws CellError LINK_PROTOCOL unless there is one type for each name */
export function readOutputTypes(
  names: readonly string[],
  reply: Buffer,
  version: RtdeVersion,
): { readonly codec: RecipeCodec | undefined; readonly unknown: readonly string[] } {
  const types = splitNames(reply.subarray(version === 2 ? 1 : 0).toString("latin1"));
  if (types.length !== names.length) {
    throw new CellError(
      "LINK_PROTOCOL",
      `UR RTDE: ${types.length} types for ${names.length} fields: ${excerpt(reply)}`,
    );
  }
  const known = types.filter(isRtdeType);
  const codec = known.length === names.length ? new RecipeCodec(known) : undefined;
  return { codec, unknown: names.filter((_, i) => !isRtdeType(types[i] ?? "")) };
}

/** @throws CellError LINK_BUSY naming the fields in use, DEVICE_REFUSED for unknown ones */
export function readInputTypes(
  names: readonly string[],
  reply: Buffer,
): { readonly id: number; readonly codec: RecipeCodec } {
  const types = splitNames(reply.subarray(1).toString("latin1"));
  const named = (wanted: string): string[] => names.filter((_, i) => types[i] === wanted);
  if (named("IN_USE").length > 0) {
    throw new CellError(
      "LINK_BUSY",
      `UR RTDE: inputs in use by another client or field bus: ${named("IN_USE").join(", ")}`,
    );
  }
  const known = types.filter(isRtdeType);
  if (known.length !== names.length) {
    throw new CellError(
      "DEVICE_REFUSED",
      `UR RTDE: this firmware has no inputs ${named("NOT_FOUND").join(", ")}`,
    );
  }
  return { id: reply[0] ?? 0, codec: new RecipeCodec(known) };
}
