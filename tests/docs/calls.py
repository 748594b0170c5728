#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calls.py PROJECT REFERENCE [--write]: compares docs/calls.md with the headers, or writes it.

The page has a line for each documented public call of the classes and namespaces below, from the XML that Doxygen has
written to the folder REFERENCE; for xio::arch, the rows of the table in arch.hpp."""
import os
import re
import sys
import xml.etree.ElementTree

HEAD = """# All calls on one page

One line for each call: the arguments of its first form, the first sentence of its description. Arguments in brackets
have defaults.
The [reference](building.md#presets-and-options) (`XIO_BUILD_DOCS`) has types, errors and examples.
"""
SIDES = [
    ("In a kernel", [
        ("NVMe queue", "xio::nvme::Queue", "`nvme::Queue<Sharing, Policy>`, made from a `QueueHandle`."),
        ("NVMe queue of values", "xio::nvme::kv::Queue", "`nvme::kv::Queue<Sharing, Policy>` of `<xio/kv.hpp>`; it has"
         " the calls of `nvme::Queue`, too."),
        ("Many drives", "xio::nvme::DriveSet", "`nvme::DriveSet`, one address space over several queues."),
        ("Page cache", "xio::Cache", "`Cache<Options>` of `xio/cache.hpp`, pages of several drives."),
        ("Array on a page cache", "xio::BlockArray", "`BlockArray<T, Options>`; `array[i]` is an element."),
        ("NVMe commands", "xio::nvme::", "Arguments of `submit`; `copy` and those after it need"
         " `<xio/vendors/nvme/encode_more.hpp>`."),
        ("RDMA queue pair", "xio::rdma::QueuePair",
         "`mlx5::QueuePair<Sharing, Policy>` and those of the other vendors."),
        ("RDMA receives", "xio::rdma::ReceiveQueue", ""),
        ("Memory", "xio::Region", "`Region` of this machine, `rdma::RemoteMemory` of another one."),
        ("Options of a call", "xio::Options", "`Options()`, the last argument of calls that submit or wait."),
        ("Waiting and time", "xio::", ""),
        ("Architecture", "xio/device/arch/arch.hpp",
         "`xio::arch`, on every GPU and on the CPU; also `thread_index()`, `block_index()`, `block_size()`, "
         "`grid_size()`,\n`lane()`, `wave_size()`, `ballot(mask, predicate)`"
         " and `clock()`, which are what GPUs call so."),
    ]),
    ("On the host", [
        ("NVMe controller", "xio::host::NvmeController",
         "Over a transport: `QemuNvme`, `VfioNvme`, `KernelSharedNvme`, `emulation::NvmeController`."),
        ("NVMe queue on the host", "xio::host::NvmeQueue", ""),
        ("Page cache on the host", "xio::host::NvmeCache", "Made by `host::make_cache()`."),
        ("Executor and memory", "xio::host::Executor", ""),
        ("Buffer of a controller", "xio::host::DmaBuffer", ""),
        ("Launch, adopt, find", "xio::host::", ""),
        ("Stream of kernels on the CPU", "xio::host::HostStream", ""),
        ("GPU code loaded at run time", "xio::host::GpuKernel",
         "Of a `GpuModule`, by `kernel<Parameters...>(name)`; it runs on a `GpuWork`."),
        ("RDMA queue pair of verbs", "xio::host::VerbsQueuePair", ""),
        ("RDMA queue pair for kernels", "xio::host::DirectQueuePair",
         "From `host::adopt_...`, `Mlx5Endpoint`, `RxeEndpoint`."),
        ("Emulated NVMe controller", "xio::emulation::NvmeController", ""),
        ("Emulated NIC", "xio::emulation::RdmaNic", ""),
    ]),
]
# Of a namespace, functions of these headers.
HEADERS = {
    "xio::nvme::": r"vendors/nvme/encode(_more)?\.hpp",
    "xio::": r"device/core/(com|deadline|poll|status|pattern)|device/queue/notification",
    "xio::host::": r"host/(launch|rdma/(mlx5|bnxt|ionic|ernic|exchange)|memory/executor|clock)"
                   r"|host/gpu/(find|occupancy|stream|samples)|host/(errno|nvme/(open|drive_set|cache))",
}
# Public for the library's own use, or for tests of a transport.
INTERNAL = re.compile(r"_library$|^(mlx5|bnxt|ionic|ernic)_queues$|^(told|telemetry|slot_of|encode|read64|write32"
                      r"|doorbell_words|doorbells_are_registers|description"
                      r"|watch_in_flight|by_queue|in_groups|in_whole_groups)$")

# Of the architecture, what a program that uses queues calls; the others are named only.
OF_USERS = re.compile(r"^`(load|fetch_add|compare_exchange|publish|observe|release_system|acquire_system|block_barrier"
                      r"|active|together|fenced_clock)[<(]")


def text(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


def sentence(brief):
    """The first sentence, without a full stop: one that ends a word of at least three letters."""
    first = re.split(r"(?<=[\w)`]{2})[.;:](?: |$)", brief)[0]
    return first.rstrip(".")


def call(member):
    names = []
    for parameter in member.findall("param"):
        name = text(parameter.find("declname"))
        if name:
            names.append(f"[{name}]" if parameter.find("defval") is not None else name)
    return f"{text(member.find('name'))}({', '.join(names)})"


def parse(folder, name):
    return xml.etree.ElementTree.parse(os.path.join(folder, name + ".xml")).getroot()


def members_of(folder, name):
    """The public documented functions of a class, or of a namespace ("xio::arch::") in its headers."""
    kinds = ("namespace",) if name.endswith("::") else ("class", "struct")
    for entry in parse(folder, "index").findall("compound"):
        plain = re.sub(r"<.*", "", entry.find("name").text).strip()
        if plain != name.removesuffix("::") or entry.get("kind") not in kinds:
            continue
        for member in parse(folder, entry.get("refid")).find("compounddef").findall(".//memberdef"):
            if member.get("kind") == "function" and member.get("prot") == "public":
                yield member


def lines_of(folder, name):
    short, seen = name.removesuffix("::").split("::")[-1], {}
    for member in members_of(folder, name):
        own, brief = text(member.find("name")), text(member.find("briefdescription"))
        if own in (short.removeprefix("Basic"), short, "~" + short) or own.startswith("operator"):
            continue
        if INTERNAL.search(own) or not brief:
            continue
        if name.endswith("::") and not re.search(HEADERS[name], member.find("location").get("file")):
            continue
        # What only says a value is described by a phrase, and named here.
        if not member.findall("param") and brief[0].islower():
            seen.setdefault(own, None)
        else:
            seen.setdefault(own, f"- `{call(member)}`: {sentence(brief)}")
    values = ", ".join(f"`{own}`" for own, line in seen.items() if line is None)
    return [line for line in seen.values() if line] + ([f"- Values: {values}"] if values else [])


def rows_of(path):
    """The rows of the table in a header: function and guarantee."""
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^/// \| (`.*?) +\| (.*?) +\|$", file.read(), re.MULTILINE)
    own = [(function, guarantee) for function, guarantee in rows if OF_USERS.search(function)]
    others = [function for function, _ in rows if not OF_USERS.search(function)]
    described = [f"- {function}: {guarantee}" for function, guarantee in own]
    return [*described, "- For protocols of your own: " + ", ".join(others)]


def page(project, folder):
    parts, before = [HEAD], {}
    for side, sections in SIDES:
        parts.append(f"\n## {side}\n")
        for title, name, note in sections:
            lines = rows_of(os.path.join(project, "include", name)) if name.endswith(".hpp") else lines_of(folder, name)
            if not lines:
                raise SystemExit(f"{name} has no documented calls")
            # What is said above already is named only.
            same = [line for line in lines if before.get(line) == side and "(" in line]
            before.update(dict.fromkeys(lines, side))
            if same:
                named = ", ".join(line[2:line.index("(")] + "`" for line in same)
                lines = [f"- As above: {named}"] + [line for line in lines if line not in same]
            parts.append(f"\n### {title}\n\n" + (note + "\n\n" if note else "") + "\n".join(lines) + "\n")
    return "".join(parts)


def main():
    project, folder = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[2]), "xml")
    path, made = os.path.join(project, "docs/calls.md"), page(project, folder)
    if sys.argv[3:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)
        return 0
    with open(path, encoding="utf-8") as file:
        there = file.read()
    if there != made:
        old, new = set(there.split("\n")), set(made.split("\n"))
        for line in sorted(old ^ new):
            print(f"not {'in the headers' if line in old else 'on the page'}: {line}")
        print(f"{path} is out of date: {sys.argv[0]} {sys.argv[1]} {sys.argv[2]} --write")
        return 1
    print(f"{made.count(chr(10) + '- ')} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
