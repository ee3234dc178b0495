/** Errors of the native part, which carry a code of the catalogue, as errors of the catalogue. */
import { CellError, errorCatalogue, type ErrorCode } from "../base/errors.js";

const isCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(errorCatalogue, code);

/** The error as a CellError; one that has no code of ours becomes INTERNAL. `what` says what was being done. */
export function asNativeError(error: unknown, what: string): CellError {
  if (error instanceof CellError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return new CellError(isCode(code) ? code : "INTERNAL", `${what}: ${message}`, { cause: error });
}
