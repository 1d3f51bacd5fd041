"""What a reader of each page types, has and sees, in the page's order. Lines that need none of that are not here."""

import dataclasses

FOLDERS = ["Docs", "Sources", "Tools"]
# Pages whose commands are run in a clone of the repository, not in the home folder.
IN_THE_CLONE = {"README.md", "Docs/building.md", "Docs/releasing.md", "Tools/python/README.md"}

PASSPHRASE = "correct horse battery staple"
BUILT_PYTHON = "$TESTS/../.build-python/environment/bin/python"
ASKED = (r"Passphrase for [^\n]*: ", PASSPHRASE)


def new(question: str, answer: str) -> list[tuple[str, str]]:
    """A secret that is asked twice."""
    return [(rf"{question}[^\n]*: ", answer), (rf"{question}[^\n]*, again: ", answer)]


@dataclasses.dataclass
class Line:
    """A command line."""

    key: str
    # What it asks, and what the reader types, in order.
    asked: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    # Scripts before and after it: what the reader has, and what must be true then.
    before: str = ""
    after: str = ""
    # Words of the line that the page's reader replaces, each with a script that prints what by.
    words: dict[str, str] = dataclasses.field(default_factory=dict)
    # Regular expressions of what it writes.
    says: list[str] = dataclasses.field(default_factory=list)
    # The page shows all that it writes. `run --record` writes it into the page.
    is_shown: bool = False
    code: int = 0
    # No machine, however busy, needs as long for a line that builds nothing.
    seconds: float = 600
    # Why it is run in the long run only.
    long: str = ""
    # Why it is not run.
    skip: str = ""


@dataclasses.dataclass
class File:
    """A block that is a file of the reader's."""

    key: str
    path: str
    mode: str = "644"
    after: str = ""
    # A script that fails where the block cannot be tried in a short run, and why it cannot.
    needs: tuple[str, str] = ("true", "")


@dataclasses.dataclass
class Program:
    """A block that is all or part of a program, which is compiled and run elsewhere."""

    key: str
    source: str


Entry = Line | File | Program

# Programs that need a server elsewhere, or a right that nobody gives a test: these ask for the secret in the same way
# and show it.
STAND_INS: dict[str, str] = {
    "psql": 'echo "psql $* with $PGPASSWORD"\n',
    # As the AWS programs do: the profile's line, as a command, without a shell's help.
    "aws": """line=$(sed -n "/^\\[profile $2\\]/,/^\\[/s/^credential_process = //p" ~/.aws/config)
read -ra command <<<"$line"
"${command[@]}"
""",
    # As ssh asks for a password.
    "ssh": '"$SSH_ASKPASS" "$1\'s password: "\n',
    "sudo": '[[ $1 == -A ]]\n"$SUDO_ASKPASS" "[sudo] password for reader: "\n"${@:2}"\n',
}

# After each page. What 'unlock' left in the kernel's keyring is the vault's that the page made.
ENDING = """if command -v vaultfmt; then vaultfmt lock || true; fi
if [[ -n ${SSH_AGENT_PID-} ]]; then kill "$SSH_AGENT_PID"; fi
if [[ -n ${SERVER-} ]]; then kill "$SERVER"; fi
if [[ -n ${BUS-} ]]; then kill "$BUS"; fi
"""

README: list[Entry] = [
    Line("PREFIX=~/.local Tools/install", seconds=1800, says=["installed vaultfmt"]),
    Line("Tools/demo", long="it builds everything once more", seconds=1800),
    Line("Tools/test", skip="these lines are a part of it"),
    Line("vaultfmt create", asked=new("[Pp]assphrase", PASSPHRASE), is_shown=True),
    Line("vaultfmt unlock --for 1h", asked=[ASKED], is_shown=True),
    Line("vaultfmt set github.com alice", asked=new("Secret", "s3cret"), is_shown=True),
    Line("vaultfmt set --generate=24 db.example.org app --label 'Production'", is_shown=True),
    Line("vaultfmt list", is_shown=True),
    Line("vaultfmt get github.com alice", is_shown=True),
    Line("vaultfmt set --generate github.com alice", is_shown=True),
    Line("vaultfmt history github.com alice", is_shown=True),
    Line("vaultfmt get github.com alice --earlier 1", says=["s3cret"], is_shown=True),
    Line("vaultfmt restore github.com alice", after="[[ $(vaultfmt get github.com alice) == s3cret ]]", is_shown=True),
    Line("vaultfmt verify", says=["sound"], is_shown=True),
    Line("vaultfmt get github.com alice --clip", says=["45"]),
    Line(
        "PGPASSWORD=$(vaultfmt get db.example.org app) psql -h db.example.org",
        says=[r"psql -h db.example.org with \S{24}\n"],
    ),
    Line(
        "vaultfmt run --env PGPASSWORD=vaultfmt:db.example.org/app -- psql -h db.example.org",
        says=[r"psql -h db.example.org with \S{24}\n"],
    ),
    Line(
        "git config --global credential.helper vaultfmt",
        after="""printf 'protocol=https\\nhost=git.example.org\\nusername=ann\\npassword=pw\\n' | git credential approve
printf 'protocol=https\\nhost=git.example.org\\n' | git credential fill | grep -x password=pw""",
    ),
    Line(
        "vaultfmt import passwords.csv",
        before="""cat >passwords.csv <<'CSV'
name,url,username,password
example.org,https://example.org/,ann,"battery, staple"
CSV""",
        after="[[ $(vaultfmt get --server example.org) == 'battery, staple' ]]",
    ),
    Line(
        "vaultfmt import server.pem",
        before="""openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=example.org -keyout server.pem -out server.crt
cat server.crt >>server.pem""",
    ),
    Line("vaultfmt export --output backup.json", after="grep -q 's3cret' backup.json"),
    Line('printf %s "$TOKEN" | vaultfmt set ci.example.org --group ci', before="export TOKEN=t0ken"),
    Line(
        "vaultfmt slot add --new-key-file ci.key --name ci --grant-group ci --create-group",
        after="[[ $(vaultfmt get --key-file ci.key ci.example.org) == t0ken ]]",
    ),
    Line(
        "vaultfmt merge --conflicts",
        before="""folder=~/.local/share/vaultfmt
copy=$folder/default.sync-conflict-20260131-235959-ABCDEFG.vault
cp $folder/default.vault $copy
printf 2 | vaultfmt set --vault $folder/default.vault github.com alice
printf 3 | XDG_STATE_HOME=~/elsewhere vaultfmt set --vault $copy github.com alice""",
        says=["both changed: .*github.com.*secret"],
        code=3,
    ),
    Line("vaultfmt conflicts", says=["github.com.*secret"]),
    Line("vaultfmt rekey", asked=[ASKED, *new("[Nn]ew passphrase", "another one")]),
    Line(
        "vaultfmt rekey --rotate", asked=[(ASKED[0], "another one"), (r"drop this slot\?[^\n]*", "y")], says=["rotated"]
    ),
    Program("import VaultFmt", "Tests/Programs/ReadmeExample/main.swift"),
    Program("import KeychainAccess", "Tests/Programs/KeychainProgram/Documentation.swift"),
    Program("vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;", "Tools/c/example.c"),
    Program("import vaultfmt", "Tools/python/README.md"),
]
KEYCHAIN_EXAMPLE = README[-3]

