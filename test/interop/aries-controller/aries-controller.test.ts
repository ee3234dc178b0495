/**
 * aries-controller, a client of a laboratory with four rotary axes: positions, moves by APS and RPS, homing with a
 * completed reply, stops. The bytes that it sends are compared with those that its author's unit understands.
 */
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";
import { stagesOnTcp } from "../stage-emulator.js";

peerTest(
  {
    peer: "aries-controller (PyPI)",
    version: () => pythonVersion("aries-controller"),
    against: "emulated ARIES over TCP",
    exercised:
      "RDP and STR of four axes, APS, RPS, ORG with completed reply, STP, REM, WRP; its bytes compared one by one",
  },
  async (t, check) => {
    const { emulator, received, port } = await stagesOnTcp(t);
    const script = interopFile("aries-controller", "stage_checks.py");
    await runChecks(t, check, [python(), script, String(port)], 120);
    const requests = received().split("\r\n");
    check(requests.pop() === "", "every request ends in CR LF");
    check(received().split("\x02").length === 2, "no STX over TCP but the one that is refused");
    // As seen from its version 0.7.0 by others, for the position (-45, 60, 180, 10) degrees.
    const moves = requests.filter((request) => /^(APS|RPS)/.test(request)).slice(0, 4);
    const wanted = ["APS1/5/-22500/1", "APS2/5/60000/1", "RPS3/7/-90000/1", "APS4/4/5000/1"];
    check(moves.join() === wanted.join(), "its first moves, byte by byte", { moves });
    check(requests.slice(0, 4).join() === "RDP1,RDP2,RDP3,RDP4", "its first reading of positions");
    check(requests.includes("ORG3/7/0"), "homing with a completed reply");
    check(
      [1, 2, 3, 4].every((axis) => !emulator.isMoving(axis)),
      "nothing moves when it has gone",
    );
  },
);
