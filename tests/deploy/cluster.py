"""A Slurm cluster of one node, of a test's own: munged, slurmctld and slurmd below one folder, ended with the test."""

import os
import pathlib
import shutil
import socket
import tempfile

from processes import Failure, Skip, wait_until

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo"]

CONFIGURATION = """\
ClusterName=assay
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is put back into the queue waits until the credential of its last start has expired.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=20
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=8192 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Cluster:
    """Use as a context."""

    def __init__(self, processes):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        missing = [name for name in PROGRAMS if shutil.which(name) is None]
        if missing:
            raise Skip(f"Slurm is not installed (apt-get install slurm-wlm): there is no {', '.join(missing)}")
        if os.geteuid() != 0:
            raise Skip("slurmd starts jobs as root alone")
        self.processes = processes
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-slurm."))  # short: a socket's name has at most 107 bytes
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": os.environ["PATH"]}

    def __enter__(self):
        self.folder.chmod(0o755)
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        ports = free_ports(2)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, folder=self.folder, controller_port=ports[0], node_port=ports[1]))
        munge = self.folder / "munge"
        try:
            self.daemon("munged", "--foreground", *[f"--{what}-file={munge}/{what}" for what in ("key", "pid", "log", "seed")], f"--socket={munge}/socket")
            wait_until("munged", lambda: (munge / "socket").exists(), 20)
            self.daemon("slurmctld", "-D", "-f", self.folder / "slurm.conf")
            self.daemon("slurmd", "-D", "-f", self.folder / "slurm.conf")
            wait_until("the node to be idle", lambda: self.run("sinfo", "--noheader", "--format=%T").out.strip() == "idle", 60, every=0.3)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in [each for each in self.processes.all if each.name == "slurmctld" and each.alive()]:
            # slurmd's jobs are sessions of their own, which only Slurm ends.
            self.run("scancel", "--signal=KILL", "--full", "--user=root")
            self.run("scancel", "--user=root")
            try:
                wait_until("Slurm's jobs to end", lambda: not self.jobs(), 40, every=0.3)
            except Failure as failure:
                print(f"  {failure}", flush=True)
        for name in ("slurmd", "slurmctld", "munged"):
            for process in [each for each in self.processes.all if each.name == name]:
                process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def daemon(self, name, *words):
        return self.processes.start(name, [shutil.which(name), *words], environment=self.environment)

    def run(self, name, *words, environment=None, folder=None):
        return self.processes.run(name, [shutil.which(name), *words], seconds=30, environment={**self.environment, **(environment or {})}, folder=folder)

    def submit(self, *words, environment=None, folder=None):
        """The id of the job, or of the array."""
        return self.run("sbatch", "--parsable", *words, environment=environment, folder=folder).expect(0).out.strip().split(";")[0]

    def jobs(self):
        """{id of the job: its state} of those that have not ended."""
        lines = self.run("squeue", "--noheader", "--array", "--format=%i %T").expect(0).out.split("\n")
        return dict(line.split() for line in lines if line.strip())
