import t from "tap";
import { agreedHeight } from "../../../src/agent/skills/tissue-view.js";

t.test("the height of the tissue is what most matches agree on", async (t) => {
  t.equal(agreedHeight([4.5e-4, 4.6e-4, 4.4e-4]), 4.5e-4);
  // Three of six lie in one plane; the median of all would be 0.62 mm.
  t.equal(agreedHeight([9.1e-4, 9.0e-4, 1e-4, 3.4e-4, 9.2e-4, 2.2e-4]), 9.1e-4);
  t.equal(agreedHeight([1e-4, 3e-4, 5e-4, 7e-4]), undefined, "scattered matches are none");
  t.equal(agreedHeight([4e-4, 4e-4]), undefined, "two may agree by chance");
  t.equal(agreedHeight([]), undefined);
});
