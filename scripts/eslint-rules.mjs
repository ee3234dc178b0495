/** Rules of this project alone: the walls between rooms, and skill names spelled in one place. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { doors, rooms, skillNamesFile, typeDoors } from "./walls.mjs";

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..");
const relative = (file) => path.relative(root, file).split(path.sep).join("/");
const inRoom = (file, room) => file === room || file.startsWith(`${room}/`);

/** The room a file belongs to: the longest matching prefix. */
export function roomOf(file) {
  return Object.keys(rooms)
    .filter((room) => inRoom(file, room))
    .sort((a, b) => b.length - a.length)[0];
}

/** Why `file` may not import `target` (both relative to the root, target with .js), or null when it may. */
export function wallBetween(file, target, typeOnly) {
  const room = roomOf(file);
  if (room === undefined || !target.startsWith("src/")) return null;
  const targetRoom = roomOf(target);
  if (targetRoom === undefined) return null;
  if (targetRoom === room || inRoom(targetRoom, room)) return null;
  if (rooms[room].some((allowed) => inRoom(target, allowed))) return null;
  if (doors.some(([from, pattern]) => from === room && pattern.test(target))) return null;
  if (typeOnly && typeDoors.some(([from, to]) => from === room && inRoom(target, to))) return null;
  const list = rooms[room].length > 0 ? rooms[room].join(", ") : "nothing but its doors";
  return `${room} may not import ${target}: imports go down only (${room} may use ${list}; scripts/walls.mjs)`;
}

const walls = {
  meta: { type: "problem", docs: { description: "imports go down only" }, schema: [] },
  create(context) {
    const file = relative(context.filename);
    const check = (node, typeOnly) => {
      const from = node.source?.value;
      if (typeof from !== "string" || !from.startsWith(".")) return;
      const target = relative(path.resolve(path.dirname(context.filename), from));
      const message = wallBetween(file, target, typeOnly);
      if (message !== null) context.report({ node, message });
    };
    return {
      ImportDeclaration: (node) => check(node, node.importKind === "type"),
      ExportNamedDeclaration: (node) => check(node, node.exportKind === "type"),
      ExportAllDeclaration: (node) => check(node, node.exportKind === "type"),
      ImportExpression: (node) => check(node, false),
    };
  },
};

/** The names as the one file spells them; none before it exists. */
function skillNames() {
  const file = path.join(root, skillNamesFile);
  if (!existsSync(file)) return new Set();
  return new Set(
    [...readFileSync(file, "utf8").matchAll(/"([A-Z]+(?:_[A-Z]+)*)"/g)].map((match) => match[1]),
  );
}

const oneNameTable = {
  meta: { type: "problem", docs: { description: "skill names are spelled in one file" }, schema: [] },
  create(context) {
    if (relative(context.filename) === skillNamesFile) return {};
    const names = skillNames();
    const check = (node, text) => {
      const found = [...names].find((name) => new RegExp(`(^|[^A-Z_])${name}([^A-Z_]|$)`).test(text));
      if (found !== undefined)
        context.report({ node, message: `${found} is spelled here; take it from ${skillNamesFile}` });
    };
    return {
      Literal: (node) => typeof node.value === "string" && check(node, node.value),
      TemplateElement: (node) => check(node, node.value.raw),
    };
  },
};

export default { rules: { walls, "one-name-table": oneNameTable } };
