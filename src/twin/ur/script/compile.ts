/**
 * Turns the syntax tree into closures. Code that cannot wait is an ordinary function; code that may wait (blocking
 * functions, calls of routines) is a generator that yields once per control step. Names are resolved before anything
 * runs, so an unknown function or variable is a compile error, as on the controller.
 */
import type { Argument, BinaryOperator, Expression, Routine, Statement, Target } from "./ast.js";
import { Args, type Builtin, type BuiltinTable, type Thread } from "./builtin.js";
import { Halt, ScriptError } from "./errors.js";
import { copy, equal, list, pose, show, typeName, type Value } from "./values.js";

/** Variables of one activation; `parent` is the enclosing routine's (lexical), the root holds the globals. */
export class Frame {
  readonly variables = new Map<string, Value>();
  readonly depth: number;
  result: Value;

  constructor(
    readonly thread: Thread,
    readonly parent: Frame | undefined,
  ) {
    this.depth = parent ? parent.depth + 1 : 0;
  }

  holder(name: string): Frame | undefined {
    if (this.variables.has(name)) return this;
    return this.parent?.holder(name);
  }
  root(): Frame {
    return this.parent ? this.parent.root() : this;
  }
  /** The enclosing activation of a routine declared at `depth`, as seen by `thread`. */
  ancestor(depth: number): Frame {
    return this.depth <= depth || !this.parent ? this : this.parent.ancestor(depth);
  }
}

export type Wait<T> = Generator<undefined, T>;
type Code<T> =
  | { readonly waits: false; readonly run: (frame: Frame) => T }
  | { readonly waits: true; readonly run: (frame: Frame) => Wait<T> };

function* run<T>(code: Code<T>, frame: Frame): Wait<T> {
  return code.waits ? yield* code.run(frame) : code.run(frame);
}

/** How a statement ended. */
type Outcome = "next" | "break" | "continue" | "return";

export interface CompiledRoutine {
  readonly routine: Routine;
  /** Depth of the activation it is declared in. */
  readonly depth: number;
  body: Code<Outcome>;
  readonly defaults: Map<string, Code<Value>>;
}

interface Environment {
  readonly routines: Map<string, CompiledRoutine>;
  readonly names: Set<string>;
  readonly parent: Environment | undefined;
  readonly depth: number;
}

/** Statements that one thread may execute in one control step before it counts as an infinite loop. */
const statementBudget = 200_000;

/** @throws ScriptError `compile_error_…` */
export function compile(program: Routine, builtins: BuiltinTable): CompiledRoutine {
  return new Compiler(builtins, globalsOf(program.body)).routine(program, undefined);
}

function globalsOf(body: readonly Statement[], found = new Set<string>()): Set<string> {
  for (const statement of body) {
    if (statement.kind === "assign" && statement.scope === "global") found.add(statement.target.name);
    else if (statement.kind === "if") {
      for (const branch of statement.branches) globalsOf(branch.body, found);
      globalsOf(statement.otherwise, found);
    } else if (statement.kind === "while") globalsOf(statement.body, found);
    else if (statement.kind === "routine") globalsOf(statement.routine.body, found);
  }
  return found;
}

function assignedIn(body: readonly Statement[], found = new Set<string>()): Set<string> {
  for (const statement of body) {
    if (statement.kind === "assign") found.add(statement.target.name);
    else if (statement.kind === "if") {
      for (const branch of statement.branches) assignedIn(branch.body, found);
      assignedIn(statement.otherwise, found);
    } else if (statement.kind === "while") assignedIn(statement.body, found);
  }
  return found;
}

/** Starts a routine: its body as a generator in a fresh activation. */
export function* activate(compiled: CompiledRoutine, frame: Frame): Wait<Value> {
  yield* run(compiled.body, frame);
  return frame.result;
}

class Compiler {
  constructor(
    private readonly builtins: BuiltinTable,
    private readonly globals: ReadonlySet<string>,
  ) {}

