"""A PostgreSQL server of a test's own, on a socket in a short-named folder, as user nobody where the test is root."""

import os
import pathlib
import pwd
import shutil
import tempfile
import urllib.parse

from processes import Failure, Skip, wait_until


def programs():
    for folder in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise Skip("PostgreSQL's server is not installed (scripts/bootstrap.sh tests)")


class Postgres:
    def __init__(self, processes):
        self.programs, self.processes = programs(), processes
        # A socket's name has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-pg.", dir="/dev/shm" if os.path.isdir("/dev/shm") else "/tmp"))
        self.user = []
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--pdeathsig", "QUIT"]
        self.command("initdb", f"--pgdata={self.folder}/data", "--username=assay", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.server = None
        self.count = 0
        self.launch()

    def command(self, name, *words):
        return self.processes.run(name, [*self.user, self.programs / name, *words], seconds=60, folder="/").expect(0)

    def launch(self):
        self.server = self.processes.start("postgres", [*self.user, self.programs / "postgres", "-D", f"{self.folder}/data", "-k", self.folder,
                                                        "-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=100"],
                                           folder="/")
        ready = [*self.user, str(self.programs / "pg_isready"), "-h", str(self.folder), "-q"]
        wait_until("PostgreSQL", lambda: self.processes.run("pg_isready", ready, seconds=10, folder="/").status == 0, 30, every=0.2)

    def new_database(self):
        self.count += 1
        self.command("psql", "--no-psqlrc", "--quiet", f"--host={self.folder}", "--username=assay", "--dbname=postgres",
                     f"--command=CREATE DATABASE test{self.count} TEMPLATE template0")
        return f"postgresql://assay@/test{self.count}?host={urllib.parse.quote(str(self.folder), safe='')}"

    def contents(self, database):
        """Every row of a database, as text."""
        name = database.split("@/")[1].split("?")[0]
        return self.command("pg_dump", f"--host={self.folder}", "--username=assay", "--inserts", name).out

    def end(self):
        if self.server and self.server.alive():
            self.server.signal(3)
            try:
                self.server.finished(20)
            except Failure:
                self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
