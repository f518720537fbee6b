"""The commands that write HTML: texts stay texts in Chromium, errors leave no file, pages show verdicts and are small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.api.reports import HtmlReport
from archline.costs.sizes import read_settings
from archline.resources import find_resource
from cli_support import ROOT, cli
from effort import long

CHROMIUM = shutil.which("chromium")
SCRIPT, ATTACK = "</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>"
PROGRAM = f'''algorithm harmless(x: inout real[n], y: real[m]):
    "{SCRIPT}"
    ensures flops <= 2*n when n<m and m>n
    ensures work == 1
    for i in 0..n:  # {ATTACK}
        x[i] = 2.0*x[i]

algorithm shown(x: inout real[n]):
    "v=>document.write(v)"
    for i in 0..n:
        x[i] = 3.0*x[i]
'''
MACHINE = f"""title = "{ATTACK}"
processor = "p"

[quantity.word]
value = "8"
unit = "B/word"
kind = "definition"
source = {{ note = "double precision" }}

[quantity.peak]
value = "600"
unit = "Gflop/s"
kind = "peak"
source = {{ note = "{SCRIPT}" }}

[quantity.bandwidth]
value = "80"
unit = "GB/s"
kind = "measured"
source = {{ note = "{ATTACK}" }}
"""


def render(page: str, folder: Path) -> str:
    """Return the document that Chromium makes of a page, without scripts and styles."""
    if CHROMIUM is None:
        pytest.skip("no chromium")
    file = folder / "shown.html"
    file.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
    command = [CHROMIUM, *options, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    document = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    return re.sub(r"<script.*?</script>|<style>.*?</style>", "", document, flags=re.DOTALL)


def read_text(document: str) -> str:
    """Return the text of a document with one blank between words."""
    text = unescape(re.sub(r"<[^>]*>", "", document)).replace("\u202f", "").replace("\u200b", "")
    return re.sub(r"\s+", " ", text)


def read_data(page: str) -> dict[str, Any]:
    """Return the data in a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@cache
def report(target: str, at: str | None = None) -> HtmlReport:
    given = None if at is None else read_settings(at, "--at")
    return HtmlReport([al.algorithm(target)], given)


# Texts of users


def check_nothing_ran(document: str, title: str) -> None:
    """Check that a document has the title that it was given, and neither elements nor attributes that texts made."""
    found = re.search(r"<title>(.*?)</title>", document, re.DOTALL)
    assert found is not None
    assert unescape(found[1]) == title
    assert not re.search(r"<img|<[^>]* on[a-z]+=", document)


def check_policy(page: str) -> None:
    """Check that the policy of a page allows the script that the page has, and no other."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert re.findall(r"'sha256-([^']*)'", page) == [digest]
    assert page.count("<script") == 2


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / ATTACK
    folder.mkdir()
    file = folder / f"{ATTACK} v=.algo"
    file.write_text(PROGRAM, encoding="utf-8")
    (folder / "machine.toml").write_text(MACHINE, encoding="utf-8")
    return file


def test_hostile_texts_of_a_report_are_shown_and_run_nothing(hostile: Path, tmp_path: Path) -> None:
    out, machine = tmp_path / "out.html", str(hostile.parent / "machine.toml")
    done = cli("report", str(hostile), "--at", "n=100,m=200", "--machine", machine, "--out", str(out))
    assert (done.code, done.err) == (0, "")
    page = out.read_text(encoding="utf-8")
    check_policy(page)
    document = render(page, tmp_path)
    check_nothing_ran(document, "harmless and shown")
    text = read_text(document)
    for wanted in (SCRIPT, "v=>document.write(v)", ATTACK, str(hostile), "flops <= 2*n when n < m and m > n"):
        assert wanted in text, wanted
    assert "work == 1" in text
    assert f"for i in 0..n: # {ATTACK}" in text
    # A page whose script the policy forbids is blank.
    assert [read_text(each) for each in re.findall(r'<div class="value">(.*?)</div>', document)][:2] == [
        "100 flop",
        "100 flop",
    ]


def test_hostile_texts_of_verdicts_and_changes_are_shown_and_run_nothing(hostile: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer" / hostile.name
    newer.parent.mkdir()
    newer.write_text(PROGRAM.replace("x[i] = 2.0*x[i]", "x[i] = 2.0*x[i] + 1.0"), encoding="utf-8")
    for command, title in ((["check", str(hostile)], "archline check"), (["diff", str(hostile), str(newer)], None)):
        done = cli(*command, "--format", "html")
        assert done.code == 1
        check_policy(done.out)
        document = render(done.out, tmp_path)
        check_nothing_ran(document, title or "archline diff")
        assert ATTACK in read_text(document) or command[0] == "diff"
        assert "harmless" in read_text(document)


# Errors

NO_SIZES = """algorithm odd(x: inout real[n]):
    where n is power of 3, n >= 2
    for i in 0..n:
        x[i] = 2.0*x[i]
