"""A bill of materials (SBOM) in CycloneDX's JSON: the libraries that are compiled into the programs or linked."""

import hashlib
import json
import re
import subprocess
import uuid
from datetime import UTC, datetime

# Debian packages of which code is compiled into the programs: header-only and static libraries.
COMPILED_IN = ["libboost1.81-dev", "libcli11-dev", "libcpp-httplib-dev", "libspdlog-dev", "nlohmann-json3-dev", "libxxhash-dev"]


def output_of(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def libraries_of(programs):
    """Paths of the shared libraries that the programs load, each with its Debian package."""
    paths = set()
    for program in programs:
        paths |= set(re.findall(r"=> (/\S+)", output_of("ldd", program)))
    found_in = {}
    for path in sorted(paths):
        for place in (path, path.replace("/lib/", "/usr/lib/", 1), path.removeprefix("/usr")):
            found = subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True, check=False)
            if found.returncode == 0:
                found_in[path] = found.stdout.split(":")[0]
                break
        else:
            raise SystemExit(f"no Debian package has {path}")
    return found_in


def component(package, how):
    version, source, architecture = output_of(
        "dpkg-query", "-W", "-f", "${Version}\\n${source:Package}\\n${Architecture}\\n", package
    ).splitlines()[:3]
    return {
        "type": "library",
        "bom-ref": f"deb:{package}",
        "name": package,
        "version": version,
        "scope": "required",
        "purl": f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}&distro=debian-12",
        "properties": [{"name": "tarn:source", "value": source}, {"name": "tarn:use", "value": how}],
    }


def web_components(lock_file):
    """Packages of the lock file of the web interface, without those that only build it."""
    if not lock_file.exists():
        return []
    parts = []
    for path, entry in sorted(json.loads(lock_file.read_text())["packages"].items()):
        if not path or entry.get("dev") or entry.get("optional") or entry.get("devOptional"):
            continue
        name = path.rsplit("node_modules/", 1)[1]
        part = {
            "type": "library",
            "bom-ref": f"npm:{path}",
            "name": name,
            "version": entry["version"],
            "scope": "required",
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}",
            "properties": [{"name": "tarn:use", "value": "web interface"}],
        }
        if "license" in entry:
            part["licenses"] = [{"license": {"id": entry["license"]}}]
        parts.append(part)
    return parts


def bill(version, programs, epoch, lock_file, commit, shipped=()):
    """`shipped` are Debian packages of which programs are in the same file."""
    linked = set(libraries_of(programs).values())
    parts = [component(package, "linked") for package in sorted(linked)]
    parts += [component(package, "shipped") for package in shipped]
    parts += [component(package, "compiled in") for package in sorted(set(COMPILED_IN) - linked)]
    parts += web_components(lock_file)
    files = [
        {
            "type": "file",
            "name": program.name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(program.read_bytes()).hexdigest()}],
        }
        for program in programs
    ]
    content = {  # the commit is that of the source beside the programs, "" if it is not known
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": "tarn",
                "name": "tarn",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "components": files,
                **({"properties": [{"name": "tarn:commit", "value": commit}]} if commit else {}),
            },
        },
        "components": parts,
        "dependencies": [{"ref": "tarn", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    # The same content has the same number.
    content["serialNumber"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True)))
    return json.dumps(content, indent=1, sort_keys=True) + "\n"
