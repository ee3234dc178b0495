/** An error at every exchange on the arm's links: apart from the other cases, since some of their deadlines are long. */
import t from "tap";
import { everyExchange } from "./contract.js";
import { armsByLine } from "./families.js";

for (const family of armsByLine)
  for (const turn of [0, 1, 2, 3])
    t.test(`${family.name}: an error at every exchange, in turn ${turn}`, (t) =>
      everyExchange(t, family, turn),
    );
