"""A SLURM cluster of one node, this machine, made of Debian's packages: for as long as a test needs it."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from processes import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
SETTINGS = """\
ClusterName=book
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={control}
SlurmdPort={node}
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobRequeue=1
ReturnToService=2
KillWait=10
MailProg=/bin/true
SlurmdParameters=config_overrides
SlurmctldTimeout=300
SlurmdTimeout=300
SchedulerParameters=sched_interval=2,batch_sched_delay=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there can be no cluster here; empty where there can."""
    if lacking := [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]:
        return f"{', '.join(lacking)} not installed (Debian: slurmctld, slurmd, slurm-client, munge)"
    return "" if os.geteuid() == 0 else "SLURM's daemons are started as root here"


class Unable(RuntimeError):
    """A daemon does not start on this machine; its log says why."""


class Cluster:
    """The cluster; `with` it, its daemons run. `environment` is what its commands need.

    Args:
        folder: for configuration, state and logs; no other user may write to it.
    """

    def __init__(self, folder: Path):
        self.folder, self.daemons = folder, []
        self.environment = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> "Cluster":
        host = socket.gethostname().partition(".")[0]
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(parents=True, mode=0o755)
        settings = dict(folder=self.folder, host=host)
        settings |= {name: free_port() for name in ("control", "node")}
        (self.folder / "slurm.conf").write_text(SETTINGS.format(**settings))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        places = {
            "socket": "socket",
            "key-file": "key",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        options = [f"--{option}={self.folder / 'munge' / file}" for option, file in places.items()]
        try:
            self._start("munged", "--foreground", "--force", *options)
            self._until(lambda: (self.folder / "munge" / "socket").exists(), "munged has no socket")
            self._start("slurmctld", "-D", "-c")
            self._until(lambda: "UP" in self.call("scontrol", "ping"), "slurmctld does not answer")
            self._start("slurmd", "-D", "-N", host)
            self._until(lambda: "idle" in self.call("sinfo", "-h", "-o", "%T"), "the node is not idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.call("scancel", "--user=root")
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def call(self, *words: str) -> str:
        """What a command says."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
        return done.stdout + done.stderr

    def logs(self) -> str:
        """The ends of all logs."""
        files = [self.folder / "munge" / "log", *self.folder.glob("*.log"), *self.folder.glob("*.said")]
        return "\n".join(f"== {file}\n{file.read_text()[-1500:]}" for file in files if file.exists())

    def _start(self, *words: str) -> None:
        with open(self.folder / f"{words[0]}.said", "w") as said:
            environment = {**os.environ, **self.environment}
            program = shutil.which(words[0], path=PATH)
            self.daemons.append(
                subprocess.Popen(
                    [program, *words[1:]], env=environment, stdout=said, stderr=subprocess.STDOUT
                )
            )

    def _until(self, ready, otherwise: str, seconds: float = 120.0) -> None:
        until = time.monotonic() + seconds
        while not ready():
            if self.daemons[-1].poll() is not None or time.monotonic() > until:
                raise Unable(f"{otherwise}\n{self.logs()}")
            time.sleep(0.2)
