"""Drives lost in the middle of a run: BOT by QEMU's hot-unplug, UAS by the port's `authorized`.

QEMU aborts when a UAS device is unplugged with requests in flight, so the guest's kernel takes it
away instead; in some timings QEMU 7.2 still meets an assertion of its own, which ends the VM: then
the fixture boots once more.
"""

from __future__ import annotations

import json
from typing import Any

from .conftest import RunVm, StartVm, once_more_when_lost

# It takes a minute. A guest that hangs, as QEMU's device may, is lost and booted once more.
LIMIT = "300"
COMMAND = """
benchstick watch --json > /tmp/watch &
benchstick run cdm --drive BSBOT0001 --target block --erase BSBOT0001 --json \
  --param profile=demo --param time=30 --param size=16MiB --param interval=0 > /tmp/out &
pid=$!
until grep -qs 'preparing pass' /run/benchstick/live/*.json || ! kill -0 $pid; do sleep 0.2; done
sleep 2
echo pull-now
wait $pid; code=$?
benchstick runs --json > /tmp/runs
benchstick drives --json > /tmp/drives
python3 - $code <<'END'
import json, sys
out, runs, drives = (json.load(open(f'/tmp/{name}')) for name in ('out', 'runs', 'drives'))
print('answer', json.dumps({'code': int(sys.argv[1]), 'state': out['state'],
'reason': out['reason'],
  'listed': runs['runs'][0]['state'], 'steps': [step['state'] for step in out['steps']],
  'codes': [drive['code'] for drive in drives['drives']],
  'events': [event['kind'] for event in out['events']],
  'watched': [json.loads(line) for line in open('/tmp/watch')]}))
END
"""


def test_a_bot_drive_pulled_out_is_lost_and_reported(live_vm: StartVm) -> None:
    def pulled_out() -> Any:
        vm = live_vm(COMMAND, BENCHSTICK_VM_TIMEOUT=LIMIT)
        vm.wait_line(b"pull-now")
        qmp = vm.qmp()
        qmp.execute("device_del", id="bot")
        qmp.close()
        line = vm.wait_line(b"answer ")
        vm.finish()
        return json.loads(line.split(b" ", 1)[1])

    answer = once_more_when_lost(pulled_out)
    assert answer["code"] == 4
    assert answer["state"] == "failed"
    assert "BSBOT0001" in answer["reason"]
    assert answer["listed"] == "failed"
    assert answer["steps"][:2] == ["done", "done"]
    assert answer["steps"][-1] == "failed"
    assert "BSBOT0001" not in answer["codes"]
    assert "drive-lost" in answer["events"]
    (run_document,) = answer["watched"]
    assert run_document["event"] == "unplug"
    assert run_document["drive"]["code"] == "BSBOT0001"


UAS = r"""
benchstick run cdm --drive BSUAS0001 --target block --erase BSUAS0001 --json \
  --param profile=demo --param time=30 --param size=16MiB --param interval=0 > /tmp/out &
pid=$!
until grep -qs 'preparing pass' /run/benchstick/live/*.json || ! kill -0 $pid; do sleep 0.2; done
sleep 2
name=$(lsblk -dno NAME,SERIAL | awk '$2 == "BSUAS0001" { print $1 }')
port=$(readlink -f /sys/block/$name/device)
while [ ! -e "$port/authorized" ] || [ ! -e "$port/idVendor" ]; do port=$(dirname "$port"); done
echo 0 > "$port/authorized"
wait $pid; code=$?
echo 1 > "$port/authorized"
udevadm settle
for _ in $(seq 50); do lsblk -dno SERIAL | grep -q BSUAS0001 && break; sleep 0.2; done
benchstick drive BSUAS0001 --json > /tmp/drive
python3 - $code <<'END'
import json, sys
out, drive = (json.load(open(f'/tmp/{name}')) for name in ('out', 'drive'))
print(json.dumps({'code': int(sys.argv[1]), 'state': out['state'], 'reason': out['reason'],
  'steps': [step['state'] for step in out['steps']], 'guard': drive['guard']['state'],
  'transport': drive['transport']['value']}))
END
"""


def test_a_uas_drive_lost_is_reported_and_comes_back(vm: RunVm) -> None:
    answer = vm(UAS, BENCHSTICK_VM_TIMEOUT=LIMIT).json()
    assert answer["code"] == 4
    assert answer["state"] == "failed"
    assert "BSUAS0001" in answer["reason"]
    assert answer["steps"][:2] == ["done", "done"]
    assert answer["steps"][-1] == "failed"
    assert (answer["guard"], answer["transport"]) == ("free", "usb-uas")
