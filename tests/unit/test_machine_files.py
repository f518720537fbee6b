"""Machine files of one's own: what they may say, their mistakes, and machines that extend others."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.energy.machine_files import machine, read_machine
from archline.energy.machines import Quantity, read_parameters
from archline.language.diagnostics import ArchlineError, Diagnostic
from effort import drawn
from energy_support import codes

# Files of one's own
GOOD = """\
title = "Mine"
notes = ["a note"]
[quantity.eps_op]
value = "1.5e-1"
unit = "nJ/op"
kind = "measured"
source = "RAPL"
[quantity.eps_mem]
value = "513"
unit = "pJ/B"
kind = "fitted"
source = { document = "choi2013", place = "Table IV" }
[quantity.beta_e]
value = "3"
unit = "nJ/word"
kind = "assumed"
source = { note = "a guess" }
[quantity.peak]
value = "100"
unit = "Gflop/s"
kind = "peak"
source = "data sheet"
[quantity.tau_flop]
from = "1/peak"
unit = "s/flop"
"""


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    found = machine(str(written(tmp_path, GOOD)))
    assert (found.name, found.collection, found.title, found.notes) == ("mine", "", "Mine", ("a note",))
    assert found.values["eps_op"] == Fraction(15, 10**11)
    assert found.values["tau_flop"] == Fraction(1, 10**11)
    assert found.quantities["eps_op"].as_written == "1.5e-1 nJ/op"
    assert found.quantities["tau_flop"].kind == "derived"
    assert str(found.quantities["eps_mem"].source) == (
        "Choi, Bedard, Fowler and Vuduc, A roofline model of energy, IPDPS 2013, Table IV"
    )


def test_folders_with_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "me@home"
    folder.mkdir()
    path = written(folder, 'default_variant = "x"\n' + GOOD + "[variant.x]\n[variant.y]\n")
    assert machine(str(path)).name == "mine@x"
    assert machine(f"{path}@y").name == "mine@y"


def test_keys_of_inline_tables(tmp_path: Path) -> None:
    text = 'title = "T"\nquantity.pi0 = { value = "+5.", unit = "W", kind = "measured", source = "x", error = "0.5" }\n'
    found = read_machine(written(tmp_path, text))
    assert found.quantities["pi0"].value == 5
    assert found.quantities["pi0"].error == Fraction(1, 2)


@pytest.mark.parametrize(
    ("old", "new", "expected", "line"),
    [
        # Keys
        ('title = "Mine"', "", ["AL453"], 1),
        ('title = "Mine"', "title = 3", ["AL453"], 1),
        ('["a note"]', '["a note"]\nnote = "x"', ["AL453"], 3),
        ('["a note"]', '["a note"]\nyear = "2010"', ["AL453"], 3),
        ('["a note"]', '["a note"]\nyear = true', ["AL453"], 3),
        ('["a note"]', '["a note"]\nextends = 3', ["AL453"], 3),
        ('["a note"]', '"a note"', ["AL453"], 2),
        ('["a note"]', "[1]", ["AL453"], 2),
        ("[quantity.eps_op]", "[quantity.eps_opp]", ["AL453"], 3),
        ('value = "1.5e-1"', 'valu = "1.5e-1"', ["AL453", "AL456"], 4),
        ("[quantity.eps_op]", "[quantity.eps_op.x]", ["AL453", "AL454", "AL453", "AL455", "AL456"], 3),
        # Units
        ('unit = "nJ/op"\n', "", ["AL454"], 3),
        ('"nJ/op"', '"nJoule/op"', ["AL454"], 5),
        ('"nJ/op"', "7", ["AL453", "AL454"], 5),
        ('"nJ/op"', '"nJ"', ["AL461"], 5),
        ('"pJ/B"', '"pJ/word"', ["AL461"], 10),
        # Kinds and sources
        ('kind = "measured"\n', "", ["AL453"], 3),
        ('"measured"', '"guessed"', ["AL453"], 6),
        ('"measured"', '["measured"]', ["AL453", "AL453"], 6),
        ('source = "RAPL"\n', "", ["AL455"], 3),
        ('source = "RAPL"', "source = 3", ["AL453"], 7),
        ('"RAPL"', '"  "', ["AL455"], 3),
        ('"RAPL"', '{ document = "choi2012" }', ["AL453"], 7),
        ('"RAPL"', '{ page = "7" }', ["AL453", "AL455"], 7),
        # Numbers
        ('value = "1.5e-1"\n', "", ["AL456"], 3),
        ('"1.5e-1"', "0.15", ["AL456"], 4),
        ('"1.5e-1"', '"a lot"', ["AL456"], 4),
        ('"1.5e-1"', '"nan"', ["AL456"], 4),
        ('"1.5e-1"', "nan", ["AL456"], 4),
        ('"1.5e-1"', '"inf"', ["AL456"], 4),
        ('"1.5e-1"', "-inf", ["AL456"], 4),
        ('"1.5e-1"', '"1/3"', ["AL456"], 4),
        ('"1.5e-1"', '"1e999999999"', ["AL456"], 4),
        ('"1.5e-1"', '"١"', ["AL456"], 4),
        ('"1.5e-1"', '"' + "9" * 200_000 + '"', ["AL456"], 4),
        ('"1.5e-1"', '"-0.15"', ["AL457"], 4),
        ('"1.5e-1"', '"1.5"\ndoubling_years = "0"', ["AL456"], 5),
        ('"1.5e-1"', '"1.5"\nhalving_years = "x"', ["AL456"], 5),
        ('"1.5e-1"', '"1.5"\nerror = "-1"', ["AL457"], 5),
        # Formulas
        ('"1/peak"', '"1/(peak - peak)"', ["AL462"], 24),
        ('"1/peak"', '"1/peak - 2/peak"', ["AL457"], 24),
        ('"1/peak"', '"1/pea"', ["AL462"], 24),
        ('"1/peak"', '"1/bandwidth"', ["AL461"], 24),
        ('"1/peak"', '"tau_mem*eps_flop/eps_mem"', ["AL462"], 24),
        ('"1/peak"', '"tau_flop"', ["AL462"], 24),
        ('"1/peak"', '"peak"', ["AL461"], 24),
        ('"1/peak"', '"1/peak +"', ["AL101"], 24),
        ('"1/peak"', '"if peak then 1 else 2"', ["AL101"], 24),
        ('"1/peak"', '""', ["AL101"], 24),
        ('"1/peak"', "1", ["AL453"], 24),
        ('"1/peak"', '"' + "(" * 5000 + '"', ["AL101"], 24),
        ('"1/peak"', '"1/peak' + " + 1/peak" * 5000 + '"', ["AL105"], 24),
        ('"1/peak"', '"' + "9" * 5000 + '/peak"', ["AL106"], 24),
        ('"1/peak"', '"1/peak"\nvalue = "1"', ["AL453"], 24),
        ('"1/peak"', '"1/peak"\ndoubling_years = "1"', ["AL453"], 24),
        ('unit = "s/flop"', 'unit = "s/flop"\ncheck = "1/bandwidth"', ["AL461"], 26),
        ('unit = "s/flop"', 'unit = "s/flop"\ncheck = "tau_mem*eps_flop/eps_mem"', ["AL462"], 24),
        # Variants
        ('["a note"]', '["a note"]\ndefault_variant = "single"', ["AL464"], 3),
        ('unit = "s/flop"', 'unit = "s/flop"\n[variant.single]', ["AL453"], 26),
        ('["a note"]', '["a note"]\nvariant = 3', ["AL453"], 3),
        # TOML
        ("[quantity.eps_op]", "[quantity.eps_op", ["AL452"], 3),
        ("[quantity.eps_mem]", "[quantity.eps_op]", ["AL452"], 8),
        ('unit = "pJ/B"', 'unit = "pJ/B"\nunit = "pJ/B"', ["AL452"], 11),
        ('unit = "s/flop"\n', "unit = '''", ["AL452"], 25),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, old: str, new: str, expected: list[str], line: int) -> None:
    assert GOOD.count(old) == 1
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == expected
    for diagnostic in problem.value.diagnostics:
        assert_placed(diagnostic, path)
    assert problem.value.diagnostics[0].span.line == line


def assert_placed(diagnostic: Diagnostic, path: Path) -> None:
    assert diagnostic.span.source.path == str(path)
    assert diagnostic.hint
    assert diagnostic.place in diagnostic.render()


def test_a_sum_of_two_dimensions_is_shown_where_it_stands(tmp_path: Path) -> None:
    text = GOOD + '[quantity.eps_cache]\n  from = "2*(eps_mem + beta_e)"\nunit = "J/B"\n'
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert codes(problem) == ["AL461"]
    span = problem.value.diagnostics[0].span
    assert span.line == 27
    assert span.source.lines[26][span.column - 1 : span.end_column - 1].strip("()") == "eps_mem + beta_e"
    assert "J/B" in problem.value.diagnostics[0].message
    assert "J/word" in problem.value.diagnostics[0].message


def test_formulas_that_go_round_in_a_circle(tmp_path: Path) -> None:
    text = GOOD.replace('value = "100"', 'from = "1/tau_flop"')
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert codes(problem) == ["AL462"]
    assert "peak -> tau_flop -> peak" in problem.value.diagnostics[0].message
    assert_placed(problem.value.diagnostics[0], tmp_path / "mine.toml")


def test_a_check_without_a_value(tmp_path: Path) -> None:
    text = GOOD.replace('kind = "peak"', 'kind = "peak"\ncheck = "1/(tau_flop - tau_flop)"')
    found = read_machine(written(tmp_path, text))
    with pytest.raises(ArchlineError) as problem:
        found.checked()
    assert codes(problem) == ["AL462"]
    assert_placed(problem.value.diagnostics[0], tmp_path / "mine.toml")


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = '[quantity.pi0]\nvalue = "-1"\nunit = "x"\n[quantity.peak]\nvalue = 1.0\nunit = "s"\nsource = "x"\n'
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert sorted(codes(problem)) == ["AL453", "AL453", "AL453", "AL454", "AL455", "AL456", "AL457", "AL461"]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff", "title = 'x'", "[quantity]"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert set(codes(problem)) == {"AL453"}
    for diagnostic in problem.value.diagnostics:
        assert_placed(diagnostic, path)


@pytest.mark.parametrize("number", ["1" * 5000, "[" * 20000])
def test_what_the_toml_reader_gives_up_on(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, GOOD.replace('"1.5e-1"', number))
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == ["AL452"]
    assert problem.value.diagnostics[0].path == str(path)
    assert problem.value.diagnostics[0].hint


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "binary.toml").write_bytes(b'title = "\xff"')
    (tmp_path / "nul.toml").write_bytes(b"title = '\0'")
    written(tmp_path, f"title = {'1' * 1_000_000}", "million.toml")
    expected = {
        "folder.toml": "AL452",
        "binary.toml": "AL006",
        "nul.toml": "AL005",
        "million.toml": "AL004",
        "missing.toml": "AL001",
        "nul\0.toml": "AL003",
        "x" * 5000 + ".toml": "AL003",
    }
    for name, code in expected.items():
        with pytest.raises(ArchlineError) as problem:
            machine(str(tmp_path / name))
        assert codes(problem) == [code], name
        assert name in str(problem.value.diagnostics[0].path)
    with pytest.raises(ArchlineError) as problem:
        read_machine(Path("/dev/zero"))
    assert codes(problem) == ["AL452"]
    assert "regular file" in problem.value.diagnostics[0].message


MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "duplicate", "replace", "drop line", "repeat line"]),
        st.integers(0, 10**6),
        st.sampled_from([*"\"[]={}.,#\n\\'+-/*^()09eax \0", "nan", "1e99", "peak", "eps_mem", "\u0660", "'''"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=drawn(400), deadline=None)
@given(MUTATIONS)
def test_a_damaged_file_reads_or_is_refused(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    text = GOOD
    for action, place, new in steps:
        lines = text.split("\n")
        at, line = place % (len(text) + 1), place % len(lines)
        match action:
            case "delete":
                text = text[:at] + text[at + 1 :]
            case "duplicate":
                text = text[:at] + text[at : at + 1] + text[at:]
            case "replace":
                text = text[:at] + new + text[at + 1 :]
            case "drop line":
                text = "\n".join(lines[:line] + lines[line + 1 :])
            case _:
                text = "\n".join(lines[: line + 1] + lines[line:])
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_text(text, encoding="utf-8")
    try:
        found = read_machine(path)
    except ArchlineError as refused:
        shown = [each.render() for each in refused.diagnostics]
        assert all(str(path) in each for each in shown), shown
    else:
        assert all(each.value >= 0 for each in found.quantities.values() if each.formula is None)


# Machines that extend others
def test_a_machine_extends_one_of_archlines_own(tmp_path: Path) -> None:
    text = (
        'title = "Mine"\nextends = "roofline/gtx-580@single"\nnotes = ["mine"]\n[quantity.bandwidth]\nvalue = "100"\n'
    )
    text += 'unit = "GB/s"\nkind = "measured"\nsource = "STREAM"\n'
    found, base = read_machine(written(tmp_path, text)), machine("gtx-580@single")
    assert (found.name, found.collection, found.title, found.variants) == ("mine", "", "Mine", ())
    assert found.notes == (*base.notes, "mine")
    assert found.values["peak"] == base.values["peak"]
    # What follows from the new value is computed anew.
    assert found.values["tau_mem"] == Fraction(1, 10**11)


def test_a_machine_extends_a_variant_of_a_file(tmp_path: Path) -> None:
    base = GOOD.replace('title = "Mine"', 'title = "Mine"\ndefault_variant = "slow"\nyear = 2010')
    for variant, value in (("slow", 10), ("fast", 20)):
        base += f'[variant.{variant}.quantity.pi0]\nvalue = "{value}"\nunit = "W"\nkind = "rated"\nsource = "x"\n'
    written(tmp_path, base, "base.toml")
    (tmp_path / "deep").mkdir()
    assert read_machine(tmp_path / "base.toml").values["pi0"] == 10
    assert read_machine(tmp_path / "base.toml", variant="fast").values["pi0"] == 20
    found = read_machine(written(tmp_path / "deep", 'extends = "../base.toml@fast"\n'))
    assert (found.values["pi0"], found.title, found.year) == (20, "Mine", 2010)
    assert read_machine(written(tmp_path / "deep", 'extends = "../base.toml"\n')).values["pi0"] == 10


@pytest.mark.parametrize(
    ("extends", "code"),
    [
        ("mine.toml", "AL463"),
        ("other.toml", "AL463"),
        ("missing.toml", "AL450"),
        ("folder.toml", "AL450"),
        ("nul\\u0000.toml", "AL450"),
        ("x" * 5000 + ".toml", "AL450"),
        ("gtx-581", "AL450"),
        ("", "AL450"),
    ],
)
def test_what_cannot_be_extended(tmp_path: Path, extends: str, code: str) -> None:
    (tmp_path / "folder.toml").mkdir()
    written(tmp_path, 'extends = "mine.toml"\n', "other.toml")
    path = written(tmp_path, f'title = "Mine"\nextends = "{extends}"\n')
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == [code]
    diagnostic = problem.value.diagnostics[0]
    assert_placed(diagnostic, tmp_path / "other.toml" if extends == "other.toml" else path)
    assert diagnostic.span.line == (1 if extends == "other.toml" else 2)


def test_an_unknown_variant_is_not_extended(tmp_path: Path) -> None:
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, 'extends = "gtx-580@half"\n'))
    assert codes(problem) == ["AL464"]


def test_a_parameter_that_takes_a_formulas_value_away(tmp_path: Path) -> None:
    text = GOOD.replace('value = "100"', 'from = "1/tau_flop"').replace('from = "1/peak"', 'value = "1"\nkind = "peak"')
    found = read_machine(written(tmp_path, text + 'source = "data sheet"\n'))
    with pytest.raises(ArchlineError) as problem:
        found.with_parameters(read_parameters(["tau_flop=0"]))
    assert codes(problem) == ["AL462"]


@given(st.decimals(0, 10**30, allow_nan=False, allow_infinity=False))
def test_a_numeral_is_read_exactly(tmp_path_factory: pytest.TempPathFactory, value: Decimal) -> None:
    path = tmp_path_factory.getbasetemp() / "numeral.toml"
    path.write_text(GOOD.replace('"1.5e-1"', f'"{value:f}"'), encoding="utf-8")
    try:
        found: Quantity = read_machine(path).quantities["eps_op"]
    except ArchlineError:
        # Beyond 40 digits.
        assert len(f"{value:f}") > 40
    else:
        assert found.value == Fraction(value) / 10**9
