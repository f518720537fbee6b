"""Programs in buffers: a text stands for the file at its path, and further texts replace further files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import archline as al
from archline.language.source import path_exists, read_source, replace_files

USER = "use helper\n\nalgorithm twice(x: inout real[n]):\n    help(x)\n    help(x)\n"
HELPER = "algorithm help(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 2.0*x[i]\n"


def test_use_finds_files_next_to_the_path(tmp_path: Path) -> None:
    (tmp_path / "helper.algo").write_text(HELPER)
    module = al.loads(USER, path=tmp_path / "user.algo")
    assert module["twice"].cost().flops.at(n=10) == 20
    with pytest.raises(al.ArchlineError, match="there is no module `helper`"):
        al.loads(USER)


def test_the_text_replaces_the_file_at_its_path(tmp_path: Path) -> None:
    (tmp_path / "helper.algo").write_text(HELPER)
    (tmp_path / "user.algo").write_text("algorithm old(n: size):\n    pass\n")
    assert list(al.loads(USER, path=tmp_path / "user.algo")) == ["twice"]
    assert list(al.load(tmp_path / "user.algo")) == ["old"]


def test_an_overlay_replaces_files_and_adds_some(tmp_path: Path) -> None:
    changed = HELPER.replace("2.0*x[i]", "2.0*x[i] + 1.0")
    (tmp_path / "helper.algo").write_text(HELPER)
    for path in (tmp_path / "user.algo", str(tmp_path / "user.algo")):
        module = al.loads(USER, path=path, overlay={tmp_path / "helper.algo": changed})
        assert module["twice"].cost().flops.at(n=10) == 40
    (tmp_path / "helper.algo").unlink()
    module = al.loads(USER, path=tmp_path / "user.algo", overlay={str(tmp_path / "helper.algo"): HELPER})
    assert module["twice"].cost().flops.at(n=10) == 20


def test_paths_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = al.loads(USER, path="user.algo", overlay={tmp_path / "helper.algo": HELPER})
    assert module["twice"].cost().flops.at(n=10) == 20


def test_claims_are_decided_with_the_overlay(tmp_path: Path) -> None:
    (tmp_path / "helper.algo").write_text(HELPER)
    text = f"{USER}\nclaim flops(help) == 3*n\n"
    overlay = {tmp_path / "helper.algo": HELPER.replace("2.0*x[i]", "2.0*x[i] + 1.0 + x[i]")}
    (claim,) = al.loads(text, path=tmp_path / "user.algo", overlay=overlay).claims()
    assert claim.outcome == "holds"
    (claim,) = al.loads(text, path=tmp_path / "user.algo").claims()
    assert claim.outcome == "fails"


def test_errors_carry_the_given_paths(tmp_path: Path) -> None:
    user, helper = str(tmp_path / "user.algo"), str(tmp_path / "helper.algo")
    with pytest.raises(al.ArchlineError) as problem:
        al.loads(USER.replace("help(x)\n    ", "helpp(x)\n    "), path=user, overlay={helper: HELPER})
    assert problem.value.diagnostics[0].place == f"{user}:4:5"
    with pytest.raises(al.ArchlineError) as problem:
        al.loads(USER, path=user, overlay={helper: HELPER.replace("2.0*x[i]", "2.0*y[i]")})
    assert problem.value.diagnostics[0].place == f"{helper}:3:20"
    with pytest.raises(al.ArchlineError) as problem:
        al.loads("a\0b", path=user)
    assert problem.value.diagnostics[0].place == user


def test_a_buffer_that_its_neighbour_uses_is_part_of_a_cycle(tmp_path: Path) -> None:
    with pytest.raises(al.ArchlineError, match=r"`user.algo` uses `helper.algo` uses `user.algo`"):
        al.loads(USER, path=tmp_path / "user.algo", overlay={tmp_path / "helper.algo": "use user\n" + HELPER})


def test_a_replaced_folder_has_no_other_files(tmp_path: Path) -> None:
    (tmp_path / "old.algo").write_text(HELPER)
    with replace_files({f"{tmp_path}{os.sep}new.algo": USER.encode()}, f"{tmp_path}{os.sep}"):
        assert read_source(tmp_path / "new.algo").text == USER
        assert not path_exists(tmp_path / "old.algo")
        with replace_files({str(tmp_path / "old.algo"): b"use other\n"}):
            assert read_source(tmp_path / "old.algo").text == "use other\n"
            assert read_source(tmp_path / "new.algo").text == USER
    assert read_source(tmp_path / "old.algo").text == HELPER