"""


def test_errors_have_a_code_and_a_hint_and_leave_no_file(tmp_path: Path) -> None:
    out, odd, poor = tmp_path / "out.html", tmp_path / "odd.algo", tmp_path / "poor.toml"
    odd.write_text(NO_SIZES, encoding="utf-8")
    poor.write_text(MACHINE.replace("quantity.peak", "quantity.peak_scalar"), encoding="utf-8")
    gemv = "dense.gemv::gemv"
    cases = {
        ("AL401", "did you mean"): [gemv, "--at", "nn=3,m=4"],
        ("AL402", "give --at"): [gemv, "--at", "n=3"],
        ("AL402", "give n=.. by `--at`"): [str(odd)],
        ("AL407", ""): [str(odd), "--at", "n=4"],
        ("AL001", ""): [str(tmp_path / "missing.algo")],
        ("AL211", "did you mean"): ["dense.gemv::gem"],
        ("AL411", "::"): [gemv, gemv, gemv],
        ("AL450", "machines"): [gemv, "--machine", "no-such-machine"],
        ("AL458", "--parameter"): [gemv, "--machine", str(poor)],
    }
    for (code, hint), arguments in cases.items():
        for old in (None, "what was there"):
            out.unlink(missing_ok=True)
            if old is not None:
                out.write_text(old, encoding="utf-8")
            done = cli("report", *arguments, "--out", str(out))
            assert done.refused(code), (arguments, done)
            assert hint in done.err, (arguments, done.err)
            assert (out.read_text(encoding="utf-8") if out.exists() else None) == old, arguments


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    for place in (tmp_path / "no folder" / "out.html", tmp_path):
        done = cli("report", "dense.gemv::gemv", "--out", str(place))
        assert done.refused("AL413")
        assert "hint: " in done.err
        assert str(place) in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_completed_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.html"
    out.write_text("older", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(al.ArchlineError, match="AL413"):
        report("dense.gemv::gemv").save(out)
    assert out.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [out]


def test_a_machine_without_a_peak_is_refused_before_costs_are_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = tmp_path / "poor.toml"
    poor.write_text(MACHINE.replace("quantity.peak", "quantity.peak_scalar"), encoding="utf-8")
    monkeypatch.setattr(al.Algorithm, "cost", lambda *_, **__: pytest.fail("costs are derived"))
    assert cli("report", "dense.gemv::gemv", "--machine", str(poor)).refused("AL458")


# Pages

DECLARED = """extern g(x: real) -> real costs c flops

algorithm f(x: inout real[n]):
    for i in 0..n:
        x[i] = g(x[i])
"""
SHIFTED = """algorithm shifted(x: inout real[n], k: index):
    for i in 0..max(n + k, 0):
        x[i % n] *= 2.0