# What the reader of another page has: the default vault. It is unlocked where the page does not say how it is opened.
VAULT = f"""umask 077
printf '{PASSPHRASE}' >~/passphrase
VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt create
"""
UNLOCK = "VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt unlock --for 1h\n"

GIT_SERVER = """mkdir ~/srv
git init -q --bare -b main ~/srv/project.git
git clone -q ~/srv/project.git ~/seed
git -C ~/seed -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m first
git -C ~/seed push -q origin HEAD:main
echo ann:pw >~/users
python3 "$TESTS/VaultCommandTests/Programs/git_server.py" ~/srv ~/users ~/port >~/requests 2>&1 &
export SERVER=$!
for _ in {1..12000}; do if [[ -e ~/port ]]; then break; fi; sleep 0.05; done
git config --global "url.http://127.0.0.1:$(<~/port)/.insteadOf" https://git.example.org/
"""

PROGRAMS: list[Entry] = [
    Line(
        "vaultfmt unlock",
        before=VAULT + "printf s3cret | VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt set github.com alice",
        asked=[ASKED],
    ),
    Line("vaultfmt get github.com alice", says=["s3cret"]),
    Line(
        "git clone https://git.example.org/project.git",
        before=GIT_SERVER + UNLOCK,
        asked=[("Username for [^\n]*: ", "ann"), ("Password for [^\n]*: ", "pw")],
        after="rm -rf project && GIT_TERMINAL_PROMPT=0 git clone -q https://git.example.org/project.git",
    ),
    Line(
        "vaultfmt set --server git.example.org --protocol https --account alice",
        asked=new("Secret", "alice's"),
        after="""printf 'protocol=https\nhost=git.example.org\nusername=alice\n' >asked
git credential fill <asked | grep -x "password=alice's\"""",
    ),
    Line(
        "git config credential.helper 'vaultfmt --vault /srv/deploy.vault --key-file /etc/deploy.key'",
        before="""cd project
vaultfmt generate --key-file ~/deploy.key
vaultfmt create ~/deploy.vault --key-file ~/deploy.key
printf deployed >password
vaultfmt -f ~/deploy.vault set --key-file ~/deploy.key --server deploy.example.org --protocol https --account d \\
    <password
""",
        words={"/srv/deploy.vault": "echo ~/deploy.vault", "/etc/deploy.key": "echo ~/deploy.key"},
        after="""printf 'protocol=https\nhost=deploy.example.org\n' >asked
git credential fill <asked | grep -x password=deployed
cd ..""",
    ),
    Line("cat ~/.docker/config.json"),
    Line(
        "docker login ghcr.io",
        skip="it needs an account there; the harness's part clients has Docker's own Python client do it",
    ),
    Line(
        "restic -r /srv/backup init",
        words={"/srv/backup": "echo ~/backup"},
        long="it needs restic",
        before="mkdir ~/work; echo content >~/work/file",
    ),
    Line(
        "restic -r /srv/backup backup ~/work",
        words={"/srv/backup": "echo ~/backup"},
        long="it needs restic",
        says=["snapshot .* saved"],
    ),
    Line("borg init --encryption repokey /srv/borg", words={"/srv/borg": "echo ~/borg"}, long="it needs borg"),
    Line(
        "borg create /srv/borg::{now} ~/work",
        words={"/srv/borg": "echo ~/borg"},
        long="it needs borg",
        after="borg list ~/borg | grep .",
    ),
    File(
        "#!/bin/sh",
        "vault-pass",
        "755",
        after="printf 'ansible pw' | vaultfmt set ansible production; [[ $(./vault-pass) == 'ansible pw' ]]",
    ),
    Line(
        "ansible-playbook --vault-password-file ./vault-pass site.yml",
        before="""python3 -m venv ~/ansible
~/ansible/bin/pip install --quiet --disable-pip-version-check ansible-core
export PATH=$PATH:~/ansible/bin
printf 'secret: of the vault\n' >vars.yml
ansible-vault encrypt --vault-password-file ./vault-pass vars.yml
cat >site.yml <<'SITE'
- hosts: localhost
  connection: local
  gather_facts: false
  vars_files: [vars.yml]
  tasks: [{debug: {var: secret}}]
SITE""",
        says=['"secret": "of the vault"'],
        long="it needs Ansible",
    ),
    File(
        "account  example",
        "~/.msmtprc",
        "600",
        after="""printf 'mail pw' | vaultfmt set --server smtp.example.org --account ann@example.org
eval "$(sed -n 's/^passwordeval "\\(.*\\)"$/\\1/p' ~/.msmtprc)" | grep -x 'mail pw'""",
    ),
    Line(
        "vaultfmt run --env PGPASSWORD=vaultfmt:db.example.org/app -- psql -h db.example.org -U app",
        before="printf 'db pw' | vaultfmt set db.example.org app",
        says=["psql -h db.example.org -U app with db pw\n"],
    ),
    Line("cat app.conf.template"),
    Line(
        "vaultfmt inject app.conf.template --output app.conf",
        after="[[ $(<app.conf) == $'[database]\\npassword = db pw' && $(stat -c %a app.conf) == 600 ]]",
    ),
    File("[profile production]", "~/.aws/config"),
    Line("vaultfmt set aws-production AKIAIOSFODNN7EXAMPLE", asked=new("Secret", "wJalrXUtnFEMI/K7MDENG")),
    Line(
        "aws --profile production sts get-caller-identity",
        says=['"AccessKeyId": *"AKIAIOSFODNN7EXAMPLE"', '"SecretAccessKey": *"wJalr'],
    ),
    Line(
        "vaultfmt set ssh ~/.ssh/id_ed25519",
        before="mkdir -m 700 ~/.ssh",
        asked=new("Secret", "key pw"),
    ),
    Line(
        "VAULTFMT_ASKPASS=ssh SSH_ASKPASS=vaultfmt-askpass SSH_ASKPASS_REQUIRE=force ssh-add ~/.ssh/id_ed25519",
        before="""ssh-keygen -q -t ed25519 -N 'key pw' -f ~/.ssh/id_ed25519
eval "$(ssh-agent)" """,
        says=["Identity added"],
        long="it needs OpenSSH",
    ),
    Line("vaultfmt set --server host.example.org --protocol ssh --account ann", asked=new("Secret", "ann's pw")),
    Line(
        "VAULTFMT_ASKPASS=ssh SSH_ASKPASS=vaultfmt-askpass SSH_ASKPASS_REQUIRE=force ssh ann@host.example.org",
        says=["ann's pw"],
    ),
    Line(
        "VAULTFMT_ASKPASS=vaultfmt:sudo SUDO_ASKPASS=$(command -v vaultfmt-askpass) sudo -A true",
        before="printf 'sudo pw' | vaultfmt set sudo reader",
        says=["sudo pw"],
    ),
    Line(
        "vaultfmt slot add --new-key-file ci.key --name ci --grant-group ci --create-group",
    ),
    Line('printf %s "$TOKEN" | vaultfmt set deploy --group ci', before="export TOKEN=t0ken"),
    Line(
        'export VAULTFMT_VAULT=secrets.vault VAULTFMT_KEY_FILE="$CI_KEY"',
        before="""vaultfmt lock
cp ~/.local/share/vaultfmt/default.vault secrets.vault
export CI_KEY=$PWD/ci.key
printf '#!/bin/sh\necho "deploys with $DEPLOY_TOKEN"\n' >deploy
chmod +x deploy""",
    ),
    Line("vaultfmt run --env DEPLOY_TOKEN=vaultfmt:deploy -- ./deploy", says=["deploys with t0ken\n"]),
    Line(
        'vaultfmt run --owner "$OWNERS" --env DEPLOY_TOKEN=vaultfmt:deploy -- ./deploy',
        before="export OWNERS=$(vaultfmt inspect | sed -n 's/^owners: //p')",
        says=["deploys with t0ken\n"],
        after="""OTHERS=$(printf %064d 0)
if vaultfmt run --owner "$OTHERS" --env DEPLOY_TOKEN=vaultfmt:deploy -- ./deploy; then exit 1; fi""",
    ),
]

