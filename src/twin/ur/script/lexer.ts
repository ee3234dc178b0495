/** Tokens of URScript. Newlines end statements except inside brackets; `#` starts a comment. */
import { ScriptError } from "./errors.js";

export type TokenKind = "number" | "string" | "name" | "keyword" | "symbol" | "newline" | "end";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

const keywords: ReadonlySet<string> = new Set([
  "def",
  "sec",
  "thread",
  "end",
  "if",
  "elif",
  "else",
  "while",
  "return",
  "break",
  "continue",
  "global",
  "local",
  "run",
  "join",
  "kill",
  "and",
  "or",
  "xor",
  "not",
  "True",
  "False",
  "enter_critical",
  "exit_critical",
  "halt",
  "pass",
]);

const symbols = [
  "==",
  "!=",
  "<=",
  ">=",
  "(",
  ")",
  "[",
  "]",
  ",",
  ":",
  "=",
  "<",
  ">",
  "+",
  "-",
  "*",
  "/",
  "%",
  ".",
];

const number = /^(?:0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/;
const name = /^[A-Za-z_][A-Za-z0-9_]*/;

/** @throws ScriptError for a character that belongs to no token. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  source.split(/\r?\n/).forEach((text, index) => {
    const line = index + 1;
    // Labels that PolyScope writes above each node of a program: `$ 12 "MoveJ"`.
    if (/^\s*\$/.test(text)) return;
    let at = 0;
    const push = (kind: TokenKind, length: number, value = text.slice(at, at + length)): void => {
      tokens.push({ kind, text: value, line, column: at + 1 });
      at += length;
    };
    while (at < text.length) {
      const rest = text.slice(at);
      const first = rest.charAt(0);
      if (first === " " || first === "\t") {
        at++;
        continue;
      }
      if (first === "#") break;
      const numeral = number.exec(rest);
      const word = name.exec(rest);
      if (numeral) push("number", numeral[0].length);
      else if (word) push(keywords.has(word[0]) ? "keyword" : "name", word[0].length);
      else if (first === '"' || first === "'") {
        const close = rest.indexOf(first, 1);
        if (close < 0) throw new ScriptError(line, at + 1, `syntax_error_on_line:${line}:${text.trim()}:`);
        push("string", close + 1, rest.slice(1, close));
      } else {
        const symbol = symbols.find((candidate) => rest.startsWith(candidate));
        if (!symbol) throw new ScriptError(line, at + 1, `syntax_error_on_line:${line}:${text.trim()}:`);
        if (symbol === "(" || symbol === "[") depth++;
        if (symbol === ")" || symbol === "]") depth = Math.max(0, depth - 1);
        push("symbol", symbol.length);
      }
    }
    if (depth === 0) tokens.push({ kind: "newline", text: "", line, column: text.length + 1 });
  });
  const last = tokens.at(-1);
  tokens.push({ kind: "end", text: "", line: last?.line ?? 1, column: last?.column ?? 1 });
  return tokens;
}
