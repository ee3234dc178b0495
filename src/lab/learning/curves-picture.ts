/** Learning curves of one task as a picture: success over updates, mean of the seeds with its 95 % interval. */
import { Canvas, type Colour, type Point } from "../picture/canvas.js";
import { meanInterval } from "./mean-interval.js";
import { percentOf, type ReportCell } from "./policy-report.js";

const width = 960;
const height = 560;
const plot = { x: 80, y: 30, width: 600, height: 460 };
const looks: readonly { readonly colour: Colour; readonly dash: number }[] = [0, 10].flatMap((dash) =>
  (["goal", "tip", "axis", "site", "text"] as const).map((colour) => ({ colour, dash })),
);

interface CurveMean {
  readonly updates: number;
  readonly mean: number;
  readonly half: number;
}

/** Points that every seed of the cell has. */
export function curveOf(cell: ReportCell): CurveMean[] {
  const [first] = cell.runs;
  return (first?.curve ?? []).flatMap(({ updates }, index): CurveMean[] => {
    const values = cell.runs.flatMap(({ curve }) => {
      const point = curve[index];
      return point?.updates === updates ? [percentOf(point)] : [];
    });
    const interval = values.length === cell.runs.length ? meanInterval(values) : undefined;
    return interval === undefined ? [] : [{ updates, mean: interval.mean, half: interval.half ?? 0 }];
  });
}

/** "BlockPick" in the letters that pictures have: "block pick". */
const plain = (task: string): string => task.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

/** PNG, with the number of seeds behind each name. All cells are of one task. */
export function curvesPicture(task: string, cells: readonly ReportCell[]): Buffer {
  const canvas = new Canvas(width, height);
  const longest = Math.max(1, ...cells.map(({ updates }) => updates));
  const at = (updates: number, percent: number): Point => [
    plot.x + (plot.width * updates) / longest,
    plot.y + plot.height * (1 - percent / 100),
  ];
  for (let percent = 0; percent <= 100; percent += 20) {
    canvas.line(at(0, percent), at(longest, percent), "text", { thickness: 1, dash: 2, gap: 8 });
    canvas.text(24, at(0, percent)[1] - 6, String(percent).padStart(3));
  }
  for (let part = 0; part <= 4; part++) {
    const updates = (longest * part) / 4;
    const name = updates >= 10_000 ? `${Math.round(updates / 1000)}k` : String(Math.round(updates));
    canvas.text(at(updates, 0)[0] - 12, plot.y + plot.height + 12, name);
  }
  canvas.text(plot.x, 8, `${plain(task)}: success, percent`);
  canvas.text(plot.x + plot.width / 2 - 40, height - 30, "updates");
  cells.forEach((cell, index) => {
    const look = looks[index % looks.length] ?? { colour: "text", dash: 0 };
    const stroke = { thickness: 2, dash: look.dash, gap: look.dash / 2 };
    const curve = curveOf(cell);
    curve.forEach((point, k) => {
      const next = curve[k + 1];
      if (next !== undefined)
        canvas.line(at(point.updates, point.mean), at(next.updates, next.mean), look.colour, stroke);
      if (point.half > 0) {
        const clipped = (percent: number): Point => at(point.updates, Math.max(0, Math.min(100, percent)));
        canvas.line(clipped(point.mean - point.half), clipped(point.mean + point.half), look.colour, {
          thickness: 1,
        });
      }
    });
    const y = plot.y + 22 * index;
    canvas.line([plot.x + plot.width + 16, y + 6], [plot.x + plot.width + 46, y + 6], look.colour, stroke);
    canvas.text(
      plot.x + plot.width + 54,
      y,
      `${cell.method}${cell.source === undefined ? "" : ` ${cell.source}`} (${cell.success.count})`,
      look.colour,
      1,
    );
  });
  return canvas.png();
}