RECIPIENTS: list[Entry] = [
    Line("age-keygen -o alice.txt", before="umask 077", says=["Public key: age1"]),
    Line(
        'vaultfmt create team.vault --recipient "$(age-keygen -y alice.txt)" --recovery-key-file backup.key',
        after="vaultfmt list --vault team.vault --key-file backup.key",
    ),
    Line(
        'printf %s "$TOKEN" | vaultfmt set deploy bot --vault team.vault --identity alice.txt',
        before="export TOKEN=t0ken",
    ),
    Line("vaultfmt get deploy bot --vault team.vault --identity alice.txt", says=["t0ken"]),
    Line("export VAULTFMT_VAULT=team.vault VAULTFMT_IDENTITY=$PWD/alice.txt"),
    Line("vaultfmt get deploy bot", says=["t0ken"]),
    Line("age-keygen -y bob.txt > team.txt", before="age-keygen -o bob.txt"),
    Line(
        "vaultfmt slot add --recipients-file team.txt --name team",
        after="VAULTFMT_IDENTITY=bob.txt vaultfmt get deploy bot | grep -q t0ken",
    ),
    Line("vaultfmt slot list", says=["team", "recipients age1"]),
    Line("vaultfmt slot list", says=["recipients age1"]),
    Line(
        "vaultfmt rekey --rotate --yes --keep-key-file backup.key",
        says=["can be opened by age1"],
        after="VAULTFMT_IDENTITY=bob.txt vaultfmt get deploy bot | grep -q t0ken",
    ),
    Line("vaultfmt set backup --generate-identity", says=["public key: age1"]),
    Line("vaultfmt age-plugin vaultfmt:backup > backup.txt"),
    Line("age -e -i backup.txt -o archive.age archive.tar", before="echo content > archive.tar"),
    Line("age -d -i backup.txt archive.age > restored.tar", after="cmp archive.tar restored.tar"),
    Program("func open(_ path: String, identityFile: String) throws -> Vault {", "Tests/Programs/KeychainProgram/Documentation.swift"),
    Line(
        "vaultfmt unlock --identity alice.txt --for 8h",
        after="env -u VAULTFMT_IDENTITY vaultfmt get deploy bot | grep -q t0ken",
    ),
]

END_AGENT = """kill "$SSH_AGENT_PID"
while [[ -e $SSH_AUTH_SOCK ]]; do sleep 0.1; done
"""

# A bus for the Secret Service, as a session has one.
BUS = """{ read -r DBUS_SESSION_BUS_ADDRESS; read -r BUS; } < <(dbus-daemon --session --fork --print-address=1 --print-pid=1)
export DBUS_SESSION_BUS_ADDRESS BUS
"""

