/** The scripts, run in a copy of the checkout's outline with stand-ins for what they call. */
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { projectRoot } from "../../src/base/paths.js";

interface Outcome {
  readonly code: number;
  readonly text: string;
}

interface Outline {
  readonly folder: string;
  /** Calls of the stand-ins, one a line. */
  calls(): Promise<string[]>;
  run(script: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Outcome>;
}

/** `packages` are those that dpkg has; `root` decides whom `id` of the scripts sees through EUID (sudo or none). */
async function outline(t: Test, packages: readonly string[]): Promise<Outline> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-setup-"));
  const stubs = path.join(folder, "stubs");
  for (const part of ["stubs", "src", "native", "test/native", "test/bench", "node_modules/.bin"]) {
    await mkdir(path.join(folder, part), { recursive: true });
  }
  await cp(path.join(projectRoot, "scripts"), path.join(folder, "scripts"), { recursive: true });
  for (const file of [
    "package.json",
    "package-lock.json",
    "tsconfig.src.json",
    "tsconfig.json",
    "CMakeLists.txt",
  ]) {
    await cp(path.join(projectRoot, file), path.join(folder, file));
  }
  await writeFile(path.join(folder, "src", "a.ts"), "export {};\n");
  const log = path.join(folder, "calls.log");
  const stub = async (name: string, body = ""): Promise<void> => {
    const file = path.join(stubs, name);
    await writeFile(file, `#!/bin/bash\necho "${name} $*" >>'${log}'\n${body}\n`);
    await chmod(file, 0o755);
  };
  const listing = packages.map((name) => `installed ${name}`).join("\\n");
  await stub("dpkg-query", `printf '${listing}\\n'`);
  await stub("sudo", '[[ $1 == -n ]] && shift; [[ $1 == -v ]] && exit 0; exec "$@"');
  await stub("apt-get");
  await stub("npm", "mkdir -p node_modules/.bin");
  for (const name of ["tsc", "cmake-js"]) {
    await stub(name, name === "tsc" ? "mkdir -p dist" : "mkdir -p build/addons");
    await symlink(path.join(stubs, name), path.join(folder, "node_modules", ".bin", name));
  }
  // The packages that `node -e require` looks for.
  for (const name of ["zeromq", "serialport"]) {
    await mkdir(path.join(folder, "node_modules", name));
    await writeFile(path.join(folder, "node_modules", name, "index.js"), "");
  }
  t.comment(folder);
  return {
    folder,
    calls: async () =>
      (await readFile(log, "utf8").catch(() => "")).split("\n").filter((line) => line !== ""),
    run: async (script, args, env = {}) =>
      new Promise((resolve) => {
        const command = ["bash", path.join(folder, "scripts", script), ...args];
        const options = { env: { ...process.env, PATH: `${stubs}:${process.env["PATH"] ?? ""}`, ...env } };
        execFile("/usr/bin/env", command, options, (error, stdout, stderr) => {
          const code = typeof error?.code === "number" ? error.code : 0;
          resolve({ code, text: stdout + stderr });
        });
      }),
  };
}

/** Names of a section of scripts/debian-packages.txt. */
async function section(name: string): Promise<string[]> {
  const text = await readFile(path.join(projectRoot, "scripts", "debian-packages.txt"), "utf8");
  return text
    .split("\n")
    .map((line) => line.split(/\s+/))
    .flatMap(([mode, entry]) => (mode === name && entry !== undefined ? [entry] : []));
}

const installs = (calls: readonly string[]): string[] =>
  calls
    .filter((call) => /^apt-get .* install /.test(call))
    .flatMap((call) => call.split(" install ")[1] ?? []);

