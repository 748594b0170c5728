#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers.py TARGET MACHINE-RUN PEERS WORK COUNTS COMPILER...: writes of a wave by this library and by others

Each lane writes once and waits for it, in rounds. Compiles the kernels for TARGET (sm_90 or gfx942), executes them on
the model of the GPU against emulated NICs, which check each entry, and prints what they execute and how large they
are; peers.TARGET.json in the folder COUNTS has the same. PEERS: the folder that scripts/peers-env prints. COMPILER:
with its options, for PTX or assembly. Exit status 1 where a run is wrong, 77 where no other library is there.
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "codegen"))
import code_sizes  # noqa: E402

ALL = "a queue of all"
SHARINGS = {"wave": "a queue of the wave", "grid": ALL}


def ours(*devices):
    return {f"{device}_{sharing}_puts": ("xio", device.upper(), queue)
            for device in devices for sharing, queue in SHARINGS.items()}


# Of each target: a source, options, the peer that it needs, and its kernels: library, device, sharing.
MORI = ["-DNDEBUG", "-isystem", str(HERE / "stubs"), "-isystem"]
PROGRAMS = {
    "sm_90": [
        ("xio.hip", [], None, ours("mlx5")),
        ("gpunetio.cu", ["-isystem"], "nccl", {"gpunetio_warp_puts": ("GPUNetIO, a warp together", "MLX5", ALL),
                                               "gpunetio_thread_puts": ("GPUNetIO, each thread", "MLX5", ALL)}),
    ],
    "gfx942": [
        ("xio.hip", [], None, ours("mlx5", "bnxt", "ionic")),
        ("mori.hip", MORI, "mori", {"mori_mlx5_puts": ("mori", "MLX5", ALL)}),
        ("mori.hip", ["-DMORI_DEVICE_NIC_BNXT", *MORI], "mori", {"mori_bnxt_puts": ("mori", "BNXT", ALL)}),
        ("mori.hip", ["-DMORI_DEVICE_NIC_IONIC", *MORI], "mori", {"mori_ionic_puts": ("mori", "IONIC", ALL)}),
    ],
}
# It waits for a completion queue of one entry, which the emulated NIC of this vendor does not have.
NOT_EXECUTED = ["mori_bnxt_puts"]
# Kernels of the timed mode: sources, the kernels' names there, and settings.
TIMED = {"xio": HERE.parent / "machine/timed/rdma.cu", "nccl": HERE / "gpunetio_timed.cu"}
TIMED_KERNELS = {"mlx5_wave_puts": ("put_wave", []), "mlx5_grid_puts": ("put_grid", []),
                 # Its rounds take longer once its ring has wrapped.
                 "gpunetio_warp_puts": ("put_gpunetio_warp", ["rounds=300"])}
WAVES = (1, 4)
COUNTED = ["instructions", "loads", "stores", "atomics", "write_backs"]


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def nvidia_sizes(ptx, nvcc):
    """Of each kernel bytes of code and registers, as ptxas makes it."""
    cubin = ptx.with_suffix(".cubin")
    said = run([pathlib.Path(nvcc).parent / "ptxas", "-arch=sm_90", "-v", ptx, "-o", cubin])
    registers = {name: int(number) for name, number in
                 re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said, re.DOTALL)}
    sections = re.findall(r"\] \.text\.(\S+)\s+PROGBITS\s+\S+ \S+ (\S+)", run(["readelf", "-SW", cubin]))
    return {name: (int(size, 16), registers[name]) for name, size in sections if name in registers}


def amd_sizes(assembly):
    """Of each kernel bytes of code, with all that it calls, and vector registers."""
    text = assembly.read_text(encoding="utf-8")
    size, calls, _, _ = code_sizes.read(text)
    registers = re.findall(r"\.name:\s+(\w+)\n(?:\s+\..*\n)*?\s+\.vgpr_count:\s+(\d+)", text)
    return {name: (sum(size[one] for one in code_sizes.reached(name, calls, {name}) if one in size), int(number))
            for name, number in registers}