SSH_AGENT: list[Entry] = [
    Line(
        "vaultfmt set github --ssh-generate ed25519",
        before=VAULT + "export VAULTFMT_PASSPHRASE_FILE=~/passphrase XDG_RUNTIME_DIR=~/run; mkdir -m 700 ~/run ~/.ssh",
        says=["public key: ssh-ed25519 "],
    ),
    Line("vaultfmt ssh public github", says=["^ssh-ed25519 .* github"]),
    Line("ssh-add -l", says=[r"github \(ED25519\)"]),
    Line("vaultfmt ssh public github > ~/.ssh/signing.pub", after="ssh-add -T ~/.ssh/signing.pub"),
    Line(
        "git config --global user.signingKey ~/.ssh/signing.pub",
        after="""git init -q signed
git -C signed -c user.name=t -c user.email=t@example.org commit -q -S --allow-empty -m signed""",
    ),
    Line("vaultfmt import ~/.ssh/id_ed25519", before="ssh-keygen -q -t ed25519 -N '' -C mine -f ~/.ssh/id_ed25519"),
    Line("vaultfmt ssh list --group ''", says=[r"mine \(ED25519\)"]),
    Line("vaultfmt update mine --attribute ssh=offer", after="ssh-add -l | grep mine"),
    Line("vaultfmt ssh list", says=["needs confirmation"]),
    # Somebody else uses the key, and then ends the agent.
    Line(
        "vaultfmt agent --on-terminal",
        before=END_AGENT
        + """export TERM=xterm
{
    while [[ ! -S $SSH_AUTH_SOCK ]]; do sleep 0.1; done
    ssh-add -T ~/.ssh/signing.pub && touch ~/agreed
    vaultfmt agent stop
} >~/client 2>&1 </dev/null &""",
        asked=[(r"to use the key 'github'\?[\s\S]*<Refuse>", "")],
        after="[[ -e ~/agreed ]]",
    ),
    # The program that the page names is one for desktops.
    Line(
        'eval "$(vaultfmt agent --on-demand --pinentry pinentry-gnome3 --time 8h --daemon)"',
        before="""unset VAULTFMT_PASSPHRASE_FILE
cat >~/stand-ins/pinentry-gnome3 <<'SCRIPT'
#!/bin/bash
echo 'OK Pleased to meet you'
while IFS=' ' read -r command rest; do
    if [[ $command == SETDESC ]]; then echo "$rest" >>~/asked; fi
    if [[ $command == GETPIN ]]; then echo "D $(cat ~/passphrase)"; fi
    echo OK
done
SCRIPT
chmod +x ~/stand-ins/pinentry-gnome3""",
    ),
    Line(
        "ssh-add -l",
        says=[r"github \(ED25519\)"],
        after="""grep "^Unlock the vault .* for 'ssh-add' " ~/asked""",
    ),
    Line(
        'eval "$(vaultfmt agent --on-demand --list-locked --pinentry pinentry-gnome3 --idle 10m --daemon)"',
        before=END_AGENT + "rm ~/asked",
        after="""ssh-add -l | grep github
vaultfmt lock
ssh-add -l | grep github
[[ $(grep -c '^Unlock' ~/asked) == 1 ]]
export VAULTFMT_PASSPHRASE_FILE=~/passphrase""",
    ),
    Line(
        'eval "$(vaultfmt agent --key-file ssh.key --daemon)"',
        before=END_AGENT + "unset VAULTFMT_PASSPHRASE_FILE",
        after="[[ $(ssh-add -L | wc -l) == 1 && $(ssh-add -L) == *server ]]",
    ),
    Line(
        "vaultfmt ssh add github --for 1h",
        before="export VAULTFMT_PASSPHRASE_FILE=~/passphrase",
        after="""ssh-add -l | grep github
vaultfmt agent status > ~/status
grep '1 of the vault, 1 added' ~/status
grep 'server (ED25519)' ~/status""",
    ),
    Line(
        'eval "$(vaultfmt agent --collection desktop --daemon)"',
        before=END_AGENT + BUS + "export TOKEN=t0ken",
    ),
    Line("secret-tool lookup service ci.example.org username deploy", says=["^t0ken"]),
    Line("vaultfmt get ci.example.org deploy", says=["^t0ken"]),
    File("# ~/.local/share/dbus-1/services/org.freedesktop.secrets.service", "secrets.service"),
    Line(
        'eval "$(vaultfmt agent --key-file desktop.key --collection desktop --confirm --daemon)"',
        before=END_AGENT
        + """unset VAULTFMT_PASSPHRASE_FILE
printf '#!/bin/sh\\n' > ~/yes; chmod +x ~/yes; export SSH_ASKPASS=~/yes""",
        after="[[ $(secret-tool lookup service ci.example.org) == t0ken ]]",
    ),
    Line("vaultfmt agent status", says=["read the secret Deploy token", "agent: process [0-9]+"]),
]

NO_MANAGER = "no service manager of a user runs here; it was read in"
UNITS = "$(dirname $(command -v vaultfmt))/../share/systemd/user"
PROGRAMS_OF_TESTS = "$TESTS/VaultCommandTests/Programs"

# As systemd starts what the installed service says, with the socket. It ends with SERVER.
ACTIVATED = f"""mkfifo ~/end
sleep 3600 >~/end 2>~/unheard &
export SERVER=$! SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/vaultfmt/agent.sock
python3 "{PROGRAMS_OF_TESTS}/manager.py" path "$SSH_AUTH_SOCK" $(sed -n 's/^ExecStart=//p' {UNITS}/vaultfmt-agent.service) <~/end >~/told 2>&1 &
for _ in $(seq 600); do if grep -q READY=1 ~/told; then break; fi; sleep 0.1; done
"""
END_ACTIVATED = """kill "$SERVER"
unset SERVER
for _ in $(seq 600); do if grep -q '^ended by 0' ~/told; then break; fi; sleep 0.1; done
grep '^ended by 0' ~/told
"""


def with_drop_in(path: str) -> str:
    """A script that has systemd read the installed units with a drop-in file, where there is systemd."""
    return f"""rm -rf ~/units
cp -r {UNITS} ~/units
mkdir ~/units/vaultfmt-agent.service.d
sed "s,/usr/bin/vaultfmt,$(command -v vaultfmt)," {path} >~/units/vaultfmt-agent.service.d/drop-in.conf
if command -v systemd-analyze; then
    systemd-analyze --user verify --man=no ~/units/vaultfmt-agent.service 2>&1 | tee ~/complaints
    [[ ! -s ~/complaints ]]
fi
"""


# A system bus with another program in place of logind, and a session.
LOGIND = f"""export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$HOME/system-bus
export BUS=$(dbus-daemon --session --fork --address="$DBUS_SYSTEM_BUS_ADDRESS" --print-pid=1)
/usr/bin/python3 "{PROGRAMS_OF_TESTS}/logind.py" "$(id -u)" >~/logind 2>&1 &
export SERVER=$!
begin() {{ busctl --system call org.freedesktop.login1 / org.example.Test Begin sssss 1 user wayland seat0 ''; }}
for _ in $(seq 600); do if begin; then break; fi; sleep 0.1; done
"""

