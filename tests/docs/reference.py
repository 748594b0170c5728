#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reference.py PROJECT REFERENCE: checks the reference that Doxygen has written to the folder REFERENCE (html and xml).

Every module has a page with members, every class of a header belongs to a module and has a brief, public calls show a snippet, the
first page links to every module, guide and example, and no link inside the reference is dead. The test docs.doxygen checks
warnings."""
import glob
import os
import re
import sys
import xml.etree.ElementTree
from html import unescape
from urllib.parse import unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmake"))
from markdown_filter import label  # noqa: E402

CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct)(?: alignas\(\w+\))? (\w+)(?: final)?(?: :.*| \{.*)?$")
# Strings that are links, in the data of the tree view, the index and the search.
SCRIPT_LINK = re.compile(r"[\"'](?:\.\./)?([\w\-]+\.html(?:#[\w\-]+)?)[\"']")

# Every public member function of these classes has a description, and shows code (@snippet), except constructors, destructors, operators,
# swap and implementations of an interface's functions. Accessors (without parameters, and const or returning a reference; but not CALLS)
# need not show code.
CALLS = ["session", "publish_payload", "active_namespaces", "status", "region", "span", "valid", "violations"]
FACADES = ["nvme::Queue", "nvme::DriveSet", "nvme::DriveSetHandle", "Cache", "BlockArray", "host::NvmeCache",
           "rdma::QueuePair", "rdma::ReceiveQueue", "rdma::RemoteMemory",
           "Options", "Region", "host::NvmeController", "host::NvmeQueue", "host::Executor", "host::DmaBuffer", "host::HostStream",
           "host::GpuModule", "host::GpuKernel", "host::GpuWork", "host::DirectQueuePair", "host::VerbsQueuePair", "host::Exchange",
           "host::ExchangeServer", "emulation::NvmeController", "emulation::RdmaNic", "emulation::RdmaQueuePair"]
# Classes whose descriptions show code.
SHOWN = ["rdma::QueuePair", "nvme::DriveSetHandle", "nvme::CommandSetters", "Status", "Token", "Deadline",
         "Notification", "KeptResult", "Policy", "Options", "telemetry::Steps", "host::NvmeController", "host::NvmeQueue",
         "host::QueueOptions", "host::Executor", "host::DmaBuffer", "host::LaunchShape", "host::HostStream", "host::DirectQueuePair",
         "host::VerbsQueuePair", "emulation::NvmeController", "emulation::FaultPlan", "emulation::RdmaNic", "emulation::RdmaQueuePair"]
# Functions of which every documented overload shows code; lists.py has the other NVMe commands.
FUNCTIONS = ["XioComEnqueue", "XioComDequeue", "XioComDoorbell", "enqueue_wave", "deadline", "poll_until", "wait_until", "name",
             "nvme::command", "nvme::encode", "nvme::cover_ranges",
             "host::on", "host::default_executor", "host::launch", "simt::launch", "host::adopt_mlx5", "host::adopt_bnxt",
             "host::adopt_ionic", "host::adopt_ernic"]


# Doxygen quotes all attributes, and escapes quotes in text. A parser takes ten times as long.
LINK = re.compile(r'<(?:a|link|area|img|script|iframe) [^>]*?\b(?:href|src)="([^"]*)"')
NAME = re.compile(r'<[^>]*?\bid="([^"]*)"|<a [^>]*?\bname="([^"]*)"')


class Page:
    """The links of a page, and the anchors that links to it may name."""

    def __init__(self, text):
        self.links = [unescape(link) for link in LINK.findall(text)]
        self.names = {unescape(one or other) for one, other in NAME.findall(text)}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def dead_links(html):
    """The places of dead links in the reference, and the number of all links.

    Two kinds of anchors that Doxygen 1.9 generates are not checked: those of the tree view, whose entries open the right page, and the
    summary's link to a list of nested classes if all of them are private."""
    pages, scripts = {}, []
    for folder, _, names in os.walk(html):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".html"):
                pages[path] = Page(read(path))
            elif name.endswith(".js"):
                scripts.append(path)
    links = [(path, link) for path, page in pages.items() for link in page.links]
    # Links in scripts are relative to the pages, wherever the script is.
    links += [(os.path.join(html, "script"), link) for path in scripts for link in SCRIPT_LINK.findall(read(path))]
    dead = set()
    for source, link in links:
        if re.match(r"[a-z]+:|//", link):
            continue
        target, _, name = unquote(link).partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(source), target)) if target else source
        if not os.path.exists(path):
            dead.add(f"{os.path.relpath(source, html)}: {link}: no such page")
        elif name and path in pages and name not in pages[path].names and source in pages and name != "nested-classes":
            dead.add(f"{os.path.relpath(source, html)}: {link}: no such anchor")
    return sorted(dead), len(links)


