/** Work that can outgrow one machine: a list of jobs, each a program with arguments, and a port that runs them. */

/** One piece of work. It leaves its results in files of its own; what it prints are lines of JSON about its progress. */
export interface Job {
  /** Unique in its list. */
  readonly name: string;
  /** Compiled module that Node.js runs, an absolute path. */
  readonly module: string;
  readonly args: readonly string[];
}

export interface JobProgress {
  readonly job: string;
  /** A line that the job printed, parsed. */
  readonly report: unknown;
}

export interface JobFailure {
  readonly job: string;
  /** The end of what it wrote to its error output. */
  readonly reason: string;
}

export interface JobRunner {
  /**
   * Runs all jobs; a failed one does not end the others. Jobs are safe to run again: they go on where they were.
   * @returns those that failed
   * @throws CellError LINK_ABORTED once the signal is set and every job has ended
   */
  run(
    jobs: readonly Job[],
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: JobProgress) => void },
  ): Promise<JobFailure[]>;
}