t.test("only what is missing is installed, after the lists are read, and said with its reason", async (t) => {
  const present = (await section("start")).filter((name) => name !== "cmake" && name !== "libaravis-dev");
  const { run, calls } = await outline(t, present);
  const { code, text } = await run("setup.sh", ["start"]);
  t.equal(code, 0, text);
  t.match(text, /installing 2 Debian packages/);
  t.match(text, /libaravis-dev +GigE Vision/);
  const all = await calls();
  const update = all.findIndex((call) => /^apt-get .*update/.test(call));
  const install = all.findIndex((call) => / install /.test(call));
  t.ok(update >= 0 && update < install);
  t.same(installs(all), ["-y -q --no-install-recommends cmake libaravis-dev"]);
  t.match(all[install], /DPkg::Lock::Timeout=600/);
});

t.test(
  "start installs no development packages, runs no install scripts, builds only what it needs",
  async (t) => {
    const { run, calls } = await outline(t, await section("start"));
    const { code, text } = await run("setup.sh", ["start"]);
    t.equal(code, 0, text);
    const all = await calls();
    t.same(installs(all), []);
    t.ok(all.includes("npm ci --ignore-scripts --no-audit --no-fund --omit=dev"));
    t.ok(all.includes("tsc -b tsconfig.src.json"));
    t.ok(all.some((call) => /^cmake-js build .*SURGICLAW_TESTS=OFF/.test(call)));
  },
);

t.test("full installs the development packages and builds the tests", async (t) => {
  const { run, calls } = await outline(t, [...(await section("start")), ...(await section("full"))]);
  const { code, text } = await run("setup.sh", ["full"]);
  t.equal(code, 0, text);
  const all = await calls();
  t.ok(all.includes("npm ci --ignore-scripts --no-audit --no-fund"));
  t.ok(all.includes("tsc -b"));
  t.ok(all.some((call) => /^cmake-js build .*SURGICLAW_TESTS=ON/.test(call)));
});

t.test(
  "a second run does nothing; a changed source is compiled again; a lost output stays lost",
  async (t) => {
    const { run, calls, folder } = await outline(t, await section("start"));
    await run("setup.sh", ["start"]);
    const before = (await calls()).length;
    const again = await run("setup.sh", ["start"]);
    t.equal(again.code, 0);
    t.same(
      (await calls()).slice(before).filter((call) => !call.startsWith("dpkg-query")),
      [],
    );
    await mkdir(path.join(folder, "dist", "src"), { recursive: true });
    await writeFile(path.join(folder, "dist", "src", "gone.js"), "");
    await writeFile(path.join(folder, "src", "a.ts"), "export const a = 1;\n");
    await run("setup.sh", ["start"]);
    const changed = (await calls()).slice(before).filter((call) => !call.startsWith("dpkg-query"));
    t.same(changed, ["tsc -b tsconfig.src.json"]);
    await t.rejects(
      readFile(path.join(folder, "dist", "src", "gone.js")),
      "the output of a deleted source goes",
    );
  },
);

t.test("the example worker's packages come only when it is asked for", async (t) => {
  const { run, calls } = await outline(t, await section("start"));
  await run("setup.sh", ["start", "zmq"]);
  t.match(installs(await calls())[0], /python3-zmq/);
});

t.test("a failing step shows the end of its log and ends with its code", async (t) => {
  const { run, folder } = await outline(t, await section("start"));
  await writeFile(path.join(folder, "stubs", "tsc"), "#!/bin/bash\necho 'src/a.ts: broken'\nexit 9\n");
  const { code, text } = await run("setup.sh", ["start"]);
  t.equal(code, 9);
  t.match(text, /Compiling TypeScript failed \(exit 9\)/);
  t.match(text, /src\/a\.ts: broken/);
  t.match(text, /runs\/logs\/setup-start\.log/);
});

t.test("commands of the checkout say so when nothing is built, and are linked for npx", async (t) => {
  const { run, folder } = await outline(t, await section("start"));
  await run("setup.sh", ["start"]);
  for (const name of ["surgiclaw", "surgiclawd"]) {
    const script = await run(`bin/${name}`, ["--help"]);
    t.equal(script.code, 1);
    t.match(script.text, /not built yet/);
    t.match(await readFile(path.join(folder, "node_modules", ".bin", name), "utf8"), /npx/);
  }
});