  routine(routine: Routine, parent: Environment | undefined): CompiledRoutine {
    const depth = parent ? parent.depth + 1 : 0;
    const environment: Environment = {
      routines: new Map(),
      names: assignedIn(routine.body),
      parent,
      depth,
    };
    for (const parameter of routine.parameters) environment.names.add(parameter.name);
    const defaults = new Map<string, Code<Value>>();
    for (const { name, initial } of routine.parameters) {
      if (initial) defaults.set(name, this.expression(initial, environment));
    }
    const compiled: CompiledRoutine = {
      routine,
      depth: depth - 1,
      body: { waits: false, run: () => "next" },
      defaults,
    };
    // A routine may call itself and those declared beside it.
    this.declare(routine.body, environment);
    compiled.body = this.block(routine.body, environment);
    return compiled;
  }

  private declare(body: readonly Statement[], environment: Environment): void {
    const waiting: { routine: Routine; compiled: CompiledRoutine }[] = [];
    for (const statement of body) {
      if (statement.kind !== "routine") continue;
      const compiled: CompiledRoutine = {
        routine: statement.routine,
        depth: environment.depth,
        body: { waits: false, run: () => "next" },
        defaults: new Map(),
      };
      environment.routines.set(statement.routine.name, compiled);
      waiting.push({ routine: statement.routine, compiled });
    }
    for (const { routine, compiled } of waiting) {
      const done = this.routine(routine, environment);
      compiled.body = done.body;
      for (const [name, code] of done.defaults) compiled.defaults.set(name, code);
    }
  }

  private findRoutine(name: string, environment: Environment | undefined): CompiledRoutine | undefined {
    if (!environment) return undefined;
    return environment.routines.get(name) ?? this.findRoutine(name, environment.parent);
  }

  private known(name: string, environment: Environment | undefined): boolean {
    if (!environment) return this.globals.has(name);
    return environment.names.has(name) || this.known(name, environment.parent);
  }

  private block(body: readonly Statement[], environment: Environment): Code<Outcome> {
    const codes = body
      .filter((statement) => statement.kind !== "routine")
      .map((statement) => ({ code: this.statement(statement, environment), line: statement.line }));
    const plain: { run: (frame: Frame) => Outcome; line: number }[] = [];
    for (const { code, line } of codes) if (!code.waits) plain.push({ run: code.run, line });
    if (plain.length === codes.length) {
      return {
        waits: false,
        run(frame) {
          for (const { run: one, line } of plain) {
            enter(frame, line);
            const outcome = one(frame);
            if (outcome !== "next") return outcome;
          }
          return "next";
        },
      };
    }
    return {
      waits: true,
      *run(frame) {
        for (const { code, line } of codes) {
          enter(frame, line);
          const outcome = code.waits ? yield* code.run(frame) : code.run(frame);
          if (outcome !== "next") return outcome;
        }
        return "next";
      },
    };
  }

  private statement(statement: Statement, environment: Environment): Code<Outcome> {
    const { line, column } = statement;
    switch (statement.kind) {
      case "expression":
        return chain(this.expression(statement.value, environment), () => "next");
      case "assign": {
        const write = this.writer(statement.target, statement.scope, environment);
        const value = this.expression(statement.value, environment);
        return chain(value, (result, frame) => {
          if (result === undefined)
            throw new ScriptError(line, column, "assignment of a call without a result");
          write(frame, copy(result));
          return "next";
        });
      }
      case "if":
        return this.ifCode(statement, environment);
      case "while":
        return this.whileCode(statement, environment);
      case "return":
        if (!statement.value) return { waits: false, run: () => "return" };
        return chain(this.expression(statement.value, environment), (value, frame) => {
          frame.result = copy(value);
          return "return";
        });
      case "break":
      case "continue": {
        const outcome = statement.kind;
        return { waits: false, run: () => outcome };
      }
      case "enter_critical":
        return {
          waits: false,
          run(frame) {
            frame.thread.critical++;
            return "next";
          },
        };
      case "exit_critical":
        return {
          waits: false,
          run(frame) {
            frame.thread.critical = Math.max(0, frame.thread.critical - 1);
            return "next";
          },
        };
      case "halt":
        return {
          waits: false,
          run() {
            throw new Halt("program");
          },
        };
      case "kill":
        return chain(this.expression(statement.handle, environment), (handle, frame) => {
          frame.thread.program.killThread(handle, frame.thread);
          return "next";
        });
      case "join": {
        const handle = this.expression(statement.handle, environment);
        return {
          waits: true,
          *run(frame) {
            const id = yield* run(handle, frame);
            while (frame.thread.program.isAlive(id)) yield;
            return "next";
          },
        };
      }
      case "pass":
      case "routine":
        return { waits: false, run: () => "next" };
    }
  }

