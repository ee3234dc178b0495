/** Jobs as processes: progress, failures that do not end the others, interruption. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import type { JobProgress } from "../../../src/lab/jobs/job-runner.js";
import { LocalJobs } from "../../../src/lab/jobs/local-jobs.js";

const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-jobs-"));
const script = async (name: string, text: string) => {
  const module = path.join(folder, `${name}.mjs`);
  await writeFile(module, text);
  return { name, module, args: [name] };
};

t.test("every job runs; one that fails is told with its reason", async (t) => {
  const good =
    "console.log(JSON.stringify({ name: process.argv[2], threads: process.env.OMP_NUM_THREADS }));";
  const jobs = [
    await script("one", good),
    await script("bad", 'console.error("out of paint"); process.exit(3);'),
    await script("two", good),
  ];
  const seen: JobProgress[] = [];
  const failures = await new LocalJobs(2).run(jobs, {
    signal: new AbortController().signal,
    onProgress: (progress) => seen.push(progress),
  });
  t.same(failures, [{ job: "bad", reason: "out of paint" }]);
  t.same(
    seen.sort((a, b) => a.job.localeCompare(b.job)),
    [
      { job: "one", report: { name: "one", threads: "1" } },
      { job: "two", report: { name: "two", threads: "1" } },
    ],
  );
});

t.test("an interruption ends what runs and begins nothing more", async (t) => {
  const abort = new AbortController();
  const waits = 'console.log("1"); setInterval(() => undefined, 1000);';
  const jobs = [await script("waits", waits), await script("never", 'console.log("2")')];
  const seen: unknown[] = [];
  const ran = new LocalJobs(1).run(jobs, {
    signal: abort.signal,
    onProgress: ({ report }) => {
      seen.push(report);
      abort.abort();
    },
  });
  await t.rejects(ran, { code: "LINK_ABORTED" });
  t.same(seen, [1]);
});
