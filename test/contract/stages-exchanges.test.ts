/** An error at every exchange with the stage controllers: apart from the other cases, since it takes its time. */
import t from "tap";
import { everyExchange } from "./contract.js";
import { scSeries, stages } from "./families.js";

for (const family of stages.filter(({ name }) => name !== scSeries))
  t.test(`${family.name}: an error at every exchange`, (t) => everyExchange(t, family));