def predict(machine, peers, work, compiler, rows):
    """Adds to rows what rounds take on the model's clock, and holds it to what a GPU measured."""
    programs = []
    for name, source in TIMED.items():
        programs.append(work / f"{source.stem}.sm_90.ptx")
        run([*compiler, "-isystem", peers / "nccl", "-o", programs[-1], source])
    for row in rows:
        kernel, settings = TIMED_KERNELS.get(row["kernel"], (None, []))
        if kernel is None:
            continue
        row["predicted_ns"] = {}
        for waves in WAVES:
            options = ["--kernel", kernel, "--waves", waves, *[word for one in settings for word in ("--with", one)]]
            said = run([machine, *programs, "--timed", *options, "--lines", 1])
            row["predicted_ns"][waves] = float(re.search(rf"^{kernel} .*?\s(\d+)\s+[\d.]+$", said, re.MULTILINE)[1])
            if waves == 1:
                row["leading_lane"] = float(re.search(r"a round: ([\d.]+) instructions", said)[1])
    print(run([machine, *programs, "--timed", "--measured", HERE.parent / "machine/timed/h200.measured"]))


def main():
    target, machine, peers, work, counts = sys.argv[1], *map(pathlib.Path, sys.argv[2:6])
    compiler = sys.argv[6:]
    amd = target.startswith("gfx")
    work.mkdir(parents=True, exist_ok=True)
    if not any((peers / peer).is_dir() for _, _, peer, _ in PROGRAMS[target] if peer):
        print("no other library (scripts/peers-env fetches them)")
        sys.exit(77)
    rows = []
    for number, (source, options, peer, kernels) in enumerate(PROGRAMS[target]):
        if peer and not (peers / peer).is_dir():
            print(f"left out: {source}: no {peer} (scripts/peers-env fetches it)")
            continue
        code = work / f"{pathlib.Path(source).stem}.{number}.{target}.{'s' if amd else 'ptx'}"
        run([*compiler, *options, *([peers / peer] if peer else []), "-o", code, HERE / source])
        sizes = amd_sizes(code) if amd else nvidia_sizes(code, compiler[0])
        program = code.with_suffix(".co") if amd else code
        if amd:
            assembler = ["-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}"]
            run([compiler[0], *assembler, code, "-o", program])
        if not set(kernels) <= set(NOT_EXECUTED):
            run([machine, program, "--peers", "--calm", "--seeds", "1-8", "--write", work])
        for kernel, (library, device, queue) in kernels.items():
            row = {"library": library, "device": device, "queue": queue, "kernel": kernel,
                   "code_bytes": sizes[kernel][0], "registers": sizes[kernel][1], "executed": None}
            if kernel not in NOT_EXECUTED:
                executed = json.loads((work / f"executed.{kernel}.{target}.json").read_text(encoding="utf-8"))
                # Of a round: AMD's instructions are those of a wave of 64 lanes, NVIDIA's those of a thread.
                row["executed"] = {name: executed[name] * (64 if amd else 1) for name in COUNTED}
            rows.append(row)
    if not amd:
        predict(machine, peers, work, compiler, rows)
    counts.mkdir(parents=True, exist_ok=True)
    (counts / f"peers.{target}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    times = [] if amd else [f"ns, {waves} wave{'s' * (waves > 1)}, predicted" for waves in WAVES]
    titles = [target, "device", "queue", *COUNTED, "code bytes", "registers", *times]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for row in rows:
        executed = [f"{row['executed'][name]:.1f}" if row["executed"] else "-" for name in COUNTED]
        cells = [row["library"], row["device"], row["queue"], *executed, str(row["code_bytes"]), str(row["registers"])]
        cells += [f"{row['predicted_ns'][waves]:.0f}" if "predicted_ns" in row else "-" for waves in WAVES][:len(times)]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
