/** surgiclaw status */
import type { Command } from "commander";
import { guarded, withClient, withConnection, type ConnectionOptions } from "./shared/connection.js";
import { paint, print, printJson, table } from "./shared/output.js";

export function addStatus(program: Command): void {
  withConnection(program.command("status"))
    .description("show cell, devices, procedure, and who holds control")
    .addHelpText("after", "\nExample: npx surgiclaw status --json")
    .action(
      guarded<[ConnectionOptions]>(
        (options) => options.json === true,
        async (options) => {
          const status = await withClient(options, async (client) => client.call("status", {}));
          if (options.json === true) {
            printJson(status);
            return;
          }
          const { lease, targets } = status;
          const readiness = status.ready ? paint("green", "ready") : paint("yellow", "not ready");
          print(`cell       ${status.cell}: ${status.current} (desired ${status.desired}), ${readiness}`);
          print(`procedure  ${status.procedure.replaceAll("_", " ")}: ${status.reason}`);
          if (status.query !== null) print(`query      ${status.query}`);
          print(`targets    ${targets.implanted} of ${targets.total} implanted, cycle ${status.cycle}`);
          if (status.stopLatched) print(paint("red", "a stop is latched: remove its cause, then reset"));
          for (const { id, text, severity, mayOverride, remedy } of status.faults) {
            print(paint(severity === "notice" ? "yellow" : "red", `fault      ${id}: ${text}`));
            print(`           ${remedy}${mayOverride ? `, or npx surgiclaw override ${id}` : ""}`);
          }
          const control = lease === null ? "nobody" : `${lease.client} (epoch ${lease.epoch})`;
          print(`control    ${control}`);
          print(`possible   ${status.possible.join(", ")}`);
          if (status.recording !== null) print(`recording  ${status.recording}`);
          if (status.devices.length > 0) {
            print();
            print(
              table(
                ["device", "state", "desired", ""],
                status.devices.map((device) => [device.name, device.current, device.desired, device.detail]),
              ),
            );
          }
        },
      ),
    );
}
