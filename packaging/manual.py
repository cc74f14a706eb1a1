"""Man pages made from the help of the programs, their reference and the table of settings."""

import re
import subprocess


def output_of(*command):
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C.UTF-8", "COLUMNS": "100", "PATH": "/usr/bin:/bin"},
    ).stdout


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def plain(markdown):
    """Without links, code marks and emphasis."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return text.replace("`", "").replace("**", "").replace("*reload*", "(reload)")


def head(name, section, date, version, title, summary):
    return [
        f'.TH {name.upper()} {section} "{date}" "Tarn {version}" "{title}"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(summary)}",
    ]


def preformatted(text):
    return [".PP", ".nf", escaped(text.rstrip()), ".fi"]


def commands_of(tarn):
    """(words, summary) of every command that does something, from the table of its reference."""
    for line in output_of(tarn, "reference").splitlines():
        row = re.fullmatch(r"\| `tarn ([^`]*)` \| (.*?) \| .*\|", line)
        if row:
            words = [word for word in row.group(1).split() if re.fullmatch(r"[a-z][a-z0-9-]*", word)]
            yield words, row.group(2)


def pages_of_the_command(tarn, version, date):
    """{file name: text}: tarn(1), and tarn-COMMAND(1) for each of its commands."""
    groups = {}
    for words, summary in commands_of(tarn):
        groups.setdefault(words[0], []).append((words, summary))
    overview = head("tarn", 1, date, version, "Commands", "git-like branches for object storage: the command")
    overview += [".SH SYNOPSIS", ".B tarn", "[\\fIoptions\\fR] \\fIcommand\\fR ...", ".SH COMMANDS"]
    pages = {}
    for group, rows in sorted(groups.items()):
        title = rows[0][1] if len(rows) == 1 and rows[0][0] == [group] else f"commands of tarn {group}"
        page = head(f"tarn-{group}", 1, date, version, "Commands", plain(title)[:1].lower() + plain(title)[1:])
        for words, summary in rows:
            overview += [".TP", f".B {escaped('tarn ' + ' '.join(words))}", escaped(plain(summary))]
            page += [f".SH {escaped('TARN ' + ' '.join(words).upper())}", *preformatted(output_of(tarn, *words, "--help"))]
        page += [".SH SEE ALSO", ".BR tarn (1)"]
        pages[f"tarn-{group}.1"] = "\n".join(page) + "\n"
    overview += [".SH OPTIONS", *preformatted(output_of(tarn, "--help"))]
    overview += [".SH SEE ALSO", ".BR tarnd (8)"]
    pages["tarn.1"] = "\n".join(overview) + "\n"
    return pages


def pages_of_the_server(tarnd, version, date):
    server = head("tarnd", 8, date, version, "System administration", "git-like branches for object storage: the server")
    server += [
        ".SH SYNOPSIS",
        ".B tarnd",
        "[\\fIoptions\\fR]",
        ".SH DESCRIPTION",
        "Serves REST and S3 on one port. Without a configuration it keeps everything below \\fItarn\\-data\\fR.",
        ".SH OPTIONS",
        *preformatted(output_of(tarnd, "--help")),
        ".SH SIGNALS",
        "SIGTERM and SIGINT end the server after running requests; SIGHUP reloads the configuration.",
        ".SH FILES",
        ".TP",
        ".I /etc/tarn/tarnd.yaml",
        "configuration of the service",
        ".TP",
        ".I /var/lib/tarn",
        "its data",
        ".TP",
        ".I /var/lib/tarn/admin\\-credentials",
        "the administrator's keys after the first start",
        ".SH SEE ALSO",
        ".BR tarnd.yaml (5),",
        ".BR tarn (1)",
    ]
    settings = head("tarnd.yaml", 5, date, version, "File formats", "configuration of tarnd")
    settings += [".SH DESCRIPTION"]
    for line in output_of(tarnd, "--print-config-docs").splitlines()[1:]:
        row = re.fullmatch(r"\| `([^`]*)` \| ([^|]*) \| `([^`]*)` \| (.*?) \| (.*) \|", line)
        if row:
            key, kind, variable, default, meaning = row.groups()
            if key == "listen":
                settings += [".SH KEYS"]
            settings += [
                ".TP",
                f".B {escaped(key)}",
                escaped(f"({kind}; {variable}" + (f"; default {plain(default)}" if default else "") + ")"),
                ".br",
                escaped(plain(meaning)),
            ]
        elif re.fullmatch(r"\| `--.*", line):
            continue
        elif line.startswith("## Command line"):
            break
        elif line.startswith("## "):
            settings += [f".SH {escaped(line[3:].upper())}"]
        elif line.startswith(("<!--", "|")):
            continue
        elif line:
            settings += [escaped(plain(line))]
        else:
            settings += [".PP"]
    settings += [".SH SEE ALSO", ".BR tarnd (8)"]
    # A paragraph before a heading or at the end of a section would be empty.
    text = "\n".join(settings) + "\n"
    text = re.sub(r"(\.PP\n)+(?=\.(SH|PP|TP))", "", text)
    text = re.sub(r"(\.SH [^\n]*\n)(\.PP\n)+", r"\1", text)
    return {"tarnd.8": "\n".join(server) + "\n", "tarnd.yaml.5": text}
