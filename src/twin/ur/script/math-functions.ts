/** Functions of numbers, lists, poses and strings: nothing here touches the robot. */
import { Random } from "../../../base/random.js";
import {
  add,
  compose,
  distance,
  invert,
  multiply,
  norm,
  rotationFromRpy,
  rotationFromVector,
  vectorFromRotation,
} from "../../../base/transform.js";
import { between, fromPose, toPose } from "../arm-geometry.js";
import { instant, type Builtin } from "./builtin.js";
import { list, pose, show } from "./values.js";

const unary = (f: (x: number) => number): Builtin => instant("f", (args) => f(args.number("f")));

export function mathFunctions(): [string, Builtin][] {
  const dice = new Random(1, "urscript");
  return [
    [
      "sqrt",
      instant("f", (args) => {
        const f = args.number("f");
        if (f < 0) throw args.error("square root of a negative number");
        return Math.sqrt(f);
      }),
    ],
    ["sin", unary(Math.sin)],
    ["cos", unary(Math.cos)],
    ["tan", unary(Math.tan)],
    ["asin", unary(Math.asin)],
    ["acos", unary(Math.acos)],
    ["atan", unary(Math.atan)],
    ["atan2", instant("x, y", (args) => Math.atan2(args.number("x"), args.number("y")))],
    ["floor", unary(Math.floor)],
    ["ceil", unary(Math.ceil)],
    ["d2r", unary((x) => (x * Math.PI) / 180)],
    ["r2d", unary((x) => (x * 180) / Math.PI)],
    ["log", instant("b, f", (args) => Math.log(args.number("f")) / Math.log(args.number("b")))],
    ["pow", instant("base, exponent", (args) => args.number("base") ** args.number("exponent"))],
    ["random", instant("", () => dice.uniform())],
    [
      "norm",
      instant("a", (args) => {
        const value = args.any("a");
        if (typeof value === "number") return Math.abs(value);
        const numbers = args.numbers("a");
        return Math.hypot(...(args.isPose("a") ? numbers.slice(0, 3) : numbers));
      }),
    ],
    [
      "length",
      instant("v", (args) => {
        const value = args.any("v");
        return typeof value === "string" ? value.length : args.numbers("v").length;
      }),
    ],
    ["get_list_length", instant("v", (args) => args.numbers("v").length)],
    [
      "binary_list_to_integer",
      instant("l", (args) => {
        const value = args.any("l");
        if (typeof value !== "object" || value.kind !== "list")
          throw args.error("a list of booleans expected");
        return value.items.reduce<number>((sum, bit, i) => sum + (bit === true ? 2 ** i : 0), 0) | 0;
      }),
    ],
    [
      "integer_to_binary_list",
      instant("x", (args) => {
        const x = args.integer("x");
        return list(Array.from({ length: 32 }, (_, i) => ((x >> i) & 1) === 1));
      }),
    ],

    [
      "pose_trans",
      instant("p_from, p_from_to", (args) =>
        pose(toPose(compose(fromPose(args.pose("p_from")), fromPose(args.pose("p_from_to"))))),
      ),
    ],
    ["pose_inv", instant("p_from", (args) => pose(toPose(invert(fromPose(args.pose("p_from"))))))],
    [
      "pose_add",
      instant("p_1, p_2", (args) => {
        const [a, b] = [fromPose(args.pose("p_1")), fromPose(args.pose("p_2"))];
        return pose(
          toPose({
            translation: add(a.translation, b.translation),
            rotation: multiply(a.rotation, b.rotation),
          }),
        );
      }),
    ],
    [
      "pose_sub",
      instant("p_to, p_from", (args) => {
        const [to, from] = [fromPose(args.pose("p_to")), fromPose(args.pose("p_from"))];
        const turned = multiply(invert(from).rotation, to.rotation);
        return pose([
          ...to.translation.map((value, i) => value - (from.translation[i] ?? 0)),
          ...vectorFromRotation(turned),
        ]);
      }),
    ],
    [
      "pose_dist",
      instant("p_from, p_to", (args) => {
        const [from, to] = [fromPose(args.pose("p_from")), fromPose(args.pose("p_to"))];
        return distance(from.translation, to.translation);
      }),
    ],
    [
      "point_dist",
      instant("p_from, p_to", (args) => {
        const [from, to] = [fromPose(args.pose("p_from")), fromPose(args.pose("p_to"))];
        return distance(from.translation, to.translation);
      }),
    ],
    [
      "interpolate_pose",
      instant("p_from, p_to, alpha", (args) =>
        pose(
          toPose(between(fromPose(args.pose("p_from")), fromPose(args.pose("p_to")), args.number("alpha"))),
        ),
      ),
    ],
    [
      "wrench_trans",
      instant("T_from_to, w_from", (args) => {
        const r = invert(fromPose(args.pose("T_from_to"))).rotation;
        const w = args.numbers("w_from", 6);
        const turn = (v: readonly number[]): number[] =>
          r.map((row) => row[0] * (v[0] ?? 0) + row[1] * (v[1] ?? 0) + row[2] * (v[2] ?? 0));
        return list([...turn(w.slice(0, 3)), ...turn(w.slice(3))]);
      }),
    ],
    [
      "rpy2rotvec",
      instant("r, p, y", (args) =>
        list([...vectorFromRotation(rotationFromRpy(args.number("r"), args.number("p"), args.number("y")))]),
      ),
    ],
    [
      "rotvec2rpy",
      instant("rx, ry, rz", (args) => {
        const m = rotationFromVector([args.number("rx"), args.number("ry"), args.number("rz")]);
        const pitch = Math.atan2(-m[2][0], norm([m[0][0], m[1][0], 0]));
        return list([Math.atan2(m[2][1], m[2][2]), pitch, Math.atan2(m[1][0], m[0][0])]);
      }),
    ],

    [
      "to_num",
      instant("str", (args) => {
        const value = Number(args.text("str"));
        if (!Number.isFinite(value)) throw args.error(`'${args.text("str")}' is not a number`);
        return value;
      }),
    ],
    ["to_str", instant("val", (args) => show(args.any("val")))],
    ["str_cat", instant("op1, op2", (args) => show(args.any("op1")) + show(args.any("op2")))],
    ["str_len", instant("str", (args) => args.text("str").length)],
    ["str_empty", instant("str", (args) => args.text("str") === "")],
    [
      "str_at",
      instant("src, index", (args) => {
        const at = args.text("src").charAt(args.integer("index"));
        if (at === "") throw args.error("index outside the string");
        return at;
      }),
    ],
    [
      "str_find",
      instant("src, target, start_from?", (args) =>
        args.text("src").indexOf(args.text("target"), args.integer("start_from", 0)),
      ),
    ],
    [
      "str_sub",
      instant("src, index, len?", (args) => {
        const from = args.integer("index");
        const length = args.integer("len", -1);
        return length < 0 ? args.text("src").slice(from) : args.text("src").slice(from, from + length);
      }),
    ],
  ];
}
