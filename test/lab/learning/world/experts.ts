/**
 * Hand-written controllers that solve the tasks from the states alone: they show that a task can be solved, and give the
 * tests trajectories whose phases are known.
 */

/** One controller of one world: state in, action out. Made anew for each episode. */
export type Expert = (state: Float32Array) => number[];

type Vector = readonly [number, number, number];

/** Three lengths of a state, model metres. */
const lengths = (state: Float32Array, at: number): Vector => [
  (state[at] ?? NaN) / 10,
  (state[at + 1] ?? NaN) / 10,
  (state[at + 2] ?? NaN) / 10,
];
const size = (v: readonly number[]): number => Math.hypot(...v);
const open = 1;
const closed = -1;

/** The action that goes along `way`, at most `share` of the longest step. */
function go(way: Vector, jaws: number, longest = 0.02, share = 1): number[] {
  const clipped = way.map((part) => Math.max(-share, Math.min(share, part / longest)));
  return [...clipped, jaws];
}

/** Over the thing, down to it with open jaws, close; then what `carry` says. */
function pickUp(thing: (state: Float32Array) => Vector, longest: number, carry: Expert): Expert {
  let heldFor = 0;
  return (state) => {
    const way = thing(state);
    const aside = Math.hypot(way[0], way[1]);
    if (heldFor > 3 && size(way) > 0.03) heldFor = 0;
    if (heldFor > 0 || size(way) < 0.008) {
      heldFor++;
      return heldFor <= 3 ? go([0, 0, 0], closed) : carry(state);
    }
    return aside > 0.006 ? go([way[0], way[1], way[2] + 0.06], open, longest) : go(way, open, longest);
  };
}

const liftTo = (height: number, middle: number): Expert => {
  return (state) => go([0, 0, height - lengths(state, middle)[2]], closed);
};

export const experts: Readonly<Record<string, () => Expert>> = {
  BlockPick: () => pickUp((state) => lengths(state, 11), 0.02, liftTo(0.11, 8)),
  NeedlePick: () => pickUp((state) => lengths(state, 11), 0.02, liftTo(0.1, 8)),
  PegTransfer: () => {
    let stage: "lift" | "carry" | "lower" | "leave" = "lift";
    return pickUp(
      (state) => lengths(state, 11),
      0.02,
      (state) => {
        const height = lengths(state, 8)[2];
        const [x, y] = lengths(state, 14);
        if (stage === "lift" && height > 0.062) stage = "carry";
        if (stage === "carry" && Math.hypot(x, y) < 0.006) stage = "lower";
        if (stage === "lower" && height < 0.022) stage = "leave";
        if (stage === "lift") return go([0, 0, 0.07 - height], closed);
        if (stage === "carry") return go([x, y, 0.065 - height], closed, 0.02, 0.7);
        if (stage === "lower") return go([x, y, 0.012 - height], closed, 0.02, 0.5);
        return go([0, 0, 0], open);
      },
    );
  },
  ShuntInsert: () =>
    pickUp(
      (state) => lengths(state, 11),
      0.02,
      (state) => {
        const [x, y, z] = lengths(state, 14);
        const aside = Math.hypot(y, z);
        return aside > 0.003 && x > -0.002
          ? go([x - 0.015, y, z], closed)
          : go([x + 0.036, y, z], closed, 0.02, 0.5);
      },
    ),
  GauzePull: () =>
    pickUp(
      (state) => lengths(state, 11),
      0.01,
      (state) => {
        const [x, y] = lengths(state, 14);
        return go([x, y, 0.015 - lengths(state, 8)[2]], closed, 0.01);
      },
    ),
  // No jaws: the barb's end goes before the opening, through it, and up with the loop.
  LoopPickup: () => {
    let threaded = false;
    return (state) => {
      const [x, y, z] = lengths(state, 9);
      const aside = Math.hypot(y, z);
      if (!threaded && aside < 0.004 && x < -0.018) threaded = true;
      if (threaded) return go([0, 0, 0.09 - lengths(state, 12)[2]], 0, 0.008, 0.5).slice(0, 3);
      const wanted: Vector = aside > 0.003 && x > -0.01 ? [x - 0.02, y, z] : [x + 0.024, y, z];
      return go(wanted, 0, 0.008, aside > 0.003 ? 1 : 0.4).slice(0, 3);
    };
  },
  NeedleReach: () => (state) => go(lengths(state, 11), open),
  BlockStack: () => {
    let stage: "lift" | "carry" | "lower" | "leave" | "rise" = "lift";
    return pickUp(
      (state) => (stage === "leave" || stage === "rise" ? [0, 0, 0] : lengths(state, 11)),
      0.02,
      (state) => {
        const height = lengths(state, 8)[2];
        const [x, y] = lengths(state, 14);
        if (stage === "lift" && height > 0.075) stage = "carry";
        if (stage === "carry" && Math.hypot(x, y) < 0.003) stage = "lower";
        if (stage === "lower" && height < 0.0645) stage = "leave";
        if (stage === "lift") return go([0, 0, 0.082 - height], closed);
        if (stage === "carry") return go([x, y, 0.08 - height], closed, 0.02, 0.5);
        if (stage === "lower") return go([x, y, 0.061 - height], closed, 0.02, 0.2);
        return go([0, 0, 0], open);
      },
    );
  },
  // Five numbers: the tool turns, too.
  NeedleReorient: () => {
    const play = pickUp((state) => lengths(state, 12), 0.02, liftTo(0.06, 9));
    return (state) => {
      const [x = 0, y = 0, z = 0, jaws = 0] = play(state);
      const turn = jaws < 0 ? Math.max(-1, Math.min(1, (state[27] ?? 0) / 0.12)) : 0;
      return [x, y, z, turn, jaws];
    };
  },
  GauzeRetrieve: () => {
    let over = false;
    return pickUp(
      (state) => (over ? [0, 0, 0] : lengths(state, 11)),
      0.02,
      (state) => {
        const height = lengths(state, 8)[2];
        const [x, y] = lengths(state, 14);
        if (Math.hypot(x, y) < 0.006 && height < 0.07) over = true;
        if (over) return go([0, 0, 0], open);
        return height < 0.07 && Math.hypot(x, y) > 0.05
          ? go([0, 0, 0.1 - height], closed)
          : go([x, y, Math.hypot(x, y) > 0.006 ? 0.09 - height : 0.055 - height], closed, 0.02, 0.6);
      },
    );
  },
};
