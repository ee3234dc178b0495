import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { CellError } from "../../src/base/errors.js";
import { createRunningLog } from "../../src/record/running-log.js";

t.test("errors carry number, remedy and cause; secrets are hidden", async (t) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-log-")), "run.log");
  const log = createRunningLog({ level: "info", file });
  const cause = new Error("ECONNREFUSED");
  log.error({ err: new CellError("LINK_CONNECT", "arm at 127.0.0.1", { cause }), secretKey: "s3" }, "no arm");
  log.debug("not at this level");
  await promisify((done: (error?: Error) => void) => log.flush(done))();
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? ""), {
    msg: "no arm",
    secretKey: "(hidden)",
    err: { code: "LINK_CONNECT", number: 2001, remedy: /switched on/, cause: { message: "ECONNREFUSED" } },
  });
});
