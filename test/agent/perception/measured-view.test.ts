/** A measured map stands for a drawn view: with the rows of a drawn one, everything of it follows. */
import t from "tap";
import { drawnView, measuredView } from "../../../src/agent/perception/view-model.js";
import { identity3, rotationAbout } from "../../../src/base/transform.js";

t.test("the optical axis follows from the map", (t) => {
  const drawing = {
    name: "view1",
    azimuthRad: 0.5,
    elevationRad: 0.6,
    centreM: [0, 0, 0] as [number, number, number],
    metresPerPixel: 1.2e-6,
    widthPx: 2048,
    heightPx: 2048,
    depthOfFieldM: 5e-5,
    focusAxis: 6,
  };
  for (const rotation of [identity3, rotationAbout([0, 0, 1], 2)]) {
    const drawn = drawnView(drawing, rotation);
    const measured = measuredView(drawn.rows);
    drawn.forward.forEach((value, k) => t.ok(Math.abs(value - (measured.forward[k] ?? NaN)) < 1e-12));
  }
  // Into the scene: down, by the sine of the elevation.
  const down = measuredView(drawnView(drawing, identity3).rows).forward[2];
  t.ok(Math.abs(down + Math.sin(0.6)) < 1e-12);
  t.end();
});
