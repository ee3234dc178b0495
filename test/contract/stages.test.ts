/** The device contract, kept by the stage controllers. */
import t from "tap";
import { abortAndStop, anyStartOrder, deadlines, lifecycle, outOfProtocol, pulledCable } from "./contract.js";
import { stages } from "./families.js";

for (const family of stages) {
  t.test(`${family.name}: lifecycle`, (t) => lifecycle(t, family));
  t.test(`${family.name}: any start order`, (t) => anyStartOrder(t, family));
  t.test(`${family.name}: abort and stop`, (t) => abortAndStop(t, family));
  t.test(`${family.name}: a pulled cable`, (t) => pulledCable(t, family));
  t.test(`${family.name}: deadlines and late replies`, (t) => deadlines(t, family));
  t.test(`${family.name}: bytes outside the protocol`, (t) => outOfProtocol(t, family));
}
