"""Drafts of machine files from listings of lscpu and nvidia-smi: what they say, what they leave open, what is refused."""

import re
from fractions import Fraction
from json import dumps
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.energy.drafts import Draft, read_draft
from archline.energy.machine_files import read_machine
from archline.report.machines import draft
from cli_support import cli
from effort import drawn

LISTINGS = Path(__file__).parents[1] / "data" / "listings"
KIB, MIB = 1024, 1024**2

# What each listing says, in base units, and what it leaves open of cores, clock, vectors and caches.
SAID = {
    "i7-6700.txt": ({"cores": 4, "frequency": 3.4e9, "simd": 8, "L1_capacity": 32 * KIB, "L2_capacity": 256 * KIB, "L3_capacity": 8 * MIB}, ""),
    "i5-8250u.txt": ({"cores": 4, "frequency": 1.6e9}, "simd L1_capacity L2_capacity"),
    "e5-2450l.txt": ({"cores": 16, "frequency": 1.8e9, "L1_capacity": 32 * KIB, "L2_capacity": 256 * KIB, "L3_capacity": 20 * MIB}, "simd"),
    "i7-12700k.txt": ({"cores": 12, "simd": 8, "L3_capacity": 25 * MIB, "L3_shared": 12}, "frequency L1_capacity L2_capacity"),
    "x925-a725.txt": ({"cores": 20}, "frequency simd L1_capacity L2_capacity"),
    "neoverse-n2.txt": ({"cores": 4, "L2_capacity": MIB, "L2_shared": 1, "L3_capacity": 128 * MIB, "L3_shared": 4}, "frequency simd L1_capacity"),
    "bcm2712.txt": ({"cores": 4, "frequency": 2.4e9, "simd": 4, "L1_capacity": 64 * KIB, "L1_shared": 1, "L2_capacity": 512 * KIB, "L2_shared": 1, "L3_capacity": 2 * MIB, "L3_shared": 4}, ""),
    "power9.json": ({"cores": 40, "frequency": 3.8e9, "L1_capacity": 32 * KIB, "L2_capacity": 512 * KIB, "L3_capacity": 10 * MIB}, "simd"),
    "a100.txt": ({"frequency": 1.41e9, "power_rated": 400, "power_limit": 400, "memory_max": 40 * 1024**3 // 8}, ""),
    "rtx3090.xml": ({"power_rated": 350, "power_limit": 350}, ""),
    "na.xml": ({"memory_max": 2004 * MIB // 8}, "power_rated"),
}  # fmt: skip
NOTES = {
    "e5-2450l.txt": ["All 2 sockets together"],
    "i7-12700k.txt": ["Its cores differ"],
    "x925-a725.txt": ["Its cores differ", "It has SVE"],
    "neoverse-n2.txt": ["It has SVE", "A virtual machine"],
    "power9.json": ["All 2 sockets together"],
    "a100.txt": ["The first of 2 devices"],
}
ALWAYS = {
    "lscpu": ["flop_per_cycle", "peak", "bandwidth", "line", "power_rated"],
    "nvidia-smi": ["peak", "bandwidth", "L2_capacity", "line"],
}


def command_of(name: str) -> str:
    return "nvidia-smi" if name in ("a100.txt", "rtx3090.xml", "na.xml") else "lscpu"


def values(found: Draft, folder: Path) -> dict[str, Fraction]:
    """The quantities of the draft as a machine file, but for the word."""
    path = folder / "it.toml"
    path.write_text(draft(found, "it"), encoding="utf-8")
    return {name: each.value for name, each in read_machine(path).quantities.items() if name != "word"}


@pytest.mark.parametrize("name", SAID)
def test_what_a_listing_says(name: str, tmp_path: Path) -> None:
    said, lacking = SAID[name]
    found = read_draft(LISTINGS / name, command_of(name))
    assert values(found, tmp_path) == said
    assert set(found.lacking) == {*ALWAYS[command_of(name)], *lacking.split()}
    notes = NOTES.get(name, ())
    assert len(found.notes) == len(notes)
    assert all(note.startswith(start) for note, start in zip(found.notes, notes, strict=True))


def test_every_number_names_its_row(tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    path.write_text(draft(read_draft(LISTINGS / "bcm2712.txt", "lscpu"), "it"))
    shared = read_machine(path).quantities["L2_shared"]
    lines = (LISTINGS / "bcm2712.txt").read_text().splitlines()
    for number, key in re.findall(r"line (\d+), ([^:]*):", shared.source.place):
        assert lines[int(number) - 1].lstrip().startswith(key)
    assert "2 MiB (4 instances)" in shared.source.place
    assert shared.source.note == "bcm2712.txt, a listing of lscpu"


def test_a_draft_gives_a_time_once_it_is_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "pc.toml"
    ran = cli("machines", "new", "pc", "--from", "lscpu", str(LISTINGS / "i7-6700.txt"), "-o", str(path))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    asked = ("energy", "roofline:W=1e9,Q=1e9", "--machine", str(path), "--format", "csv")
    lacking = cli(*asked)
    assert lacking.code == 2
    assert "`bandwidth` (B/s), `peak` (flop/s)" in lacking.err
    # The comments become tables; what is not filled in is refused where it stands.
    text = re.sub(r"^#: ", "", path.read_text(), flags=re.M)
    path.write_text(text)
    assert re.match(rf"{path}:\d+:9: AL456: .*`\?`, is not a decimal number", cli(*asked).err)
    for quantity, number in (("flop_per_cycle", "4"), ("bandwidth", "34.1e9"), ("line", "64"), ("power_rated", "65")):
        text = re.sub(rf'(\[quantity.{quantity}\]\nvalue = )"\?"', rf'\g<1>"{number}"', text)
    path.write_text(text)
    ran = cli(*asked)
    head, row = (line.rpartition('"')[2].split(",") for line in ran.out.splitlines()[:2])
    assert ran.code == 0
    assert float(row[head.index("time_lower") - len(head)]) == pytest.approx(1e9 / 34.1e9)
    machine = read_machine(path)
    assert machine.values["peak"] == Fraction(4 * 8 * 4 * 3400000000, 2)
    # A file that is there stays as it is.
    again = cli("machines", "new", "pc", "--from", "lscpu", str(LISTINGS / "i7-6700.txt"), "-o", str(path))
    assert (again.code, path.read_text()) == (2, text)
    assert "the file exists" in again.err


# A listing in each form that lscpu has had, of the same numbers.
def listed(form: str, cores: int, sockets: int, caches: list[tuple[str, int, int]], clock: int) -> str:
    rows = {"Architecture": "x86_64", "CPU(s)": cores * sockets, "Thread(s) per core": 1}
    rows |= {
        "Core(s) per socket": cores,
        "Socket(s)": sockets,
        "CPU max MHz": f"{clock}.0000",
        "Model name": "Some CPU",
    }
    table = [f"{name} {size}K {size * number}K 8 Data {name[1]} 64 1 64" for name, size, number in caches]
    head = "NAME ONE-SIZE ALL-SIZE WAYS TYPE LEVEL SETS PHY-LINE COHERENCY-SIZE"
    match form:
        case "old":
            rows |= {f"{name} cache": f"{size}K" for name, size, _ in caches}
        case "bytes" | "json":
            rows |= {f"{name} cache": f"{size * number * 1024} ({number} instances)" for name, size, number in caches}
        case "new":
            rows |= {"Caches (sum of all)": ""}
            rows |= {f"  {name}": f"{size * number} KiB ({number} instances)" for name, size, number in caches}
    if form == "json":
        entries = [{"field": f"{key}:", "data": str(value)} for key, value in rows.items()]
        return dumps({"lscpu": [{"field": "Vendor ID:", "data": "Some", "children": entries}]}, indent=2)
    return "\n".join(
        [*(f"{key}:   {value}" for key, value in rows.items()), *([head, *table] if form == "table" else [])]
    )


@given(st.integers(1, 64), st.integers(1, 4), st.integers(1, 40), st.integers(1, 40), st.integers(800, 6000), st.data())
@settings(max_examples=drawn(80), deadline=None)
def test_forms_of_a_listing_say_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    cores: int,
    sockets: int,
    small: int,
    large: int,
    clock: int,
    data: st.DataObject,
) -> None:
    form = data.draw(st.sampled_from(["old", "bytes", "json", "new", "table"]))
    caches = [("L1d", 4 * small, cores * sockets), ("L2", 4 * (small + large), cores * sockets)]
    caches += [("L3", 4096 * large, sockets)]
    path = tmp_path_factory.mktemp("listing") / "listing"
    path.write_text(listed(form, cores, sockets, caches, clock))
    found = values(read_draft(path, "lscpu"), path.parent)
    expected = {"cores": cores * sockets, "frequency": clock * 10**6, "L1_capacity": 4096 * small}
    expected |= {"L2_capacity": 4096 * (small + large), "L3_capacity": 4096 * 1024 * large}
    if form in ("bytes", "json", "new"):
        expected |= {"L1_shared": 1, "L2_shared": 1, "L3_shared": cores}
    if form == "table":
        expected["line"] = 64
    if expected["L3_capacity"] < expected["L2_capacity"]:
        return
    assert found == expected


LSCPU = "Architecture: x86_64\nCPU(s): 8\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\n"
CSV = "name, clocks.max.sm [MHz], power.default_limit [W], memory.total [MiB]\n"

# The command, the listing, the line and column of the report, and what message and hint say.
WRONG = [
    ("lscpu", "", "1:1", "has no rows of a name and a value", "LC_ALL=C lscpu"),
    ("lscpu", "hello\nworld\n", "1:1", "has no row `CPU(s)`", "LC_ALL=C lscpu"),
    ("lscpu", "processor\t: 0\nvendor_id\t: GenuineIntel\n", "1:1", "it is /proc/cpuinfo", "LC_ALL=C lscpu"),
    ("lscpu", "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0  yes\n", "1:1", "`lscpu -e` or `lscpu -p`", "lscpu"),
    ("lscpu", "# The following is the parsable format, which\n0,0,0,0,,0,0,0,0\n", "1:1", "`lscpu -e` or `lscpu -p`", "lscpu"),
    ("lscpu", "bash: lscpu: command not found\n", "1:1", "an error message", "lscpu"),
    ("lscpu", "Architektur:  x86_64\nCPU(s):  8\nKern(e) pro Sockel: 4\n", "1:1", "such as `Architektur`, are not in English", "LC_ALL=C lscpu"),
    ("lscpu", LSCPU.replace("Socket(s): 1", "Socket(s): one"), "5:12", "`Socket(s)` is `one`", "delete this row"),
    ("lscpu", LSCPU.replace("socket: 4", "socket: 0"), "4:21", "`Core(s) per socket` is `0`, which is not a number above 0", "delete this row"),
    ("lscpu", LSCPU.replace("socket: 4", "socket: -4"), "4:21", "`Core(s) per socket` is `-4`", "delete this row"),
    ("lscpu", LSCPU.replace("CPU(s): 8", "CPU(s): 8 of 8"), "2:9", "`CPU(s)` is `8 of 8`", "as it was printed"),
    ("lscpu", LSCPU + "CPU max MHz: fast\n", "6:14", "`CPU max MHz` is `fast`, which is not a number above 0 of MHz", "as it was printed"),
    ("lscpu", LSCPU + "L2 cache: large\n", "6:11", "`L2 cache` is `large`, which is not a size such as `32K`", "as it was printed"),
    ("lscpu", LSCPU + "L2 cache: 0 KiB (4 instances)\n", "6:11", "`L2 cache` is `0 KiB (4 instances)`", "as it was printed"),
    ("lscpu", LSCPU + "L2 cache: 1 QiB (4 instances)\n", "6:11", "`L2 cache` is `1 QiB (4 instances)`", "as it was printed"),
    ("lscpu", LSCPU + "NAME ONE-SIZE COHERENCY-SIZE\nL1d 32K none\n", "7:9", "`L1d COHERENCY-SIZE` is `none`", "as it was printed"),
    ("lscpu", '{"lscpu": [{"field": "CPU(s):", "data": "8"}]}', "1:1", "such as `CPU(s)`, are not in English", "LC_ALL=C lscpu"),
    ("lscpu", '{"machines": []}', "1:1", "has no rows", "LC_ALL=C lscpu"),
    ("lscpu", (LISTINGS / "a100.txt").read_text(), "1:1", "has no row `CPU(s)`", "LC_ALL=C lscpu"),
    ("nvidia-smi", LSCPU, "1:1", "no clock, no power limit and no memory", "`nvidia-smi -q > FILE`"),
    ("nvidia-smi", "| NVIDIA-SMI 515.48.07    Driver Version: 515.48.07 |\n", "1:1", "the table of `nvidia-smi` without `-q`", "nvidia-smi -q"),
    ("nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "1:1", "an error message", "nvidia-smi -q"),
    ("nvidia-smi", "No devices were found\n", "1:1", "an error message", "nvidia-smi -q"),
    ("nvidia-smi", "<html><body><p>hello</p></body></html>", "1:1", "no clock, no power limit", "nvidia-smi -q"),
    ("nvidia-smi", CSV.splitlines()[0], "1:1", "has no rows", "nvidia-smi -q"),
    ("nvidia-smi", "NVIDIA L40S, 2520 MHz, 350.00 W\nNVIDIA L40S, 2520 MHz, 350.00 W\n", "1:1", "no clock, no power limit", "nvidia-smi -q"),
    ("nvidia-smi", CSV + "NVIDIA L40S, 2520 GHz, 350.00 W, 46068 MiB\n", "2:14", "`clocks.max.sm` is `2520 GHz`, which is not a number above 0 of MHz", "as it was printed"),
    ("nvidia-smi", CSV + "NVIDIA L40S, 2520 MHz, 350 V, 46068 MiB\n", "2:24", "`power.default_limit` is `350 V`", "as it was printed"),
    ("rocm-smi", LSCPU, "", "listings of `rocm-smi` cannot be read", "--from lscpu FILE, or --from nvidia-smi FILE"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "text", "place", "cause", "hint"), WRONG)
def test_what_is_no_listing_is_refused(
    tmp_path: Path, command: str, text: str, place: str, cause: str, hint: str
) -> None:
    path = tmp_path / "listing.txt"
    path.write_text(text)
    ran = cli("machines", "new", "it", "--from", command, str(path))
    first, *rest = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert first.startswith(f"{path}:{place}: AL493: " if place else "AL493: ")
    assert cause in first
    assert any(line.startswith("  hint: ") and hint in line for line in rest)


def test_a_query_of_columns_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "gpus.csv"
    path.write_text(CSV + "NVIDIA L40S, 2520, 350.00 W, 46068 MiB\nNVIDIA A10, 1695, 150.00 W, 23028 MiB\n")
    found = read_draft(path, "nvidia-smi")
    assert (found.processor, len(found.notes)) == ("NVIDIA L40S", 1)
    expected = {"frequency": 2520 * 10**6, "power_rated": 350, "memory_max": 46068 * MIB // 8}
    assert values(found, tmp_path) == expected


@pytest.mark.parametrize(
    ("rows", "capacity"),
    [
        # Rounded to tenths of MiB: 6.75 MiB, and 1.25 MiB.
        (["L1d cache: 6.8 MiB (144 instances)"], None),
        (["NAME ONE-SIZE ALL-SIZE", "L1d 1.3M 22.5M"], None),
        # Caches of two sizes: the table has the first one.
        (["L1d cache: 128 KiB (2 instances)", "NAME ONE-SIZE ALL-SIZE", "L1d 96K 128K"], None),
        (["L1d cache: 128 KiB (2 instances)", "NAME ONE-SIZE ALL-SIZE", "L1d 64K 128K"], 64 * KIB),
    ],
)
def test_sizes_that_are_not_determined_are_left_out(tmp_path: Path, rows: list[str], capacity: int | None) -> None:
    path = tmp_path / "listing"
    path.write_text("\n".join(["Architecture: x86_64", "CPU(s): 144", "CPU max MHz: 3900", *rows]))
    found = read_draft(path, "lscpu")
    assert values(found, tmp_path).get("L1_capacity") == capacity
    assert ("L1_capacity" in found.lacking) == (capacity is None)


@pytest.mark.parametrize("text", ["new it", "fermi-c2050 --from lscpu x", "new it -o it.toml", "new --from lscpu x"])
def test_a_draft_needs_a_name_and_a_listing(text: str) -> None:
    ran = cli("machines", *text.split())
    assert (ran.code, ran.out) == (2, "")
    assert "a draft needs `new`, a name and `--from`" in ran.err
