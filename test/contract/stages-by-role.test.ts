/** The device contract, kept by an ARIES behind its Telnet login and by one that dials. */
import t from "tap";
import { abortAndStop, anyStartOrder, deadlines, lifecycle, outOfProtocol, pulledCable } from "./contract.js";
import { stagesByRole } from "./families.js";

for (const family of stagesByRole) {
  t.test(`${family.name}: lifecycle`, (t) => lifecycle(t, family));
  t.test(`${family.name}: any start order`, (t) => anyStartOrder(t, family));
  t.test(`${family.name}: abort and stop`, (t) => abortAndStop(t, family));
  t.test(`${family.name}: a pulled cable`, (t) => pulledCable(t, family));
  t.test(`${family.name}: deadlines and late replies`, (t) => deadlines(t, family));
  t.test(`${family.name}: bytes outside the protocol`, (t) => outOfProtocol(t, family));
}