"""


def test_values_of_declared_costs_may_be_fractions_and_indices_negative() -> None:
    data = HtmlReport([al.loads(DECLARED)["f"]], read_settings("n=4,c=1/2", "--at")).data
    assert data["point"] == {"n": 4, "c": 0.5, "Z": 32768, "L": 8}
    assert [sizes["n"] for sizes in data["targets"][0]["scale"]] == [1, 2, 4, 8, 16]
    data = HtmlReport([al.loads(SHIFTED)["shifted"]], read_settings("n=8,k=-3", "--at")).data
    assert data["point"]["k"] == -3
    assert [slider["least"] for slider in data["sliders"] if slider["name"] == "k"] == [-3]


def test_two_algorithms_have_values_at_the_same_sizes() -> None:
    large = DECLARED.replace("real[n]):", "real[n]):\n    where n >= 32")
    pair = [al.loads(DECLARED)["f"], al.loads(large)["f"]]
    one, two = HtmlReport(pair, read_settings("n=64,c=1", "--at")).data["targets"]
    assert one["scale"] == two["scale"]
    assert [sizes["n"] for sizes in one["scale"]] == [32, 64, 128, 256, 512]


def test_the_command_on_the_page_makes_the_page(tmp_path: Path) -> None:
    options = ["--at", "n=8,m=8", "--where", "n >= m", "--machine", "i7-950", "--parameter", "peak=1 Gflop/s"]
    done = cli("report", "dense.gemv::gemv", *options)
    assert done.code == 0
    data = read_data(done.out)
    assert data["command"] == "archline report dense.gemv::gemv " + " ".join(
        f"'{word}'" if " " in word else word for word in options
    )
    assert data["machines"][0]["peak"] == 1e9


def test_two_algorithms_are_compared_on_one_page(tmp_path: Path) -> None:
    made = HtmlReport([al.algorithm("dense.gemv::gemv"), al.algorithm("dense.gemv::gemv_transposed")])
    data = read_data(str(made))
    assert data["kind"] == "comparison"
    assert [target["name"] for target in data["targets"]] == ["gemv", "gemv_transposed"]
    assert [sentence["metric"] for sentence in data["comparison"]] == ["bytes", "growth"]
    n = m = 256
    ratio = f"{(2 * n * m + 3 * n) / (2 * n * m):.3f}"
    assert f"gemv : gemv_transposed at the sliders: flops {ratio}, work" in read_text(render(str(made), tmp_path))


def test_energies_are_compared_by_the_model_of_the_roofline(tmp_path: Path) -> None:
    pair = [al.algorithm("dense.matmul::matmul_basic"), al.algorithm("dense.matmul::matmul_blocked")]
    document = render(
        str(HtmlReport(pair, read_settings("n=256,m=256,p=256,b=256", "--at"), [al.machine("i7-950")])), tmp_path
    )
    sentence = re.search(
        r"energy, model roofline, at n = m = p = b = 256: ratio ([\d.]+) \.\. ([\d.]+)", read_text(document)
    )
    assert sentence is not None
    energies = re.findall(r"<td[^>]*>(\d+)\u202fmJ \.\.\. (\d+)\u202fmJ</td>", document)
    (low, high), (least, most) = [(int(a), int(b)) for a, b in energies]
    assert float(sentence[1]) == pytest.approx(low / most, rel=0.01)
    assert float(sentence[2]) == pytest.approx(high / least, rel=0.01)


@pytest.mark.parametrize(
    ("target", "at"), [("dense.gemv::gemv", "n=256,m=256"), ("stencil.jacobi_1d::jacobi_1d", "n=256,steps=16")]
)
def test_energies_on_the_page_are_those_of_the_command(target: str, at: str, tmp_path: Path) -> None:
    made = HtmlReport([al.algorithm(target)], read_settings(at, "--at"), [al.machine("i7-950")])
    document = render(str(made), tmp_path)
    row = re.search(r"flops a byte.*?<tbody>(.*?)</tbody>", document, re.DOTALL)
    assert row is not None
    shown = re.findall(r"([\d.]+)\u202f([µmn])J", row[1])
    ends = [float(number) * {"m": 1e-3, "µ": 1e-6, "n": 1e-9}[unit] for number, unit in shown]
    estimate = al.energy(target, machine="i7-950", model="roofline", at=at, cache="Z=32768,L=8").total
    low, high = estimate if isinstance(estimate, tuple) else (estimate, estimate)
    assert ends[0] == pytest.approx(float(low), rel=0.006)
    assert ends[-1] == pytest.approx(float(high), rel=0.006)


def test_check_as_html_shows_verdicts(tmp_path: Path) -> None:
    done = cli("check", "examples/broken_promise.algo", "examples/distances.algo", "--format", "html")
    assert done.code == 1
    document = render(done.out, tmp_path)
    text = read_text(document)
    assert "claims: 2 hold, 1 fail, 0 unknown" in text
    assert "flops == 3*n^2*m [AL601]" in text
    assert "at n = 1, m = 1: derived 4, claimed == 3" in text
    assert re.findall(r'<span class="tag (\w+)">(\w+)</span>', document) == [
        ("bad", "fails"),
        ("good", "holds"),
        ("good", "holds"),
    ]


def test_diff_as_html_shows_the_costs_that_changed(tmp_path: Path) -> None:
    older, newer = tmp_path / "older.algo", tmp_path / "newer.algo"
    older.write_text("algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 2.0*x[i]\n", encoding="utf-8")
    newer.write_text("algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 2.0*x[i] + 1.0\n", "utf-8")
    done = cli("diff", str(older), str(newer), "--format", "html")
    text = read_text(render(done.out, tmp_path))
    assert done.code == 1
    assert "flops" in text
    assert "2*n" in text
    same = cli("diff", str(older), str(older), "--format", "html")
    assert same.code == 0
    assert read_data(same.out)["blocks"][0]["tone"] == "good"


@long
def test_the_page_of_lu_is_small() -> None:
    assert len(str(report("dense.lu::lu")).encode()) < 150_000


def test_the_inner_loop_of_a_sparse_product_has_its_share_of_the_work(tmp_path: Path) -> None:
    made = report("sparse.csr::spmv_csr", "n=1000,m=1000,nz=5000,nr=40")
    document = render(str(made), tmp_path)
    rows = re.findall(r'<tr[^>]*><th class="right" scope="row">(\d+)</th><td class="right">(.*?)</td>', document)
    work = {int(line): read_text(cell) for line, cell in rows}
    texts = (ROOT / "stdlib/sparse/csr.algo").read_text(encoding="utf-8").splitlines()
    first = next(iter(work))
    (loop,) = (line for line in range(first, first + len(work)) if "for k in" in texts[line - 1])
    # An iteration for each entry, a product and a sum in each; an iteration for each row; the call.
    assert work[loop] == "5000"
    assert work[loop + 1] == "10000"
    assert "lines: 16000; the call itself: 1; together 16001" in read_text(document)


def test_a_report_does_not_replace_its_program(tmp_path: Path) -> None:
    program = tmp_path / "keep.algo"
    program.write_text("algorithm main(x: inout real[n]):\n    x[0] = 1.0\n", encoding="utf-8")
    result = cli("report", str(program), "--out", str(program))
    assert result.code == 2
    assert "AL413" in result.err
    assert program.read_text(encoding="utf-8").startswith("algorithm main")


@pytest.mark.parametrize(
    ("target", "sizes"),
    [
        ("distributed.matmul::cannon", {"n": 256, "g": 4}),
        ("distributed.matmul::summa", {"n": 256, "m": 256, "p": 256, "g": 4, "h": 4, "w": 4}),
        ("distributed.sort::samplesort", {"n": 256, "v": 4, "P": 16}),
    ],
)
def test_grids_are_shown_with_few_processors_and_blocks_that_divide(target: str, sizes: dict[str, int]) -> None:
    """Headers have facts such as `g*w divides m`, which sizes that are all alike do not satisfy."""
    assert report(target).data["point"] == sizes


def test_two_algorithms_on_grids_are_compared_without_a_machine() -> None:
    pair = [al.algorithm(f"distributed.matmul::{name}") for name in ("cannon", "cannon_unequal")]
    (sentence,) = HtmlReport(pair, None).data["comparison"]
    assert sentence["metric"] == "growth"
    assert "flops" in sentence["text"]


def test_a_page_names_programs_of_the_library_from_its_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = str(report("dense.gemv::gemv"))
    assert "stdlib/dense/gemv.algo" in page
    assert str(find_resource("stdlib").parent) not in page


def test_sliders_say_what_sizes_count() -> None:
    text = "algorithm f(x: inout real[n], a: int):\n    while a > 1:\n        a -= x[0] > 0.5 ? 1 : 2\n"
    data = HtmlReport([al.loads(text)["f"]], read_settings("n=4,T1=3", "--at")).data
    meanings = {slider["name"]: slider["meaning"] for slider in data["sliders"]}
    assert meanings["T1"] == "iterations of the while in line 2"
    sliders = report("distributed.matmul::cannon").data["sliders"]
    assert [slider["meaning"] for slider in sliders] == ["a size", "processors along i"]


def test_a_check_that_fails_without_a_failing_claim_says_so_first(tmp_path: Path) -> None:
    program, baseline = tmp_path / "f.algo", str(tmp_path / "costs")
    text = "algorithm f(x: inout real[n]):\n    ensures work >= n\n    for i in 0..n:\n        x[i] *= 2.0\n"
    program.write_text(text, encoding="utf-8")
    assert cli("check", str(program), "--write-baseline", baseline).code == 0
    program.write_text(text.replace("2.0", "2.0*x[0]"), encoding="utf-8")
    done = cli("check", str(program), "--baseline", baseline, "--format", "html")
    assert done.code == 1
    blocks = read_data(done.out)["blocks"]
    assert (blocks[0]["text"], blocks[0]["tone"]) == ("the check fails: 4 findings", "bad")
    assert [row[3] for row in blocks[2]["rows"] if row[1] == "error"] == ["AL603"] * 4