  private ifCode(statement: Extract<Statement, { kind: "if" }>, environment: Environment): Code<Outcome> {
    const branches = statement.branches.map(({ condition, body }) => ({
      condition: this.condition(condition, environment),
      body: this.block(body, environment),
    }));
    const otherwise = this.block(statement.otherwise, environment);
    const waits = otherwise.waits || branches.some(({ condition, body }) => condition.waits || body.waits);
    const steps = branches.map(({ condition, body }) => [condition, body] as const);
    if (!waits) {
      return {
        waits: false,
        run(frame) {
          for (const [condition, body] of steps) {
            if (!condition.waits && !body.waits && condition.run(frame)) return body.run(frame);
          }
          return otherwise.waits ? "next" : otherwise.run(frame);
        },
      };
    }
    return {
      waits: true,
      *run(frame) {
        for (const [condition, body] of steps) {
          if (yield* run(condition, frame)) return yield* run(body, frame);
        }
        return yield* run(otherwise, frame);
      },
    };
  }

  private whileCode(
    statement: Extract<Statement, { kind: "while" }>,
    environment: Environment,
  ): Code<Outcome> {
    const condition = this.condition(statement.condition, environment);
    const body = this.block(statement.body, environment);
    const { line } = statement;
    if (!condition.waits && !body.waits) {
      return {
        waits: false,
        run(frame) {
          while (condition.run(frame)) {
            enter(frame, line);
            const outcome = body.run(frame);
            if (outcome === "break") break;
            if (outcome === "return") return outcome;
          }
          return "next";
        },
      };
    }
    return {
      waits: true,
      *run(frame) {
        while (yield* run(condition, frame)) {
          enter(frame, line);
          const outcome = yield* run(body, frame);
          if (outcome === "break") break;
          if (outcome === "return") return outcome;
        }
        return "next";
      },
    };
  }

  private condition(expression: Expression, environment: Environment): Code<boolean> {
    return chain(this.expression(expression, environment), (value) => {
      if (typeof value !== "boolean") {
        throw new ScriptError(
          expression.line,
          expression.column,
          `type_error: condition is a ${typeName(value)}`,
        );
      }
      return value;
    });
  }

  /** How to write to a target. Index expressions of a target must not wait. */
  private writer(
    target: Target,
    scope: "global" | "local" | undefined,
    environment: Environment,
  ): (frame: Frame, value: Value) => void {
    const { name, path, line, column } = target;
    const holderOf = (frame: Frame): Frame =>
      scope === "global" ? frame.root() : scope === "local" ? frame : (frame.holder(name) ?? frame);
    if (path.length === 0) return (frame, value) => holderOf(frame).variables.set(name, value);
    const steps = path.map((step) => {
      if (step.kind === "member") return { name: step.name };
      const indices = step.indices.map((index) => this.expression(index, environment));
      return { indices };
    });
    return (frame, value) => {
      let place = holderOf(frame).variables.get(name);
      steps.forEach((step, i) => {
        const last = i === steps.length - 1;
        if ("name" in step) {
          if (typeof place !== "object" || place.kind !== "struct") {
            throw new ScriptError(line, column, `type_error: ${name} is not a struct`);
          }
          if (last) place.fields.set(step.name, value);
          else place = place.fields.get(step.name);
          return;
        }
        const numbers = step.indices.map((index) => {
          if (index.waits) throw new ScriptError(line, column, "an index of an assignment may not wait");
          return index.run(frame);
        });
        numbers.forEach((number, k) => {
          if (last && k === numbers.length - 1) writeElement(place, number, value, line, column);
          else place = readElement(place, number, line, column);
        });
      });
    };
  }

