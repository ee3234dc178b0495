/** The device contract, kept by the arms. */
import t from "tap";
import { abortAndStop, anyStartOrder, lifecycle, pulledCable } from "./contract.js";
import { arms } from "./families.js";

for (const family of arms) {
  t.test(`${family.name}: lifecycle`, (t) => lifecycle(t, family));
  t.test(`${family.name}: any start order`, (t) => anyStartOrder(t, family));
  t.test(`${family.name}: abort and stop`, (t) => abortAndStop(t, family));
  t.test(`${family.name}: a pulled cable`, (t) => pulledCable(t, family));
}