AGENT_SETUP: list[Entry] = [
    Line("systemctl --user enable --now vaultfmt-agent.socket", skip=f"{NO_MANAGER} systemctl(1) of systemd 252"),
    File(
        "# ~/.config/environment.d/ssh-agent.conf",
        "ssh-agent.conf",
        after="[[ $(XDG_RUNTIME_DIR=/r; . ./ssh-agent.conf; echo $SSH_AUTH_SOCK) == /r/vaultfmt/agent.sock ]]",
    ),
    Line(
        "vaultfmt unlock --for 8h",
        before=VAULT
        + """export XDG_RUNTIME_DIR=~/run
mkdir -m 700 ~/run
VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt set github --ssh-generate ed25519
"""
        + ACTIVATED,
        asked=[ASKED],
    ),
    Line("ssh-add -l", says=[r"github \(ED25519\)"], after=END_ACTIVATED),
    File(
        "# ~/.config/systemd/user/vaultfmt-agent.service.d/override.conf",
        "override.conf",
        # Its options are right: what is missing here is a system bus.
        after=with_drop_in("override.conf")
        + """code=0
DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere $(sed -n "s,%h,$HOME,; s,/usr/bin/vaultfmt,vaultfmt,; s/^ExecStart=//p" override.conf) || code=$?
[[ $code == 69 ]]""",
    ),
    Line("loginctl enable-linger", skip=f"{NO_MANAGER} loginctl(1) of systemd 252"),
    Line("mkdir -p ~/.config/vaultfmt", after="export VAULTFMT_PASSPHRASE_FILE=~/passphrase"),
    Line(
        "vaultfmt set deploy --group ssh --ssh-generate ed25519",
        after="""unset VAULTFMT_PASSPHRASE_FILE
vaultfmt lock
vaultfmt agent --key-file ~/.config/vaultfmt/ssh.key --group ssh --daemon >~/started
[[ $(ssh-add -L | wc -l) == 1 && $(ssh-add -L) == *deploy ]]
vaultfmt agent stop""",
    ),
    Line("systemctl --user enable --now vaultfmt-agent.service", skip=f"{NO_MANAGER} systemctl(1) of systemd 252"),
    File(
        "# ~/.profile",
        "profile",
        after="""[[ $(unset SSH_AUTH_SOCK; . ./profile; echo $SSH_AUTH_SOCK) == $XDG_RUNTIME_DIR/vaultfmt/agent.sock ]]
[[ $(SSH_AUTH_SOCK=/forwarded; . ./profile; echo $SSH_AUTH_SOCK) == /forwarded ]]""",
    ),
    File(
        "# ~/.profile, without systemd",
        "profile-without",
        # The second shell leaves the agent as it is.
        after="unset SSH_AUTH_SOCK\n. ./profile-without\n. ./profile-without\n[[ -S $SSH_AUTH_SOCK ]]",
    ),
    Line("vaultfmt unlock --for 8h", asked=[ASKED]),
    Line("ssh-add -l", says=[r"github \(ED25519\)"]),
    Line("vaultfmt lock", after="if ssh-add -l; then exit 1; fi"),
    Line('eval "$(vaultfmt agent --lock-with-session --daemon)"', before=LOGIND, asked=[ASKED]),
    Line(
        "vaultfmt agent status",
        says=["open"],
        after="""busctl --system call org.freedesktop.login1 / org.example.Test Lock s 1
for _ in $(seq 600); do if vaultfmt agent status | grep 'the session was locked'; then break; fi; sleep 0.1; done
vaultfmt agent status | grep 'the session was locked'""",
    ),
    File(
        "# ~/.config/systemd/user/vaultfmt-agent.service.d/asking.conf",
        "asking.conf",
        after=with_drop_in("asking.conf"),
    ),
]

AGENTS: list[Entry] = [
    Line("vaultfmt generate --key-file ci.key", before=VAULT + UNLOCK),
    Line('printf %s "$TOKEN" | vaultfmt set deploy bot --group ci', before="export TOKEN=t0ken"),
    Line("vaultfmt get deploy bot --key-file ci.key", before="vaultfmt lock", says=["t0ken"]),
    File("# .env", ".env"),
    Line(
        "vaultfmt run --env-file .env -- ./deploy",
        before=UNLOCK
        + """printf '#!/bin/sh\necho "$DEPLOY_USER deploys with $DEPLOY_TOKEN at $DEPLOY_URL, $LEVEL"\n' >deploy
chmod +x deploy""",
        says=["bot deploys with t0ken at https://bot:t0ken@deploy.example.org/, info\n"],
    ),
    Line("vaultfmt run --env-file .env --mask -- sh -c 'echo \"deploying with $DEPLOY_TOKEN\"'"),
    # What systemd does with the unit: it hands the key file over in a folder, and expands %d.
    File(
        "# /etc/systemd/system/deploy.service",
        "deploy.service",
        after="""mkdir -p etc credentials
cp ~/.local/share/vaultfmt/default.vault etc/secrets.vault
cp .env etc/env
cp ci.key credentials/ci.key
grep -qx 'LoadCredential=ci.key:/etc/deploy/ci.key' deploy.service
started=$(env -i HOME=/nowhere PATH="$PATH" XDG_STATE_HOME=~/state $(sed -n "s,%d,$HOME/credentials,; s,/etc/deploy,$HOME/etc,
s/^Environment=//p" deploy.service) $(sed -n "s,/etc/deploy,$HOME/etc,; s,/usr/bin/vaultfmt,vaultfmt,; s,/usr/local/bin,$HOME,
s/^ExecStart=//p" deploy.service))
[[ $started == 'bot deploys with t0ken at '* ]]""",
    ),
    # What the runners do with their files: they set the variables and run the script in a clone.
    File(
        "# .github/workflows/deploy.yml",
        ".github/workflows/deploy.yml",
        after="""mkdir -p project temp
cp etc/secrets.vault project/
printf '#!/bin/sh\necho "${CI_KEY-no key} $DEPLOY_TOKEN"\n' >project/deploy
chmod +x project/deploy
sed -n '/run: |/,$p' .github/workflows/deploy.yml | tail -n +2 >project/script
grep -q 'DEPLOY_TOKEN: vaultfmt:deploy/bot' .github/workflows/deploy.yml
[[ $(cd project && env HOME=/nowhere XDG_STATE_HOME=~/state VAULTFMT_VAULT=secrets.vault DEPLOY_TOKEN=vaultfmt:deploy/bot \
    CI_KEY="$(<~/ci.key)" RUNNER_TEMP=~/temp bash -e script) == 'no key ********' ]]""",
    ),
    File(
        "# .gitlab-ci.yml",
        "project/.gitlab-ci.yml",
        after="""sed -n '/script:/,$s/^ *- //p' project/.gitlab-ci.yml >project/script
grep -q 'DEPLOY_TOKEN: vaultfmt:deploy/bot' project/.gitlab-ci.yml
[[ $(cd project && env HOME=/nowhere XDG_STATE_HOME=~/state VAULTFMT_VAULT=secrets.vault DEPLOY_TOKEN=vaultfmt:deploy/bot \
    CI_KEY=$HOME/ci.key bash -e script) == */ci.key\ \*\*\*\*\*\*\*\* ]]""",
    ),
    File(
        "#!/bin/sh",
        "publish",
        "755",
        after="""sed -i "s,/srv/agent/secrets.vault,$HOME/etc/secrets.vault,; s,/srv/agent,$HOME,; s,/usr/local/bin,$HOME," publish""",
    ),
    File("# /etc/sudoers.d/agent", "sudoers", after="if command -v visudo; then visudo -c -f sudoers; fi"),
    Line(
        "sudo -u vault /usr/local/bin/publish",
        before="""printf '#!/bin/sh\nshift 2\nexec "$@"\n' >~/stand-ins/sudo""",
        words={"/usr/local/bin/publish": "echo ~/publish"},
        says=[r"deploys with \*{8} at"],
    ),
    Line(
        "vaultfmt run --confirm --env DEPLOY_TOKEN=vaultfmt:deploy/bot -- ./deploy",
        asked=[(r"Run './deploy' with secrets in DEPLOY_TOKEN\? \[y/N\] ", "y")],
        says=["deploys with t0ken"],
    ),
    Line(
        "vaultfmt otp github.com bot",
        before="printf GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ | vaultfmt set github.com bot --otp",
        says=[r"^\d{6}\n"],
    ),
]

NAMED = {"VAULT": "echo ~/my.vault"}


