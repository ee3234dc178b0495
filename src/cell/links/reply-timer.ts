/**
 * The deadline of a reply. After the event loop was held up, expired timers run before the bytes that have long arrived
 * are read: a deadline that struck at once would call a device silent that was not. So it lets pending input pass first.
 */

export interface ReplyTimer {
  cancel(): void;
}

/** Calls `expired` once, unless cancelled, when `limitS` have passed and everything that had arrived was read. */
export function startReplyTimer(limitS: number, expired: () => void): ReplyTimer {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // Immediates run after the loop has polled for input.
    immediate = setImmediate(expired);
  }, limitS * 1e3);
  return {
    cancel() {
      clearTimeout(timer);
      clearImmediate(immediate);
    },
  };
}
