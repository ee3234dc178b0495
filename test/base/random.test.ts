import t from "tap";
import { Random } from "../../src/base/random.js";

t.test("every seed and every stream draws numbers of its own, and the same ones each time", async (t) => {
  const first = (seed: number, stream: string): number => new Random(seed, stream).uniform();
  const drawn = new Set<number>();
  for (let seed = 0; seed < 200; seed++)
    for (const stream of ["", "cell", "stage 1", "stage 2"]) drawn.add(first(seed, stream));
  t.equal(drawn.size, 800);
  t.equal(first(7, "cell"), first(7, "cell"));
});

t.test("uniform, normal and direction have their moments", async (t) => {
  const random = new Random(1);
  const count = 20_000;
  let [sum, squares, normals] = [0, 0, 0];
  const centre = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    sum += random.uniform();
    const normal = random.normal(2, 3);
    normals += normal;
    squares += (normal - 2) ** 2;
    random.direction().forEach((value, axis) => (centre[axis] = (centre[axis] ?? 0) + value / count));
  }
  // Four standard errors.
  t.ok(Math.abs(sum / count - 0.5) < 4 * Math.sqrt(1 / 12 / count));
  t.ok(Math.abs(normals / count - 2) < (4 * 3) / Math.sqrt(count));
  t.ok(Math.abs(squares / count - 9) < 4 * 9 * Math.sqrt(2 / count));
  for (const value of centre) t.ok(Math.abs(value) < 4 * Math.sqrt(1 / 3 / count));
});