def slot(name: str) -> dict[str, str]:
    """The id of a slot, by its name."""
    return NAMED | {
        "ID": "VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt slot list ~/my.vault"
        f" | awk -F '\\t' '$2 == \"{name}\" {{ print $1 }}'"
    }


NEW_PASSPHRASE = "Tr0ub4dor and some more"
ASKED_NEW = (ASKED[0], NEW_PASSPHRASE)

IMPORT: list[Entry] = [
    Line(
        "vaultfmt import Passwords.kdbx --on-duplicate update-newer",
        before=VAULT
        + """
cp "$TESTS/VaultCommandTests/Samples/KDBX/4.0-aes256-argon2-gzip-passphrase.kdbx" Passwords.kdbx""",
        asked=[(r"Passphrase for [^\n]*: ", "päss wörd"), ASKED],
        says=["imported 6 items, with 2 earlier values"],
    ),
    Line(
        "vaultfmt export --format kdbx --output Copy.kdbx",
        asked=[ASKED, *new("New passphrase for the KDBX file", "another one")],
        after="""[[ $(stat -c %a Copy.kdbx) == 600 ]]
if grep -q alice Copy.kdbx; then exit 1; fi""",
    ),
    Line(
        "vaultfmt get --class certificate host.example --pem",
        before="""openssl req -x509 -newkey ed25519 -nodes -subj /CN=host.example -keyout key.pem -out host.pem 2>/dev/null
cat key.pem >>host.pem
VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt import host.pem""",
        asked=[ASKED],
        says=["-----BEGIN CERTIFICATE-----"],
    ),
    Line(
        "vaultfmt export --format pem --class certificate --output certificates.pem",
        asked=[ASKED],
        after="openssl x509 -in certificates.pem -noout",
    ),
    Line(
        "vaultfmt export --format csv --output passwords.csv",
        asked=[ASKED],
        says=["not in this list: the attributes"],
        after="[[ $(head -c 6 passwords.csv) == Title, ]]",
    ),
]

# A second machine changes a copy of the vault: `elsewhere FILE COMMAND…`.
ELSEWHERE = """mkdir -p ~/stand-ins
cat >~/stand-ins/elsewhere <<'SCRIPT'
#!/bin/bash
file=$1
shift
XDG_STATE_HOME=~/elsewhere VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt "$@" --vault "$file"
SCRIPT
chmod +x ~/stand-ins/elsewhere
"""
STICK = {"/media/usb/work.vault": "echo ~/usb/work.vault"}

PAGE: list[Entry] = [
    Line(
        "vaultfmt export --format html --with-vault --output open.html",
        before=VAULT.replace("vaultfmt create", "vaultfmt create --kdf testing my.vault")
        + "export VAULTFMT_VAULT=my.vault\n",
        says=["wrote a page with 'my.vault', SHA-256 [0-9a-f]{64}"],
        after='grep -q "$(base64 -w 0 my.vault)" open.html',
    ),
    Line("vaultfmt export --format html --output opener.html", says=["wrote a page without a vault, SHA-256 [0-9a-f]{64}"]),
    Line("vaultfmt export --format html --with-vault --output again.html"),
    Line("cmp open.html again.html"),
]

MANY_MACHINES: list[Entry] = [
    Line(
        "vaultfmt merge work.vault /media/usb/work.vault --dry-run",
        before=VAULT.replace("vaultfmt create", "vaultfmt create --kdf testing work.vault")
        + ELSEWHERE
        + """export VAULTFMT_PASSPHRASE_FILE=~/passphrase VAULTFMT_VAULT=work.vault
printf first | vaultfmt set github.com alice
mkdir usb
cp work.vault usb/work.vault
printf here | vaultfmt set github.com alice
printf there | elsewhere usb/work.vault set github.com alice
printf more | elsewhere usb/work.vault set example.org""",
        words=STICK,
        says=["would be merged: 1 item added, 1 changed", "both changed: .*github.com"],
        code=3,
    ),
    Line("vaultfmt merge work.vault /media/usb/work.vault", words=STICK, says=["merged: 1 item added, 1 changed"], code=3),
    Line("vaultfmt diff /media/usb/work.vault work.vault", words=STICK, says=["github.com"]),
    Line("vaultfmt log work.vault", says=["merge"]),
    Line("vaultfmt conflicts", says=["github.com.*secret"]),
    Line("vaultfmt conflicts show github.com alice", says=["secret"]),
    Line("vaultfmt conflicts show github.com alice --value 1", says=["here"]),
    Line(
        "vaultfmt conflicts settle github.com alice --keep 1",
        after="[[ $(vaultfmt get github.com alice) == here ]]",
    ),
    Line(
        "vaultfmt merge work.vault --conflicts",
        before="""cp work.vault work.sync-conflict-20260131-235959-ABCDEFG.vault
printf c | elsewhere work.sync-conflict-20260131-235959-ABCDEFG.vault set conflicting""",
        says=["moved to 'work.vault.merged/"],
        after="[[ $(vaultfmt get conflicting) == c ]]",
    ),
    Line(
        "vaultfmt git setup work.vault",
        before="""git config --global user.name Reader
git config --global user.email reader@example.org
git init -q --bare -b main hub.git
git init -q -b main .
git remote add origin hub.git""",
    ),
    Line("git add .gitattributes work.vault"),
    Line("git commit -q -m 'A vault, merged by vaultfmt'"),
    Line("vaultfmt sync work.vault", says=["on both sides"]),
    Line("git log -p -1 work.vault", says=["github.com"]),
    Line("vaultfmt anchor --accept work.vault"),
    Line(
        "cp work.vault mine.vault",
        before="""git clone -q hub.git clone
export XDG_STATE_HOME=~/clone-state
cd clone
vaultfmt git setup work.vault
vaultfmt rekey --rotate work.vault
vaultfmt sync work.vault
cd ..
unset XDG_STATE_HOME
printf late | vaultfmt set github.com alice
code=0
vaultfmt sync work.vault || code=$?
[[ $code == 65 ]]""",
    ),
    Line("git checkout -q origin/main -- work.vault"),
    Line("vaultfmt anchor --accept work.vault"),
    Line(
        "vaultfmt merge work.vault mine.vault --accept-old-keys --dry-run",
        says=["values of 1 item would be taken in, to settle"],
        code=3,
    ),
    Line(
        "vaultfmt merge work.vault mine.vault --accept-old-keys",
        asked=[(r"Take in these values\? [^\n]*", "y")],
        code=3,
        after="[[ $(vaultfmt get github.com alice) == here ]]",
    ),
    Line(
        "vaultfmt conflicts",
        says=["github.com.*secret"],
        after="""[[ $(vaultfmt conflicts show github.com alice --value 1) == late ]]
vaultfmt conflicts settle github.com alice --keep 1""",
    ),
    Line("vaultfmt sync work.vault", says=["on both sides"]),
    Line(
        "vaultfmt anchor --accept worktree/work.vault",
        before="""mkdir worktree
cp work.vault worktree/work.vault
printf newer | vaultfmt set newer
code=0
vaultfmt list --vault worktree/work.vault || code=$?
[[ $code == 65 ]]""",
        after="vaultfmt list --vault worktree/work.vault",
    ),
    Line(
        "vaultfmt merge work.vault /media/usb/work.vault",
        before="""rm usb/work.vault
cp work.vault usb/work.vault
printf u | elsewhere usb/work.vault set stick""",
        words=STICK,
    ),
    Line(
        "vaultfmt merge /media/usb/work.vault work.vault",
        words=STICK,
        after="cmp work.vault usb/work.vault && [[ $(vaultfmt get stick) == u ]]",
    ),
    Line(
        "vaultfmt copy netflix --to family.vault --without otp",
        before="""echo JBSWY3DPEHPK3PXP >seed
printf old | vaultfmt set netflix
vaultfmt update netflix --otp-file seed
printf new | vaultfmt set netflix""",
        asked=new("New passphrase for family.vault", "other horse battery staple"),
        says=["copied 1 item"],
    ),
    File(
        'with vaultfmt.open("work.vault", passphrase=passphrase, writable=True) as vault:',
        "merging.py",
        needs=(f"{BUILT_PYTHON} -c 'import vaultfmt'", "Tools/python/test has not built the package"),
        after=f"""cp work.vault usb/work.vault
printf p | elsewhere usb/work.vault set python
{{
    printf 'import vaultfmt\npassphrase = "%s"\n' '{PASSPHRASE}'
    cat merging.py
}} | {BUILT_PYTHON} - | grep -x THEIRS
[[ $(vaultfmt get python) == p ]]""",
    ),
]