  expression(expression: Expression, environment: Environment): Code<Value> {
    const { line, column } = expression;
    switch (expression.kind) {
      case "literal": {
        const { value } = expression;
        return { waits: false, run: () => value };
      }
      case "variable": {
        const { name } = expression;
        if (!this.known(name, environment)) {
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
          expression.items.map((item) => this.expression(item, environment)),
          (values) => list(values.map(copy)),
        );
      case "pose":
        return gather(
          expression.items.map((item) => this.expression(item, environment)),
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
        return chain(this.expression(expression.operand, environment), (value) => {
          if (operator === "not") {
            if (typeof value === "boolean") return !value;
          } else if (typeof value === "number") return operator === "-" ? -value : value;
          throw new ScriptError(line, column, `type_error: ${operator} of a ${typeName(value)}`);
        });
      }
      case "binary":
        return this.binary(expression, environment);
      case "index": {
        const parts = [expression.base, ...expression.indices].map((part) =>
          this.expression(part, environment),
        );
        return gather(parts, ([base, ...indices]) =>
          indices.reduce<Value>((value, index) => readElement(value, index, line, column), base),
        );
      }
      case "member": {
        const { name } = expression;
        return chain(this.expression(expression.base, environment), (value) => {
          if (typeof value === "object" && value.kind === "struct" && value.fields.has(name)) {
            return value.fields.get(name);
          }
          throw new ScriptError(line, column, `type_error: no member '${name}' in a ${typeName(value)}`);
        });
      }
      case "run": {
        const routine = this.findRoutine(expression.name, environment);
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
    const left = this.expression(expression.left, environment);
    const right = this.expression(expression.right, environment);
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
    const routine = this.findRoutine(name, environment);
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
        args.map((arg) => this.expression(arg.value, environment)),
        (values) => ({ kind: "struct", fields: new Map(names.map((key, i) => [key, copy(values[i])])) }),
      );
    }
    const builtin = this.builtins.get(name);
    if (!builtin) throw new ScriptError(line, column, `compile_error_name_not_found:${name}:`);
    const order = this.order(builtin, name, args, line, column);
    const values = args.map((arg) => this.expression(arg.value, environment));
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

  /** Which parameter each argument goes to. */
  private order(
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
    const values = args.map((arg) => this.expression(arg.value, environment));
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

function enter(frame: Frame, line: number): void {
  const { thread } = frame;
  thread.line = line;
  if (++thread.statements > statementBudget) {
    throw new ScriptError(line, 1, "runtime_too_much_behind: the program contains an infinite loop");
  }
}

/** `code`, then a function of its value. */
function chain<A, B>(code: Code<A>, then: (value: A, frame: Frame) => B): Code<B> {
  if (!code.waits) return { waits: false, run: (frame) => then(code.run(frame), frame) };
  return {
    waits: true,
    *run(frame) {
      return then(yield* code.run(frame), frame);
    },
  };
}

/** All codes in order, then a function of their values. */
function gather<B>(codes: readonly Code<Value>[], then: (values: Value[], frame: Frame) => B): Code<B> {
  if (codes.every((code) => !code.waits)) {
    return {
      waits: false,
      run: (frame) =>
        then(
          codes.map((code) => (code.waits ? undefined : code.run(frame))),
          frame,
        ),
    };
  }
  return {
    waits: true,
    *run(frame) {
      const values: Value[] = [];
      for (const code of codes) values.push(yield* run(code, frame));
      return then(values, frame);
    },
  };
}

function operate(operator: BinaryOperator, a: Value, b: Value, line: number, column: number): Value {
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

function readElement(place: Value, index: Value, line: number, column: number): Value {
  const at = position(place, index, line, column);
  return typeof place === "object" && place.kind !== "struct" ? place.items[at] : undefined;
}

function writeElement(place: Value, index: Value, value: Value, line: number, column: number): void {
  const at = position(place, index, line, column);
  if (typeof place !== "object" || place.kind === "struct") return;
  if (place.kind === "list") place.items[at] = value;
  else if (typeof value === "number") place.items[at] = value;
  else throw new ScriptError(line, column, `type_error: ${typeName(value)} in a pose`);
}
