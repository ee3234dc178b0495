/** Recursive-descent parser of URScript: one `def` or `sec` program, or bare lines that run as a program of their own. */
import type { Argument, BinaryOperator, Expression, Routine, Statement, Target } from "./ast.js";
import { ScriptError } from "./errors.js";
import { tokenize, type Token } from "./lexer.js";

/** Binary operators from the weakest to the strongest. */
const precedence: readonly (readonly BinaryOperator[])[] = [
  ["or", "xor"],
  ["and"],
  ["==", "!=", "<", ">", "<=", ">="],
  ["+", "-"],
  ["*", "/", "%"],
];

/** @throws ScriptError `syntax_error_on_line:…` */
export function parseProgram(source: string): Routine {
  return new Parser(source).program();
}

class Parser {
  private readonly tokens: Token[];
  private readonly lines: string[];
  private at = 0;

  constructor(source: string) {
    this.tokens = tokenize(source);
    this.lines = source.split(/\r?\n/);
  }

  program(): Routine {
    this.skipNewlines();
    const first = this.peek();
    if (first.kind === "keyword" && (first.text === "def" || first.text === "sec")) {
      const routine = this.routine();
      this.skipNewlines();
      if (this.peek().kind !== "end") this.fail();
      return routine;
    }
    const body: Statement[] = [];
    while (this.peek().kind !== "end") {
      body.push(this.statement());
      this.skipNewlines();
    }
    return { kind: "def", name: "unnamed", parameters: [], body, line: first.line, column: first.column };
  }