INCIDENTS: list[Entry] = [
    Line(
        "vaultfmt rekey VAULT",
        before=VAULT.replace("vaultfmt create", "vaultfmt create ~/my.vault")
        + """export VAULTFMT_PASSPHRASE_FILE=~/passphrase
vaultfmt generate --key-file leaked.key
vaultfmt slot add --new-key-file leaked.key --name leaked ~/my.vault
printf s3cret | vaultfmt set --vault ~/my.vault SERVICE ACCOUNT
printf t0ken | vaultfmt set --vault ~/my.vault deploy --group ci
XDG_STATE_HOME=~/other-machine vaultfmt list --vault ~/my.vault
unset VAULTFMT_PASSPHRASE_FILE
cp ~/my.vault before.vault""",
        words=NAMED,
        asked=[ASKED, *new("[Nn]ew passphrase", NEW_PASSPHRASE)],
        after=f"printf '{NEW_PASSPHRASE}' >~/passphrase",
    ),
    Line("vaultfmt slot list VAULT", words=NAMED, asked=[ASKED_NEW], says=["leaked", "generated key file"]),
    Line("vaultfmt slot remove ID VAULT", words=slot("leaked"), asked=[ASKED_NEW, (r"Remove the slot [^\n]*\? \[y/N\] ", "y")]),
    Line("vaultfmt rekey --rotate VAULT", words=NAMED, asked=[ASKED_NEW], says=["rotated"]),
    Line(
        "vaultfmt verify VAULT",
        words=NAMED,
        asked=[ASKED_NEW],
        after="""if vaultfmt list --key-file leaked.key ~/my.vault; then exit 1; fi
export XDG_STATE_HOME=~/third-machine
vaultfmt get --key-file leaked.key --vault before.vault SERVICE ACCOUNT | grep -x s3cret
export XDG_STATE_HOME=~/other-machine
VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt list --vault ~/my.vault
code=0
vaultfmt list --key-file leaked.key --vault before.vault || code=$?
[[ $code == 65 ]]
unset XDG_STATE_HOME""",
    ),
    Line(
        "vaultfmt slot remove ID VAULT",
        before="""vaultfmt generate --key-file scoped.key
VAULTFMT_PASSPHRASE_FILE=~/passphrase \\
    vaultfmt slot add --new-key-file scoped.key --name scoped --grant-group ci ~/my.vault
vaultfmt get --key-file scoped.key --vault ~/my.vault deploy | grep -x t0ken""",
        words=slot("scoped"),
        asked=[ASKED_NEW, (r"Remove the slot [^\n]*\? \[y/N\] ", "y")],
        after="if vaultfmt get --key-file scoped.key --vault ~/my.vault deploy; then exit 1; fi",
    ),
    Line(
        "vaultfmt rm SERVICE ACCOUNT",
        before="export VAULTFMT_VAULT=~/my.vault",
        asked=[ASKED_NEW, ("Remove [^\n]*", "y")],
    ),
    Line("vaultfmt compact VAULT", words=NAMED, asked=[ASKED_NEW]),
    Line(
        "vaultfmt history SERVICE ACCOUNT",
        before="""export VAULTFMT_PASSPHRASE_FILE=~/passphrase
printf first | vaultfmt set SERVICE ACCOUNT
printf second | vaultfmt set SERVICE ACCOUNT
unset VAULTFMT_PASSPHRASE_FILE""",
        asked=[ASKED_NEW],
    ),
    Line("vaultfmt get SERVICE ACCOUNT --earlier 1", asked=[ASKED_NEW], says=["first"]),
    Line(
        "vaultfmt restore SERVICE ACCOUNT",
        asked=[ASKED_NEW],
        after="VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt get SERVICE ACCOUNT | grep -x first",
    ),
    Line(
        "cp VAULT damaged.vault",
        # What an item has and does not show, of the change before the last one.
        before=r"""size=$(stat -c %s ~/my.vault)
printf another | VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt set another one
printf '\377\377' | dd of=$HOME/my.vault bs=1 seek=$((size - 1500)) conv=notrunc status=none""",
        words=NAMED,
    ),
    Line("vaultfmt verify damaged.vault", asked=[ASKED_NEW], code=65, says=["cannot be authenticated"]),
    Line("vaultfmt salvage damaged.vault --output saved.vault", asked=[ASKED_NEW], code=3),
    Line("vaultfmt list --vault saved.vault --json", asked=[ASKED_NEW], says=['"deploy"']),
    Line(
        "vaultfmt anchor --accept VAULT",
        before=r"""size=$(stat -c %s ~/my.vault)
printf '\377\377' | dd of=$HOME/my.vault bs=1 seek=$((size - 100)) conv=notrunc status=none
code=0
VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt list || code=$?
[[ $code == 65 ]]""",
        words=NAMED,
        asked=[ASKED_NEW],
        after="""code=0
printf refused | VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt set another one || code=$?
[[ $code == 65 ]]""",
    ),
    Line(
        "vaultfmt repair VAULT",
        words=NAMED,
        asked=[ASKED_NEW],
        says=[r"my\.vault\.damaged-\d+"],
        after="printf another | VAULTFMT_PASSPHRASE_FILE=~/passphrase vaultfmt set another one",
    ),
]

