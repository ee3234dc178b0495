/** A process that makes garbage until it is ended. */
import { makeGarbage } from "./garbage.js";

for (;;) makeGarbage();
