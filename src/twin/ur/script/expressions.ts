/** Compiles expressions: operators, elements, calls of routines and of built-in functions. */
import type { Argument, Expression } from "./ast.js";
import { Args, type Builtin, type BuiltinTable } from "./builtin.js";
import { chain, gather, run, type Code } from "./code.js";
import { ScriptError } from "./errors.js";
import { Frame } from "./frame.js";
import { operate, readElement } from "./operators.js";
import { activate, findRoutine, isKnown, type CompiledRoutine, type Environment } from "./routines.js";
import { copy, list, pose, typeName, type Value } from "./values.js";

export class ExpressionCompiler {
  constructor(
    private readonly builtins: BuiltinTable,
    private readonly globals: ReadonlySet<string>,
  ) {}

  compile(expression: Expression, environment: Environment): Code<Value> {
    const { line, column } = expression;
    switch (expression.kind) {
      case "literal": {
        const { value } = expression;
        return { waits: false, run: () => value };
      }
      case "variable": {
        const { name } = expression;
        if (!isKnown(name, environment, this.globals)) {
          throw new ScriptError(line, column, `compile_error_name_not_found:${name}:`);
        }
        return {
          waits: false,
          run(frame) {
            const holder = frame.holder(name);
            if (!holder) throw new ScriptError(line, column, `name_error: '${name}' has no value`);
            return holder.variables.get(name);
          },
        };
      }
      case "list":
        return gather(
          expression.items.map((item) => this.compile(item, environment)),
          (values) => list(values.map(copy)),
        );
      case "pose":
        return gather(
          expression.items.map((item) => this.compile(item, environment)),
          (values) =>
            pose(
              values.map((value) => {
                if (typeof value === "number") return value;
                throw new ScriptError(line, column, `type_error: ${typeName(value)} in a pose`);
              }),
            ),
        );
      case "unary": {
        const { operator } = expression;
        return chain(this.compile(expression.operand, environment), (value) => {
          if (operator === "not") {
            if (typeof value === "boolean") return !value;
          } else if (typeof value === "number") return operator === "-" ? -value : value;
          throw new ScriptError(line, column, `type_error: ${operator} of a ${typeName(value)}`);
        });
      }
      case "binary":
        return this.binary(expression, environment);
      case "index": {
        const parts = [expression.base, ...expression.indices].map((part) => this.compile(part, environment));
        return gather(parts, ([base, ...indices]) =>
          indices.reduce<Value>((value, index) => readElement(value, index, line, column), base),
        );
      }
      case "member": {
        const { name } = expression;
        return chain(this.compile(expression.base, environment), (value) => {
          if (typeof value === "object" && value.kind === "struct" && value.fields.has(name)) {
            return value.fields.get(name);
          }
          throw new ScriptError(line, column, `type_error: no member '${name}' in a ${typeName(value)}`);
        });
      }
      case "run": {
        const routine = findRoutine(expression.name, environment);
        if (!routine) throw new ScriptError(line, column, `compile_error_name_not_found:${expression.name}:`);
        const bind = this.binder(routine, expression.args, environment, line, column);
        return chain(bind, (bound, frame) =>
          frame.thread.program.startThread(routine, frame.ancestor(routine.depth), bound),
        );
      }
      case "call":
        return this.call(expression, environment);
    }
  }

  private binary(expression: Extract<Expression, { kind: "binary" }>, environment: Environment): Code<Value> {
    const { operator, line, column } = expression;
    const left = this.compile(expression.left, environment);
    const right = this.compile(expression.right, environment);
    if (operator === "and" || operator === "or") {
      const truth = (value: Value): boolean => {
        if (typeof value === "boolean") return value;
        throw new ScriptError(line, column, `type_error: ${operator} of a ${typeName(value)}`);
      };
      const decided = operator === "or";
      if (!left.waits && !right.waits) {
        return {
          waits: false,
          run: (frame) => (truth(left.run(frame)) === decided ? decided : truth(right.run(frame))),
        };
      }
      return {
        waits: true,
        *run(frame) {
          if (truth(yield* run(left, frame)) === decided) return decided;
          return truth(yield* run(right, frame));
        },
      };
    }
    return gather([left, right], ([a, b]) => operate(operator, a, b, line, column));
  }

