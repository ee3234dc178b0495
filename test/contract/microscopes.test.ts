/** The device contract, kept by the microscopes. */
import t from "tap";
import { anyStartOrder, lifecycle, pulledCable } from "./contract.js";
import { microscopes } from "./families.js";

for (const family of microscopes) {
  t.test(`${family.name}: lifecycle`, (t) => lifecycle(t, family));
  t.test(`${family.name}: any start order`, (t) => anyStartOrder(t, family));
  t.test(`${family.name}: a pulled cable`, (t) => pulledCable(t, family));
}