def modules(project):
    # A vendor's module is defined in its folder.
    pages = [os.path.join(project, "docs/reference.dox"), *glob.glob(os.path.join(project, "include/xio/vendors/*/traits.hpp"))]
    return [module for page in pages for module in re.findall(r"@defgroup (\w+) ", read(page))]


def classes_of_headers(project):
    """The names of classes outside namespaces `detail`, each with its header. GPU back ends are excluded."""
    for folder, _, names in os.walk(os.path.join(project, "include/xio")):
        if os.path.basename(folder) in ("amdgcn", "nvptx"):
            continue
        for name in (name for name in names if name.endswith((".hpp", ".h"))):
            internal = False
            for line in read(os.path.join(folder, name)).split("\n"):
                if line.startswith("namespace "):
                    internal = "detail" in line
                elif line.startswith("}  // namespace detail"):
                    internal = False
                match = CLASS.match(line)
                if match and not internal and not line.endswith(";"):
                    yield match.group(1), os.path.relpath(os.path.join(folder, name), project)


def check_modules(project, folder):
    """Errors in the modules, and the number of classes in them."""
    xml_folder, wrong, documented = os.path.join(folder, "xml"), [], set()
    for module in modules(project):
        path = os.path.join(xml_folder, f"group__{module.replace('_', '__')}.xml")
        page = os.path.join(folder, "html", os.path.basename(path)[:-4] + ".html")
        if not os.path.exists(path) or not os.path.exists(page):
            wrong.append(f"module {module} has no page")
            continue
        group = xml.etree.ElementTree.parse(path).getroot().find("compounddef")
        inner = group.findall("innerclass")
        if not inner and not group.findall("innergroup") and not group.findall(".//memberdef"):
            wrong.append(f"module {module} has no members")
        if not "".join("".join(group.find(part).itertext()) for part in ("briefdescription", "detaileddescription")).strip():
            wrong.append(f"module {module} has no description")
        for entry in inner:
            documented.add(re.sub(r"<.*", "", entry.text).strip().split("::")[-1])
            compound = xml.etree.ElementTree.parse(os.path.join(xml_folder, entry.get("refid") + ".xml")).getroot().find("compounddef")
            brief = "".join(compound.find("briefdescription").itertext()).strip()
            if entry.get("prot") == "public" and not brief:
                wrong.append(f"module {module}: {entry.text} has no brief")
    for name, header in classes_of_headers(project):
        if name not in documented:
            wrong.append(f"{header}: {name} is in no module, or has no docstring")
    return wrong, len(documented)


def text_of(element, *parts):
    return "".join("".join(element.find(part).itertext()) for part in parts).strip()


def shows_code(element):
    return element.find("detaileddescription").find(".//programlisting") is not None


def is_call(member, class_name):
    """Whether it is a public member function that must be described; see FACADES."""
    name = member.find("name").text
    return (member.get("kind") == "function" and member.get("prot") == "public" and name.lstrip("~") != class_name
            and not name.startswith("operator") and member.find("reimplements") is None
            and not (member.find("argsstring").text or "").endswith("=delete"))


def needs_code(member):
    """Whether a snippet must show this call."""
    name = member.find("name").text
    returns_reference = "".join(member.find("type").itertext()).endswith("&")
    accessor = member.find("param") is None and (member.get("const") == "yes" or returns_reference) and name not in CALLS
    return name != "swap" and not accessor


