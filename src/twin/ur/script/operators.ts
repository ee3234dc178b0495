/** What operators and index brackets do to values. @throws ScriptError `type_error`, `index_error` */
import type { BinaryOperator } from "./ast.js";
import { ScriptError } from "./errors.js";
import { equal, show, typeName, type Value } from "./values.js";

export function operate(operator: BinaryOperator, a: Value, b: Value, line: number, column: number): Value {
  if (operator === "==" || operator === "!=") {
    const same = typeof a === typeof b || (typeof a === "object" && typeof b === "object");
    if (!same) throw new ScriptError(line, column, `type_error: ${typeName(a)} ${operator} ${typeName(b)}`);
    return equal(a, b) === (operator === "==");
  }
  if (operator === "xor" && typeof a === "boolean" && typeof b === "boolean") return a !== b;
  if (typeof a === "number" && typeof b === "number") {
    switch (operator) {
      case "<":
        return a < b;
      case ">":
        return a > b;
      case "<=":
        return a <= b;
      case ">=":
        return a >= b;
      case "+":
        return a + b;
      case "-":
        return a - b;
      case "*":
        return a * b;
      case "/":
      case "%":
        if (b === 0) throw new ScriptError(line, column, "division by zero");
        // The sign of a remainder follows the divisor, as in the language URScript descends from.
        return operator === "/" ? a / b : a - b * Math.floor(a / b);
      default:
        break;
    }
  }
  throw new ScriptError(
    line,
    column,
    `type_error: ${typeName(a)} ${operator} ${typeName(b)} (${show(a)}, ${show(b)})`,
  );
}

function position(place: Value, index: Value, line: number, column: number): number {
  if (typeof place !== "object" || place.kind === "struct") {
    throw new ScriptError(line, column, `type_error: a ${typeName(place)} has no elements`);
  }
  if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= place.items.length) {
    throw new ScriptError(line, column, `index_error: [${show(index)}] of ${place.items.length} elements`);
  }
  return index;
}

export function readElement(place: Value, index: Value, line: number, column: number): Value {
  const at = position(place, index, line, column);
  return typeof place === "object" && place.kind !== "struct" ? place.items[at] : undefined;
}

export function writeElement(place: Value, index: Value, value: Value, line: number, column: number): void {
  const at = position(place, index, line, column);
  if (typeof place !== "object" || place.kind === "struct") return;
  if (place.kind === "list") place.items[at] = value;
  else if (typeof value === "number") place.items[at] = value;
  else throw new ScriptError(line, column, `type_error: ${typeName(value)} in a pose`);
}
