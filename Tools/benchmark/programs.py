"""Installs what is missing, builds the programs that are compared, and runs them."""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WHEEL = "sqlcipher3-binary==0.6.0"


def say(text):
    print(text, file=sys.stderr, flush=True)


def call(command, **options):
    """Runs a command that tells its progress; its output goes to standard error."""
    subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr, **options)


def figures(command, **options):
    """Runs a program that prints one JSON object."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise SystemExit(f"Tools/bench: {' '.join(map(str, command))} failed with status {done.returncode}: {done.stdout.strip()}")
    return json.loads(done.stdout)


def build_ours():
    """Builds the benchmark as everything that is released is built; where it is."""
    build = [ROOT / "Tools/packaging/swift-build", "--product", "bench"]
    call(build)
    folder = subprocess.run([*build, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return pathlib.Path(folder.strip()) / "bench"


class Programs:
    """Where they are, once they are built."""

    def __init__(self, folder, is_long):
        self.folder = pathlib.Path(folder)
        call([ROOT / "Tools/setup", "--bench-long" if is_long else "--bench"])
        self.ours = build_ours()
        self.peer = self.compile("sqlcipher", "-lsqlcipher")
        self.limits = self.compile("limits", "-lsodium")
        self.run = self.compile("run")
        self.command = self.build_command() if is_long else None
        self.python = self.install_wheel() if is_long else None
        self.keepassxc = shutil.which("keepassxc-cli") if is_long else None

    def compile(self, name, *libraries):
        program = self.folder / name
        call(["clang", "-O2", "-Wall", HERE / f"peer/{name}.c", "-o", program, *libraries])
        return program

    def build_command(self):
        build = ROOT / "Tools/packaging/build-command"
        return pathlib.Path(subprocess.run([build], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())

    def install_wheel(self):
        """A later SQLCipher than Debian's, from Python, in a folder of its own."""
        environment = ROOT / ".build-bench/wheel"
        python = environment / "bin/python"
        if not python.exists() or subprocess.run([python, "-c", "import sqlcipher3"], stderr=subprocess.DEVNULL).returncode:
            call([sys.executable, "-m", "venv", "--clear", environment])
            call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL])
        return python

    def work(self, who, name, path, *numbers):
        command = {"ours": [self.ours, "work"], "peer": [self.peer], "wheel": [self.python, HERE / "peer/wheel.py"]}[who]
        return figures([*command, name, path, *numbers])

    def cost(self, names):
        return figures([self.limits, self.folder, *names])