  private call(expression: Extract<Expression, { kind: "call" }>, environment: Environment): Code<Value> {
    const { name, args, line, column } = expression;
    const routine = findRoutine(name, environment);
    if (routine) {
      const bind = this.binder(routine, args, environment, line, column);
      return {
        waits: true,
        *run(frame) {
          const bound = yield* run(bind, frame);
          const inner = new Frame(frame.thread, frame.ancestor(routine.depth));
          for (const [key, value] of bound) inner.variables.set(key, value);
          return yield* activate(routine, inner);
        },
      };
    }
    if (name === "struct") {
      const names = args.map((arg) => {
        if (arg.name === undefined) throw new ScriptError(line, column, "struct: members need names");
        return arg.name;
      });
      return gather(
        args.map((arg) => this.compile(arg.value, environment)),
        (values) => ({ kind: "struct", fields: new Map(names.map((key, i) => [key, copy(values[i])])) }),
      );
    }
    const builtin = this.builtins.get(name);
    if (!builtin) throw new ScriptError(line, column, `compile_error_name_not_found:${name}:`);
    const order = parameterOrder(builtin, name, args, line, column);
    const values = args.map((arg) => this.compile(arg.value, environment));
    const bind = gather(values, (results) => {
      const bound = new Map<string, Value>();
      results.forEach((value, i) => {
        const parameter = order[i];
        if (parameter !== undefined) bound.set(parameter, copy(value));
      });
      return new Args(name, bound, line, column);
    });
    if (builtin.waits) {
      return {
        waits: true,
        *run(frame) {
          const bound = yield* run(bind, frame);
          return yield* builtin.call(bound, frame.thread);
        },
      };
    }
    return chain(bind, (bound, frame) => builtin.call(bound, frame.thread));
  }

  private binder(
    compiled: CompiledRoutine,
    args: readonly Argument[],
    environment: Environment,
    line: number,
    column: number,
  ): Code<Map<string, Value>> {
    const { parameters, name } = compiled.routine;
    const names = args.map((arg, i) => {
      const parameter = arg.name ?? parameters[i]?.name;
      if (parameter === undefined || !parameters.some((known) => known.name === parameter)) {
        throw new ScriptError(
          line,
          column,
          `compile_error_argument: ${name}(${arg.name ?? "too many arguments"})`,
        );
      }
      return parameter;
    });
    const missing = parameters.find(({ name: wanted, initial }) => !initial && !names.includes(wanted));
    if (missing)
      throw new ScriptError(line, column, `compile_error_argument: ${name} needs '${missing.name}'`);
    const values = args.map((arg) => this.compile(arg.value, environment));
    return gather(values, (results, frame) => {
      const bound = new Map<string, Value>();
      for (const [parameter, code] of compiled.defaults) {
        if (!code.waits && !names.includes(parameter)) bound.set(parameter, code.run(frame));
      }
      results.forEach((value, i) => {
        const parameter = names[i];
        if (parameter !== undefined) bound.set(parameter, copy(value));
      });
      return bound;
    });
  }
}

/** Which parameter each argument goes to. */
function parameterOrder(
  builtin: Builtin,
  name: string,
  args: readonly Argument[],
  line: number,
  column: number,
): string[] {
  if (builtin.parameters.includes("*")) return args.map((arg, i) => arg.name ?? `argument ${i}`);
  const order: string[] = [];
  args.forEach((arg, i) => {
    const parameter = arg.name ?? builtin.parameters[i];
    if (parameter === undefined || (arg.name !== undefined && !builtin.parameters.includes(arg.name))) {
      throw new ScriptError(
        line,
        column,
        `compile_error_argument: ${name}(${arg.name ?? "too many arguments"})`,
      );
    }
    order.push(parameter);
  });
  const missing = builtin.parameters
    .slice(0, builtin.required)
    .find((parameter) => !order.includes(parameter));
  if (missing !== undefined) {
    throw new ScriptError(line, column, `compile_error_argument: ${name} needs '${missing}'`);
  }
  return order;
}
