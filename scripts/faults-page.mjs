/**
 * docs/faults.html: a page without a network where a person switches failures and sees what the cell would do. It holds the
 * compiled rules and the compiled arbiter, byte for byte what the daemon runs, in front of a small form.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { faultsPageScript, faultsPageStyle } from "./faults-page/parts.mjs";

/** A module of the safety room as text without module syntax; it must not import anything at run time. */
export function asPlainScript(text, file) {
  if (/^import /m.test(text)) throw new Error(`${file} imports something: the page cannot hold it`);
  return text
    .replaceAll(/^export /gm, "")
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "")
    .trim();
}

/** @param dist where the compiled program lies */
export async function faultsPage(dist) {
  const module = async (name) => {
    const file = path.join(dist, "src/agent/safety", `${name}.js`);
    return asPlainScript(await readFile(file, "utf8"), file);
  };
  const code = [await module("fault-rules"), await module("fault-arbiter")].join("\n\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>What the cell does about faults</title>
<style>${faultsPageStyle}</style>
</head>
<body>
<h1>What the cell does about faults</h1>
<p>Switch a failure on and watch. The rules and the arbiter on this page are the compiled code of the daemon
(<code>src/agent/safety/fault-rules.ts</code>, <code>fault-arbiter.ts</code>); only this form is added. Nothing here is a
safety-rated function.</p>
<div id="verdict"></div>
<div class="columns"><form id="signals"></form><table id="rules"></table></div>
<script>
"use strict";
// Compiled from src/agent/safety: do not edit.
${code}
// The form.
${faultsPageScript}
</script>
</body>
</html>
`;
}
