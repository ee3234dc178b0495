/** An error at every exchange with a camera's control channel: apart from the other cases, since it takes its time. */
import t from "tap";
import { everyExchange } from "./contract.js";
import { microscopesByLine } from "./families.js";

for (const family of microscopesByLine)
  t.test(`${family.name}: an error at every exchange`, (t) => everyExchange(t, family));