  private peek(ahead = 0): Token {
    const token = this.tokens[Math.min(this.at + ahead, this.tokens.length - 1)];
    if (!token) throw new ScriptError(1, 1, "syntax_error_on_line:1::");
    return token;
  }
  private next(): Token {
    const token = this.peek();
    this.at++;
    return token;
  }
  private fail(token = this.peek()): never {
    const text = this.lines[token.line - 1]?.trim() ?? "";
    throw new ScriptError(token.line, token.column, `syntax_error_on_line:${token.line}:${text}:`);
  }
  private is(text: string): boolean {
    const token = this.peek();
    return (token.kind === "symbol" || token.kind === "keyword") && token.text === text;
  }
  private accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }
  private expect(text: string): Token {
    if (!this.is(text)) this.fail();
    return this.next();
  }
  private name(): Token {
    if (this.peek().kind !== "name") this.fail();
    return this.next();
  }
  private skipNewlines(): void {
    while (this.peek().kind === "newline") this.at++;
  }
  /**
   * A newline, or simply the beginning of the next statement: the controller takes several on one line, and programs in
   * the field rely on it.
   */
  private endOfStatement(): void {
    const { kind } = this.peek();
    if (kind === "newline") this.at++;
    else if (kind !== "end" && kind !== "name" && kind !== "keyword") this.fail();
  }

  private routine(): Routine {
    const start = this.next();
    const kind = start.text === "thread" ? "thread" : start.text === "sec" ? "sec" : "def";
    const name = this.name().text;
    const parameters: { name: string; initial?: Expression }[] = [];
    this.expect("(");
    while (!this.is(")")) {
      const parameter = this.name().text;
      parameters.push(
        this.accept("=") ? { name: parameter, initial: this.expression() } : { name: parameter },
      );
      if (!this.accept(",")) break;
    }
    this.expect(")");
    this.expect(":");
    const body = this.block("end");
    this.expect("end");
    this.endOfStatement();
    return { kind, name, parameters, body, line: start.line, column: start.column };
  }

  private block(...closers: string[]): Statement[] {
    const body: Statement[] = [];
    for (;;) {
      this.skipNewlines();
      if (closers.some((closer) => this.is(closer))) return body;
      if (this.peek().kind === "end") this.fail();
      body.push(this.statement());
    }
  }

  private statement(): Statement {
    const token = this.peek();
    const place = { line: token.line, column: token.column };
    if (token.kind === "keyword") {
      switch (token.text) {
        case "def":
        case "thread":
          return { kind: "routine", routine: this.routine(), ...place };
        case "if":
          return this.ifStatement(place);
        case "while": {
          this.at++;
          const condition = this.expression();
          this.expect(":");
          const body = this.block("end");
          this.expect("end");
          this.endOfStatement();
          return { kind: "while", condition, body, ...place };
        }
        case "return": {
          this.at++;
          const bare = this.peek().kind === "newline" || this.peek().kind === "end";
          const statement: Statement = bare
            ? { kind: "return", ...place }
            : { kind: "return", value: this.expression(), ...place };
          this.endOfStatement();
          return statement;
        }
        case "break":
        case "continue":
        case "enter_critical":
        case "exit_critical":
        case "halt":
        case "pass": {
          const kind = this.next().text as
            "break" | "continue" | "enter_critical" | "exit_critical" | "halt" | "pass";
          if (this.accept("(")) this.expect(")");
          this.endOfStatement();
          return { kind, ...place };
        }
        case "join":
        case "kill": {
          const kind = this.next().text as "join" | "kill";
          const handle = this.expression();
          this.endOfStatement();
          return { kind, handle, ...place };
        }
        case "global":
        case "local": {
          const scope = this.next().text as "global" | "local";
          const target = this.target();
          this.expect("=");
          this.skipNewlines();
          const value = this.expression();
          this.endOfStatement();
          return { kind: "assign", scope, target, value, ...place };
        }
      }
    }
    const value = this.expression();
    if (this.is("=")) {
      const target = this.targetFrom(value);
      this.at++;
      this.skipNewlines();
      const assigned = this.expression();
      this.endOfStatement();
      return { kind: "assign", target, value: assigned, ...place };
    }
    this.endOfStatement();
    return { kind: "expression", value, ...place };
  }

  private ifStatement(place: { line: number; column: number }): Statement {
    const branches: { condition: Expression; body: readonly Statement[] }[] = [];
    let otherwise: readonly Statement[] = [];
    this.next();
    for (;;) {
      const condition = this.expression();
      this.expect(":");
      branches.push({ condition, body: this.block("elif", "else", "end") });
      if (this.accept("elif")) continue;
      if (this.accept("else")) {
        this.expect(":");
        otherwise = this.block("end");
      }
      this.expect("end");
      this.endOfStatement();
      return { kind: "if", branches, otherwise, ...place };
    }
  }

  private target(): Target {
    return this.targetFrom(this.postfix());
  }

  /** Turns the parsed left side into something that can be written. */
  private targetFrom(expression: Expression): Target {
    const path: Target["path"][number][] = [];
    let node = expression;
    for (;;) {
      if (node.kind === "variable") {
        return { name: node.name, path: path.reverse(), line: expression.line, column: expression.column };
      }
      if (node.kind === "index") path.push({ kind: "index", indices: node.indices });
      else if (node.kind === "member") path.push({ kind: "member", name: node.name });
      else return this.fail();
      node = node.base;
    }
  }

  private expression(level = 0): Expression {
    const operators = precedence[level];
    if (!operators) return this.unary();
    let left = this.operand(level);
    for (;;) {
      const operator = operators.find((candidate) => this.is(candidate));
      if (!operator) return left;
      const token = this.next();
      const right = this.operand(level);
      left = { kind: "binary", operator, left, right, line: token.line, column: token.column };
    }
  }

  /** `not` binds weaker than a comparison and stronger than `and`. */
  private operand(level: number): Expression {
    if (level === 1 && this.is("not")) {
      const token = this.next();
      return {
        kind: "unary",
        operator: "not",
        operand: this.operand(level),
        line: token.line,
        column: token.column,
      };
    }
    return this.expression(level + 1);
  }

  private unary(): Expression {
    const token = this.peek();
    if (this.is("-") || this.is("+") || this.is("not")) {
      this.at++;
      const operator = token.text as "-" | "+" | "not";
      return { kind: "unary", operator, operand: this.unary(), line: token.line, column: token.column };
    }
    return this.postfix();
  }

  private postfix(): Expression {
    let node = this.primary();
    for (;;) {
      const token = this.peek();
      const place = { line: token.line, column: token.column };
      if (this.accept("[")) {
        const indices = this.items("]");
        if (indices.length === 0) this.fail(token);
        node = { kind: "index", base: node, indices, ...place };
      } else if (this.accept(".")) {
        node = { kind: "member", base: node, name: this.name().text, ...place };
      } else return node;
    }
  }

  private primary(): Expression {
    const token = this.next();
    const place = { line: token.line, column: token.column };
    if (token.kind === "number") return { kind: "literal", value: Number(token.text), ...place };
    if (token.kind === "string") return { kind: "literal", value: token.text, ...place };
    if (token.kind === "keyword") {
      if (token.text === "True" || token.text === "False") {
        return { kind: "literal", value: token.text === "True", ...place };
      }
      if (token.text === "run") {
        const name = this.name().text;
        this.expect("(");
        return { kind: "run", name, args: this.args(), ...place };
      }
    }
    if (token.kind === "name") {
      if (this.accept("(")) return { kind: "call", name: token.text, args: this.args(), ...place };
      if (token.text === "p" && this.is("[")) return this.poseOrElement(place);
      return { kind: "variable", name: token.text, ...place };
    }
    if (token.kind === "symbol") {
      if (token.text === "(") {
        const inner = this.expression();
        this.expect(")");
        return inner;
      }
      if (token.text === "[") return { kind: "list", items: this.items("]"), ...place };
    }
    return this.fail(token);
  }

  /** `p[x, y, z, rx, ry, rz]` is a pose; `p[0]` reads a variable that happens to be called p. */
  private poseOrElement(place: { line: number; column: number }): Expression {
    this.expect("[");
    const items = this.items("]");
    if (items.length === 6) return { kind: "pose", items, ...place };
    if (items.length === 0 || items.length > 2) return this.fail();
    return { kind: "index", base: { kind: "variable", name: "p", ...place }, indices: items, ...place };
  }

  private items(closer: string): Expression[] {
    const items: Expression[] = [];
    while (!this.is(closer)) {
      items.push(this.expression());
      if (!this.accept(",")) break;
    }
    this.expect(closer);
    return items;
  }

  private args(): Argument[] {
    const args: Argument[] = [];
    while (!this.is(")")) {
      const token = this.peek();
      const named = token.kind === "name" && this.peek(1).kind === "symbol" && this.peek(1).text === "=";
      if (named) {
        this.at += 2;
        args.push({ name: token.text, value: this.expression() });
      } else args.push({ value: this.expression() });
      if (!this.accept(",")) break;
    }
    this.expect(")");
    return args;
  }
}