GUIDE: list[Entry] = [
    File(
        'dependencies: [.package(url: "…", from: "…")],',
        "package",
        # With this clone in place of an address and a version.
        after="""{
    printf '// swift-tools-version: 6.2\nimport PackageDescription\nlet package = Package(name: "app",\n'
    sed 's|url: "…", from: "…"|name: "vaultfmt", path: "'"$TESTS"'/.."|' package
    echo ')'
} >Package.swift
swift package dump-package | grep '"KeychainAccess"'""",
    ),
    Program("import VaultFmt", "Tests/Programs/KeychainProgram/Documentation.swift"),
]

NEEDS_PIP = "it builds the library for Python, which Tools/python/test does too"

PYTHON: list[Entry] = [
    Line(
        "pip install ./Tools/python",
        before="python3 -m venv ~/environment\nexport PATH=~/environment/bin:$PATH",
        seconds=1200,
        long=NEEDS_PIP,
    ),
    Line("Tools/package wheel", seconds=1200, after="ls dist/*.whl", long=NEEDS_PIP),
    File(
        "import vaultfmt",
        "example.py",
        needs=(f"{BUILT_PYTHON} -c 'import vaultfmt'", "Tools/python/test has not built the package"),
        after=f"""python={BUILT_PYTHON}
if ! "$python" -c 'import vaultfmt'; then python=python3; fi
"$python" example.py | diff - <(printf "b's3cret'\nexample.org anna None\n6\nb's3cret'\n")""",
    ),
    Line("pip install './Tools/python[keyring]'", seconds=1200, long=NEEDS_PIP),
    Line(
        "vaultfmt create && vaultfmt unlock --for 8h",
        asked=[*new("[Pp]assphrase", PASSPHRASE), ASKED],
    ),
    Line(
        "keyring set https://upload.pypi.org/legacy/ __token__",
        asked=[("Password for [^\n]*: ", "pypi-token")],
        after="[[ $(vaultfmt get https://upload.pypi.org/legacy/ __token__) == pypi-token ]]",
        long=NEEDS_PIP,
    ),
    Line(
        "twine upload dist/*", skip="it needs an account there, and uploads; keyring in the line above is what it asks"
    ),
]

BUILDS = "it builds everything once more"

BUILDING: list[Entry] = [
    Line(
        "PREFIX=/usr/local Tools/install",
        words={"/usr/local": "echo ~/prefix"},
        long=BUILDS,
        seconds=1800,
        after="~/prefix/bin/vaultfmt --version",
    ),
    Line(
        "PREFIX=/usr/local Tools/install --c",
        words={"/usr/local": "echo ~/prefix"},
        long=BUILDS,
        seconds=1800,
        after="PKG_CONFIG_PATH=~/prefix/lib/pkgconfig pkg-config --libs vaultfmt",
    ),
    Line(
        "PREFIX=/usr/local Tools/install --uninstall",
        words={"/usr/local": "echo ~/prefix"},
        before="ls ~/prefix/share/systemd/user/vaultfmt-agent.socket",
        long=BUILDS,
        # The C library stays.
        after="[[ -z $(find ~/prefix/bin ~/prefix/share/{man,bash-completion,zsh,fish,systemd} -not -type d) ]]",
    ),
    Line(
        "Tools/package deb",
        long=BUILDS,
        seconds=1800,
        after="dpkg-deb --contents dist/vaultfmt_*.deb | grep bin/git-credential-vaultfmt",
    ),
    Line("Tools/package wheel", long=BUILDS, seconds=1800, after="ls dist/*.whl"),
    Line("Tools/packaging/compare-builds", skip="it takes two full builds; it is run before a release"),
]

COMPARED: list[Entry] = [
    Line("age-keygen -o ann.txt", says=["Public key: age1"]),
    Line('vaultfmt create work.vault --recipient "$(age-keygen -y ann.txt)" --no-recovery'),
    Line("export VAULTFMT_VAULT=work.vault VAULTFMT_IDENTITY=$PWD/ann.txt"),
    Line("printf s3cret | vaultfmt set github.com ann"),
    Line("printf changed | vaultfmt set github.com ann", after="[[ $(vaultfmt get github.com ann) == changed ]]"),
    # All of the older file is at the beginning of the newer one.
    Line("cmp older.vault work.vault", code=1),
    Line("grep -c github.com work.vault", code=1),
    Line("vaultfmt get github.com ann", code=65, says=["rolled back"]),
]

RELEASED = "it takes two full builds; the check 'artefacts' of Tools/release-check runs it"
SIGNED = "it needs a release and its public key"
RELEASING: list[Entry] = [
    Line("minisign -V -p vaultfmt.pub -m SHA256SUMS", skip=SIGNED),
    Line("sha256sum --check --ignore-missing SHA256SUMS", skip=SIGNED),
    Line("Tools/release-artefacts dist/release --compare", skip=RELEASED),
    Line("Tools/release-artefacts dist/signed --compare --sign ~/.minisign/minisign.key", skip="it needs the secret key"),
    Line("Tools/release-artefacts dist/packed --from ../built --compare", skip="it needs another checkout's build"),
]

PROMISES: list[Entry] = [
    Line("Tools/checks/promises c --update", skip="it writes the lists, which the step promises compares"),
    Line("Tools/checks/promises c --update --breaking", skip="it writes the lists, which the step promises compares"),
]

PAGES: dict[str, list[Entry]] = {
    "README.md": README,
    "Docs/agent.md": SSH_AGENT,
    "Docs/agent-setup.md": AGENT_SETUP,
    "Docs/agents-and-ci.md": AGENTS,
    "Docs/recipients.md": RECIPIENTS,
    "Docs/programs.md": PROGRAMS,
    "Docs/import.md": IMPORT,
    "Docs/incidents.md": INCIDENTS,
    # Its lines are in tables, which ComingFromTests runs.
    "Docs/coming-from.md": [],
    "Docs/compared.md": COMPARED,
    "Docs/many-machines.md": MANY_MACHINES,
    "Docs/page.md": PAGE,
    "Docs/building.md": BUILDING,
    "Docs/promises.md": PROMISES,
    "Docs/releasing.md": RELEASING,
    "Sources/Keychain/Access/KeychainAccess.docc/KeychainAccess.md": [KEYCHAIN_EXAMPLE],
    "Sources/Keychain/Access/KeychainAccess.docc/BringingKeychainCodeToLinux.md": GUIDE,
    "Tools/README.md": [],
    "Tools/python/README.md": PYTHON,
    "Tools/testing/README.md": [],
}