def check_snippets(folder):
    """The calls that show no code, and the number of calls that do."""
    wrong, shown, members = [], 0, {}
    classes = {"xio::" + name: [] for name in FACADES + SHOWN}
    for name in sorted(os.listdir(os.path.join(folder, "xml"))):
        if not re.match(r"(class|struct|namespace|group)\w*\.xml$", name):
            continue
        compound = xml.etree.ElementTree.parse(os.path.join(folder, "xml", name)).getroot().find("compounddef")
        title = compound.find("compoundname").text
        if compound.get("kind") in ("class", "struct"):
            classes.get(title, []).append(compound)
            continue
        for member in compound.iter("memberdef"):
            members[member.get("id")] = member
    for name in FACADES:
        if not classes["xio::" + name]:
            wrong.append(f"there is no class {name}, whose calls show snippets")
        for compound in classes["xio::" + name]:
            for member in compound.iter("memberdef"):
                if not is_call(member, name.split("::")[-1]):
                    continue
                if not text_of(member, "briefdescription", "detaileddescription"):
                    wrong.append(f"{name}::{member.find('name').text}{member.find('argsstring').text}: no description")
                if not needs_code(member):
                    continue
                shown += shows_code(member)
                if not shows_code(member):
                    wrong.append(f"{name}::{member.find('name').text}{member.find('argsstring').text}: no snippet (@snippet) shows a call")
    for name in SHOWN:
        shown += any(map(shows_code, classes["xio::" + name]))
        if not any(map(shows_code, classes["xio::" + name])):
            wrong.append(f"{name}: no snippet (@snippet) in its description")
    for name in FUNCTIONS:
        overloads = [one for one in members.values() if one.get("kind") == "function" and one.find("definition").text.split(" ")[-1] == "xio::" + name]
        overloads = [one for one in overloads if text_of(one, "briefdescription", "detaileddescription")]
        if not overloads:
            wrong.append(f"there is no function {name}, which shows a snippet")
        for member in overloads:
            shown += shows_code(member)
            if not shows_code(member):
                wrong.append(f"{name}{member.find('argsstring').text}: no snippet (@snippet) shows a call")
    return wrong, shown


def check_regions(project):
    """The regions of snippets that nothing shows. Doxygen itself reports references to missing regions."""
    shown, there = set(), set()
    for part in ("include/xio", "docs"):
        for folder, _, names in os.walk(os.path.join(project, part)):
            for name in names:
                if name.endswith((".hpp", ".h", ".md", ".dox")):
                    shown.update(re.findall(r"@snippet (\S+ \S+)", read(os.path.join(folder, name))))
    snippets = os.path.join(project, "examples/snippets")
    for name in os.listdir(snippets):
        there.update(f"{name} {region}" for region in re.findall(r"//! \[(\w+)\]", read(os.path.join(snippets, name))))
    return [f"examples/snippets/{region}: nothing shows this region" for region in sorted(there - shown)]


def check_first_page(project, html):
    page = Page(read(os.path.join(html, "index.html")))
    targets = {link.partition("#")[0] for link in page.links}
    wanted = [f"group__{module.replace('_', '__')}.html" for module in modules(project)]
    for folder, _, names in os.walk(os.path.join(project, "docs")):
        wanted += [label(os.path.join(folder, name)) for name in names if name.endswith(".md")]
    wanted = [name if name.endswith(".html") else name.replace("_", "__") + ".html" for name in wanted]
    # Doxygen escapes the underscores of some names only.
    known = {name.replace("__", "_") for name in targets}
    wrong = [f"index.html does not link to {name}" for name in wanted if name.replace("__", "_") not in known]
    wrong += [f"index.html does not link to the example {name}" for name in os.listdir(os.path.join(project, "examples"))
              if name.endswith(".cpp") and name.replace(".", "_") + "-example.html" not in {one.replace("__", "_").replace("_8", "_") for one in targets}]
    return wrong


def main():
    project, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    html = os.path.join(folder, "html")
    wrong, classes = check_modules(project, folder)
    unseen, shown = check_snippets(folder)
    wrong += unseen + check_regions(project)
    wrong += check_first_page(project, html)
    dead, links = dead_links(html)
    print("\n".join(wrong + dead + [f"{classes} classes in {len(modules(project))} modules, {shown} calls and classes with snippets, "
                                    f"{links} links, {len(wrong) + len(dead)} wrong"]))
    return 1 if wrong or dead or links == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
