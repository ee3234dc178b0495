/**
 * The walls of the house as data: which folder may import from which. Imports go down only. `eslint.config.js` turns
 * this table into a rule; CONTRIBUTING.md shows it to people.
 *
 * A file belongs to the room with the longest matching prefix. A room may always import from itself.
 */
export const rooms = {
  "src/base": [],
  "src/cell": ["src/base"],
  "src/record": ["src/base", "src/cell"],

  // Inside the agent: loop -> skills -> policies, safety, perception, reasoners.
  "src/agent/safety": [],
  "src/agent/perception": ["src/base", "src/cell", "src/record", "src/agent/safety"],
  "src/agent/reasoners": ["src/base", "src/record", "src/agent/safety"],
  "src/agent/procedure": ["src/base"],
  "src/agent/policies": ["src/base", "src/cell", "src/record", "src/agent/safety", "src/agent/perception"],
  "src/agent/skills": [
    "src/base",
    "src/cell",
    "src/record",
    "src/agent/safety",
    "src/agent/perception",
    "src/agent/policies",
    "src/agent/procedure",
  ],
  "src/agent/loop": [
    "src/base",
    "src/cell",
    "src/record",
    "src/agent/safety",
    "src/agent/perception",
    "src/agent/reasoners",
    "src/agent/policies",
    "src/agent/procedure",
    "src/agent/skills",
  ],
  "src/agent": ["src/base", "src/cell", "src/record"],

  "src/service": ["src/base", "src/cell", "src/record", "src/agent"],
  "src/lab": ["src/base", "src/cell", "src/record", "src/agent"],
  "src/cli": ["src/base", "src/cell", "src/record", "src/agent", "src/service", "src/lab"],

  // The simulated cell stands apart: it is reached through sockets and serial lines only.
  "src/twin": ["src/base"],
};

/** Single files that a room may import beyond its rooms: [room, path pattern, why]. */
export const doors = [
  ["src/agent/safety", /^src\/base\/(clock|units|errors)\.js$/, "the clock and types"],
  [
    "src/twin",
    /^src\/cell\/[^/]+\/(?:.*\/)?(?:codec\/.*|[^/]*codec[^/]*)\.js$/,
    "the wire codecs, shared with the drivers",
  ],
  ["src/twin", /^src\/cell\/native\.js$/, "types of the native addon"],
];

/** Importing only types crosses these walls: [room, target room]. */
export const typeDoors = [
  ["src/agent/safety", "src/agent"],
  ["src/agent/safety", "src/cell"],
];

/** The only file that spells the names of the skills. */
export const skillNamesFile = "src/agent/safety/skill-names.ts";
