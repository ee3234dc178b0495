/** Published reliability of the published observer (a commercial model, not tuned): 960 episodes, ranges over five tasks. */
export interface PublishedRange {
  readonly low: number;
  readonly high: number;
}

/** Shares; `arrivalMae` in steps. */
export const publishedObserver = {
  valid: { low: 0.986, high: 1 },
  gated: { low: 0.878, high: 0.967 },
  exact: { low: 0.333, high: 0.583 },
  withinOne: { low: 0.733, high: 0.911 },
  arrivalMae: { low: 8.4, high: 24.8 },
} as const satisfies Record<string, PublishedRange>;
