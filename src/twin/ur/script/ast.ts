/** Syntax tree of URScript. */

interface Place {
  readonly line: number;
  readonly column: number;
}

export type Expression = Place &
  (
    | { readonly kind: "literal"; readonly value: number | boolean | string }
    | { readonly kind: "variable"; readonly name: string }
    | { readonly kind: "list"; readonly items: readonly Expression[] }
    | { readonly kind: "pose"; readonly items: readonly Expression[] }
    | { readonly kind: "unary"; readonly operator: "-" | "+" | "not"; readonly operand: Expression }
    | {
        readonly kind: "binary";
        readonly operator: BinaryOperator;
        readonly left: Expression;
        readonly right: Expression;
      }
    | { readonly kind: "call"; readonly name: string; readonly args: readonly Argument[] }
    | { readonly kind: "run"; readonly name: string; readonly args: readonly Argument[] }
    | { readonly kind: "index"; readonly base: Expression; readonly indices: readonly Expression[] }
    | { readonly kind: "member"; readonly base: Expression; readonly name: string }
  );

export type BinaryOperator =
  "or" | "xor" | "and" | "==" | "!=" | "<" | ">" | "<=" | ">=" | "+" | "-" | "*" | "/" | "%";

export interface Argument {
  readonly name?: string;
  readonly value: Expression;
}

export interface Routine extends Place {
  readonly kind: "def" | "sec" | "thread";
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly initial?: Expression }[];
  readonly body: readonly Statement[];
}

/** What an assignment writes to: a variable, or an element or member of it. */
export interface Target extends Place {
  readonly name: string;
  readonly path: readonly (
    | { readonly kind: "index"; readonly indices: readonly Expression[] }
    | { readonly kind: "member"; readonly name: string }
  )[];
}

export type Statement = Place &
  (
    | {
        readonly kind: "assign";
        readonly scope?: "global" | "local";
        readonly target: Target;
        readonly value: Expression;
      }
    | { readonly kind: "expression"; readonly value: Expression }
    | {
        readonly kind: "if";
        readonly branches: readonly { readonly condition: Expression; readonly body: readonly Statement[] }[];
        readonly otherwise: readonly Statement[];
      }
    | { readonly kind: "while"; readonly condition: Expression; readonly body: readonly Statement[] }
    | { readonly kind: "return"; readonly value?: Expression }
    | { readonly kind: "break" | "continue" | "enter_critical" | "exit_critical" | "halt" | "pass" }
    | { readonly kind: "join" | "kill"; readonly handle: Expression }
    | { readonly kind: "routine"; readonly routine: Routine }
  );
