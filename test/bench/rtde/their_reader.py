"""their_reader.py HOST HZ FIELD,FIELD,...: ur_rtde's receiver on its own. For every line on its input it prints, as JSON, the
CPU time of this process (s) and the newest timestamp."""

import json
import resource
import sys

from rtde_receive import RTDEReceiveInterface

host, hertz, fields = sys.argv[1], float(sys.argv[2]), sys.argv[3].split(",")
receive = RTDEReceiveInterface(host, hertz, fields)
print("ready", flush=True)
for _ in sys.stdin:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps({"cpuS": used.ru_utime + used.ru_stime, "timestampS": receive.getTimestamp()}),
        flush=True,
    )
receive.disconnect()
