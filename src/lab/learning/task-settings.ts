/**
 * How each task is learned, as data. Discount and reporting points are published (gamma 0.80, 0.96 for GauzePull; 250k,
 * 375k, 275k, 300k, 175k environment transitions at 120k updates). The other tasks take the published defaults and two
 * transitions an update.
 */
export interface TaskSettings {
  readonly gamma: number;
  /** Bootstraps behind terminal steps too. */
  readonly bootstrapAtDone: boolean;
  /** Environment transitions that go with `publishedUpdates`. */
  readonly transitions: number;
}

/** Updates of a published run. */
export const publishedUpdates = 120_000;

const usual: TaskSettings = { gamma: 0.8, bootstrapAtDone: false, transitions: 2 * publishedUpdates };

const byTask: Readonly<Record<string, Partial<TaskSettings>>> = {
  BlockPick: { transitions: 250_000 },
  NeedlePick: { transitions: 375_000 },
  PegTransfer: { transitions: 275_000 },
  ShuntInsert: { transitions: 300_000 },
  GauzePull: { transitions: 175_000, gamma: 0.96 },
};

export const taskSettings = (task: string): TaskSettings => ({ ...usual, ...byTask[task] });
