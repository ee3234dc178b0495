/**
 * The port of everything that judges an episode: a model behind a worker or a server, or an oracle as a control. One
 * question an episode; the reply is text, and `phase-record.ts` alone says whether it is a record.
 */
import type { RecordForm } from "../phase-record.js";
import type { Storyboard } from "../storyboard/storyboard.js";
import type { TaskVocabulary } from "../task-vocabulary.js";

export interface ObserverQuestion {
  readonly episode: string;
  /** T. */
  readonly steps: number;
  readonly vocabulary: TaskVocabulary;
  readonly form: RecordForm;
  /** The panels; absent for an observer that looks at no pictures. */
  readonly board?: Storyboard;
}

export interface ObserverReply {
  readonly text: string;
  /** `stop` for a whole reply. */
  readonly finishReason: string;
  readonly completionTokens?: number;
  /** Name and version of what answered. */
  readonly model?: string;
  /** Whether all panels went out on one picture. */
  readonly contactSheet?: boolean;
}

export interface Observer {
  readonly name: string;
  /** Whether it looks at panels. */
  readonly needsPictures: boolean;
  /**
   * One question, asked once, no memory of earlier ones.
   * @throws CellError OBSERVER_FAILED when no reply came in time, LINK_ABORTED when the signal fired
   */
  observe(question: ObserverQuestion, signal: AbortSignal): Promise<ObserverReply>;
  /** Releases links; idempotent. */
  close?(): Promise<void>;
}
