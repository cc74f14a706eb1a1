#!/usr/bin/env python3
"""Checks that the programs that people run carry the guards of cmake/tarn.cmake: a flag that is lost fails here.

usage: hardening.py PROGRAM...
"""

import re
import subprocess
import sys

# Of a program with control-flow protection, whose every function that is called by address begins with one. A
# program without it has those of the C runtime's own files.
LANDING_PLACES_MIN = 100


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_guards(program):
    header = output_of("readelf", "--file-header", "--wide", program)
    segments = output_of("readelf", "--program-headers", "--wide", program)
    dynamic = output_of("readelf", "--dynamic", "--wide", program)
    symbols = output_of("readelf", "--symbols", "--wide", program)
    stack = re.search(r"GNU_STACK.*?\b(R\w*)\s+0x", segments)
    guards = {
        "position independence (-fPIE -pie)": "DYN (Position-Independent Executable file)" in header,
        "read-only relocations (-z relro)": "GNU_RELRO" in segments,
        "relocations made at the start (-z now)": re.search(r"FLAGS_1.*\bNOW\b", dynamic),
        "a stack that is not executed (-z noexecstack)": stack and "E" not in stack.group(1),
        "the stack protector (-fstack-protector-strong)": "__stack_chk_fail" in symbols,
        "fortified libc calls (-D_FORTIFY_SOURCE)": re.search(r"\b__\w+_chk\b", symbols),
        "assertions of the standard library (-D_GLIBCXX_ASSERTIONS)": "__glibcxx_assert_fail" in symbols,
    }
    if "X86-64" in header:
        code = output_of("objdump", "--disassemble", "--section=.text", "--no-show-raw-insn", program)
        guards["control-flow protection (-fcf-protection)"] = code.count("endbr64") >= LANDING_PLACES_MIN
    return [guard for guard, present in guards.items() if not present]


def main(programs):
    broken = [f"{program}: without {guard}" for program in programs for guard in missing_guards(program)]
    print("\n".join(broken) if broken else f"hardening: {len(programs)} programs carry every guard")
    return 1 if broken or not programs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
