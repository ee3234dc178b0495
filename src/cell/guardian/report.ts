/** What the guardian process says about itself: one JSON line at each change. */
import { z } from "zod";

const reportSchema = z.object({
  /** Watches, and can reach every device. */
  armed: z.boolean(),
  /** Has acted on silence and waits to be rearmed. */
  triggered: z.boolean(),
  /** Has received a beat. */
  beating: z.boolean(),
  triggers: z.number(),
  realtime: z.boolean(),
  memoryLocked: z.boolean(),
  links: z.array(z.object({ name: z.string(), ready: z.boolean() })),
});

export type GuardianReport = z.output<typeof reportSchema>;

/** Undefined for a line that is no report. */
export function parseReport(line: string): GuardianReport | undefined {
  try {
    const parsed = reportSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** Cuts text that comes in any pieces into lines. */
export class Lines {
  private rest = "";

  push(text: string): string[] {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    return lines;
  }
}
