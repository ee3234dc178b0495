/**
 * Turns the syntax tree into closures. Code that cannot wait is an ordinary function; code that may wait (blocking
 * functions, calls of routines) is a generator that yields once per control step. Names are resolved before anything
 * runs, so an unknown function or variable is a compile error, as on the controller.
 */
import type { Expression, Routine, Statement, Target } from "./ast.js";
import type { BuiltinTable } from "./builtin.js";
import { chain, enter, run, type Code } from "./code.js";
import { Halt, ScriptError } from "./errors.js";
import { ExpressionCompiler } from "./expressions.js";
import type { Frame } from "./frame.js";
import { readElement, writeElement } from "./operators.js";
import { assignedIn, globalsOf, type CompiledRoutine, type Environment, type Outcome } from "./routines.js";
import { copy, typeName, type Value } from "./values.js";

/** @throws ScriptError `compile_error_…` */
export function compile(program: Routine, builtins: BuiltinTable): CompiledRoutine {
  return new Compiler(new ExpressionCompiler(builtins, globalsOf(program.body))).routine(program, undefined);
}

class Compiler {
  constructor(private readonly expressions: ExpressionCompiler) {}

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
      if (initial) defaults.set(name, this.expressions.compile(initial, environment));
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
        return chain(this.expressions.compile(statement.value, environment), () => "next");
      case "assign": {
        const write = this.writer(statement.target, statement.scope, environment);
        const value = this.expressions.compile(statement.value, environment);
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
        return chain(this.expressions.compile(statement.value, environment), (value, frame) => {
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
        return chain(this.expressions.compile(statement.handle, environment), (handle, frame) => {
          frame.thread.program.killThread(handle, frame.thread);
          return "next";
        });
      case "join": {
        const handle = this.expressions.compile(statement.handle, environment);
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
    return chain(this.expressions.compile(expression, environment), (value) => {
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
      const indices = step.indices.map((index) => this.expressions.compile(index, environment));
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
}
