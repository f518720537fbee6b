"""Matrix Market files against scipy, and files with something wrong."""

import gzip
import io
import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from archline.execution import matrix_market, sparse_matrix
from archline.execution.matrix_market import read_matrix
from archline.execution.sparse_matrix import SparseMatrix
from archline.language.diagnostics import ArchlineError, Diagnostic
from effort import long

MATRICES = Path(__file__).parents[1] / "data" / "matrices"
NAMES = sorted(path.name for path in MATRICES.glob("*.mtx*"))

GENERAL = """%%MatrixMarket matrix coordinate real general
% a comment

3 4 3
1 1 1.5
3 4 -2e3
2 1 .25
"""


def read_text(folder: Path, text: str | bytes, name: str = "a.mtx") -> SparseMatrix:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_matrix(path)


def failure(folder: Path, text: str | bytes, name: str = "a.mtx") -> Diagnostic:
    with pytest.raises(ArchlineError) as problem:
        read_text(folder, text, name)
    (diagnostic,) = problem.value.diagnostics
    assert diagnostic.path == str(folder / name)
    return diagnostic


def dense(matrix: SparseMatrix) -> np.ndarray:
    result = np.zeros((matrix.n, matrix.m))
    result[matrix.rows, matrix.cols] = matrix.values
    return result


@pytest.mark.parametrize("name", NAMES)
def test_real_matrices_are_as_scipy_reads_them(name: str) -> None:
    matrix = read_matrix(MATRICES / name)
    by_rows = scipy.io.mmread(MATRICES / name).tocsr()
    by_rows.sort_indices()
    by_columns = by_rows.tocsc()
    by_columns.sort_indices()
    assert (matrix.n, matrix.m) == by_rows.shape
    assert matrix.nz == by_rows.nnz
    assert matrix.nr == np.diff(by_rows.indptr).max()
    assert matrix.nc == np.diff(by_columns.indptr).max()
    for ours, theirs in ((matrix.build_csr(), by_rows), (matrix.build_csc(), by_columns)):
        np.testing.assert_array_equal(ours[0], theirs.indptr)
        np.testing.assert_array_equal(ours[1], theirs.indices)
        np.testing.assert_array_equal(ours[2], theirs.data)
        assert [array.dtype for array in ours] == [np.int64, np.int64, np.float64]


def test_there_are_five_real_matrices() -> None:
    assert NAMES == ["arc130.mtx", "bcsstk16.mtx.gz", "fs_183_1.mtx", "lp_share1b.mtx", "west0479.mtx"]


def test_a_small_file(tmp_path: Path) -> None:
    matrix = read_text(tmp_path, GENERAL)
    expected = np.array([[1.5, 0, 0, 0], [0.25, 0, 0, 0], [0, 0, 0, -2000]])
    np.testing.assert_array_equal(dense(matrix), expected)
    assert (matrix.nz, matrix.nr, matrix.nc) == (3, 1, 2)
    assert list(matrix.rows) == [0, 1, 2]


@pytest.mark.parametrize(
    ("banner", "entries", "expected"),
    [
        ("coordinate integer general", "1 2 7\n2 1 -3", [[0, 7], [-3, 0]]),
        ("coordinate pattern general", "1 2\n2 2", [[0, 1], [0, 1]]),
        ("coordinate pattern symmetric", "2 1\n2 2", [[0, 1], [1, 1]]),
        ("coordinate real symmetric", "2 1 5\n1 1 3", [[3, 5], [5, 0]]),
        ("Coordinate REAL Skew-Symmetric", "2 1 5", [[0, -5], [5, 0]]),
        ("coordinate real general", "1 1 1\n1 1 2\n2 2 -4", [[3, 0], [0, -4]]),
        ("coordinate real general", "", [[0, 0], [0, 0]]),
        ("coordinate real general", "\n  1\t2   4.\n\n", [[0, 4], [0, 0]]),
        ("array real general", "1\n2\n0\n4", [[1, 0], [2, 4]]),
        ("array integer general", "1\n2\n3\n4", [[1, 3], [2, 4]]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_and_symmetries(
    tmp_path: Path, banner: str, entries: str, expected: list[list[float]], end: str
) -> None:
    count = "" if banner.startswith("array") else f" {len([line for line in entries.splitlines() if line])}"
    text = f"%%MatrixMarket matrix {banner}\n2 2{count}\n{entries}\n".replace("\n", end)
    np.testing.assert_array_equal(dense(read_text(tmp_path, text)), np.array(expected))


def test_stored_zeros_count_and_dense_zeros_do_not(tmp_path: Path) -> None:
    banner = "%%MatrixMarket matrix"
    assert read_text(tmp_path, f"{banner} coordinate real general\n1 1 1\n1 1 0.0\n").nz == 1
    assert read_text(tmp_path, f"{banner} array real general\n2 1\n0\n3\n").nz == 1


@pytest.mark.parametrize("name", ["a.mtx.gz", "a.mtx", "a"])
def test_gzip_is_told_by_the_bytes(tmp_path: Path, name: str) -> None:
    halves = GENERAL[:60].encode(), GENERAL[60:].encode()
    packed = b"".join(gzip.compress(half) for half in halves)
    np.testing.assert_array_equal(dense(read_text(tmp_path, packed, name)), dense(read_text(tmp_path, GENERAL)))
    assert read_text(tmp_path, GENERAL, "plain.gz").nz == 3


@st.composite
def matrices(draw: st.DrawFn) -> SparseMatrix:
    n, m = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    entry = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1), st.integers(-9, 9))
    triples = draw(st.lists(entry, max_size=60))
    rows, cols, values = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    return SparseMatrix.from_triples(n, m, rows, cols, values.astype(np.float64))


@given(matrices())
def test_rows_and_columns_are_as_scipy_has_them(matrix: SparseMatrix) -> None:
    expected = scipy.sparse.coo_array((matrix.values, (matrix.rows, matrix.cols)), shape=(matrix.n, matrix.m)).toarray()
    rowptr, col, val = matrix.build_csr()
    assert (scipy.sparse.csr_array((val, col, rowptr), shape=expected.shape).toarray() == expected).all()
    colptr, row, val = matrix.build_csc()
    assert (scipy.sparse.csc_array((val, row, colptr), shape=expected.shape).toarray() == expected).all()
    assert matrix.nr == max(np.diff(rowptr))
    assert matrix.nc == max(np.diff(colptr))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-9, 9)), max_size=40))
def test_duplicates_are_summed(triples: list[tuple[int, int, int]]) -> None:
    expected = np.zeros((4, 4))
    for row, col, value in triples:
        expected[row, col] += value
    columns = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    matrix = SparseMatrix.from_triples(4, 4, columns[0], columns[1], columns[2].astype(np.float64))
    assert (dense(matrix) == expected).all()
    positions = list(zip(matrix.rows, matrix.cols, strict=True))
    assert positions == sorted({(row, col) for row, col, _ in triples})


def quadrants(size: int, top: int = 0, left: int = 0) -> list[tuple[int, int]]:
    """Z-Morton order by its recursive definition."""
    if size == 1:
        return [(top, left)]
    half = size // 2
    corners = [(top, left), (top, left + half), (top + half, left), (top + half, left + half)]
    return [place for corner in corners for place in quadrants(half, *corner)]


@given(matrices(), st.sampled_from([1, 2, 4, 8, 32]), st.booleans(), st.booleans())
def test_blocks_hold_the_matrix_in_the_order_asked_for(
    matrix: SparseMatrix, b: int, square: bool, zmorton: bool
) -> None:
    blocked = matrix.blocks(b, square=square, zmorton=zmorton)
    grid = -(-matrix.n // b), -(-matrix.m // b)
    assert (blocked.block_rows, blocked.block_cols) == ((max(grid), max(grid)) if square else grid)
    order = quadrants(b) if zmorton else list(itertools.product(range(b), repeat=2))
    padded = np.zeros((blocked.block_rows * b, blocked.block_cols * b))
    padded[: matrix.n, : matrix.m] = dense(matrix)
    stored = set(zip(matrix.rows.tolist(), matrix.cols.tolist(), strict=True))
    assert len(blocked.offsets) == blocked.block_rows * blocked.block_cols + 1
    assert (blocked.offsets[0], blocked.offsets[-1]) == (0, matrix.nz)
    gaps = []
    for number, (i, j) in enumerate(itertools.product(range(blocked.block_rows), range(blocked.block_cols))):
        part = slice(*blocked.offsets[number : number + 2])
        places = list(zip(blocked.row[part].tolist(), blocked.col[part].tolist(), strict=True))
        assert places == [place for place in order if (i * b + place[0], j * b + place[1]) in stored]
        values = [padded[i * b + row, j * b + col] for row, col in places]
        assert blocked.val[part].tolist() == values
        gaps.append(len(places))
    assert blocked.longest == max(gaps)


def test_block_sizes_that_are_not_usable() -> None:
    matrix = SparseMatrix.from_triples(9, 9, np.array([1]), np.array([2]), np.array([3.0]))
    assert matrix.blocks(3).offsets.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    assert matrix.blocks(2**31, zmorton=True).row.tolist() == [1]
    for b, zmorton in ((0, False), (-4, False), (2**31 + 1, False), (10**30, False), (3, True)):
        with pytest.raises(ArchlineError) as problem:
            matrix.blocks(b, zmorton=zmorton)
        assert problem.value.diagnostics[0].rule.code == "AL434"


def test_blocks_beyond_memory_are_refused() -> None:
    none = np.zeros(0, dtype=np.int64)
    matrix = SparseMatrix.from_triples(10**8, 10**8, none, none, np.zeros(0))
    with pytest.raises(ArchlineError) as problem:
        matrix.blocks(1)
    assert problem.value.diagnostics[0].rule.code == "AL433"
    assert "PiB" in problem.value.diagnostics[0].message


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "AL421", None),
        ("hello\n", "AL424", 1),
        ("3 3 0\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinate real\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinat real general\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinate rael general\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinate real symmetrical\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "AL424", 1),
        ("%%MatrixMarket matrix coordinate complex general\n", "AL425", 1),
        ("%%MatrixMarket matrix coordinate complex hermitian\n", "AL425", 1),
        ("%%MatrixMarket matrix array real symmetric\n", "AL425", 1),
        ("%%MatrixMarket matrix array pattern general\n", "AL425", 1),
        (HEAD, "AL426", None),
        (HEAD + "% only a comment", "AL426", None),
        (HEAD + "3 3\n", "AL426", 2),
        (HEAD + "% c\n\n3 3 x\n", "AL426", 4),
        (HEAD + "3 3.0 1\n", "AL426", 2),
        (HEAD + "0 3 0\n", "AL426", 2),
        (HEAD + "3 -3 0\n", "AL426", 2),
        (HEAD + "3 3 -1\n", "AL426", 2),
        (HEAD + "-" + "9" * 5000 + " 3 0\n", "AL426", 2),
        (HEAD.replace("general", "symmetric") + "3 4 0\n", "AL426", 2),
        (HEAD + "3 3 1\n1 1\n", "AL427", 3),
        (HEAD + "3 3 2\n1 1 1\n1 1 1 1\n", "AL427", 4),
        (HEAD + "3 3 1\n1 1 1 % no\n", "AL427", 3),
        (HEAD + "3 3 2\n1 1 1\n\n1 x 1\n", "AL427", 5),
        (HEAD + "3 3 1\n1.0 1 1\n", "AL427", 3),
        (HEAD + "3 3 1\n1 1 1.0D+00\n", "AL427", 3),
        (HEAD + "3 3 1\n1 1 0x1\n", "AL427", 3),
        (HEAD + "3 3 1\n1 1 1_0\n", "AL427", 3),
        (HEAD + "3 3 1\n1 1 1\0\n", "AL427", 3),
        (HEAD + "3 3 1\n1 ١ 1\n", "AL427", 3),
        (HEAD + "3 3 1\n" + "9" * 5000 + " 1 1\n", "AL427", 3),
        (HEAD.replace("real", "integer") + "3 3 1\n1 1 1.5\n", "AL427", 3),
        (HEAD.replace("real", "integer") + "3 3 1\n1 1 " + "9" * 30 + "\n", "AL427", 3),
        (HEAD.replace("real", "pattern") + "3 3 1\n1 1 1.5\n", "AL427", 3),
        (HEAD + "3 3 1\n" + "1" * 100_000, "AL427", 3),
        (HEAD + "3 3 1\n" + "1" * 5_000_000, "AL427", 3),
        (HEAD + "3 3 1\n" + "\n" * 5_000_000, "AL427", None),
        (HEAD + "3 4 1\n4 1 1\n", "AL428", 3),
        (HEAD + "3 4 2\n3 4 1\n1 5 1\n", "AL428", 4),
        (HEAD + "3 3 1\n0 1 1\n", "AL428", 3),
        (HEAD + "3 3 1\n1 -1 1\n", "AL428", 3),
        (HEAD + "3 3 2\n1 1 1\n1 1 NaN\n", "AL429", 4),
        (HEAD + "3 3 1\n1 1 -inf\n", "AL429", 3),
        (HEAD + "3 3 1\n1 1 1e400\n", "AL429", 3),
        (HEAD + "3 3 2\n1 1 1e308\n1 1 1e308\n", "AL429", None),
        (HEAD + "3 3 3\n1 1 1\n2 2 1\n", "AL430", 4),
        (HEAD + "3 3 3\n", "AL430", 2),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "AL430", 5),
        (HEAD + "3 3 1\n1 1 1\n2 2 1\n3 3 1\n", "AL431", 4),
        (HEAD + "3 3 0\n1 1 1\n", "AL431", 3),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n2\n", "AL431", 4),
        (HEAD.replace("general", "symmetric") + "3 3 2\n2 1 1\n1 2 1\n", "AL432", 4),
        (HEAD.replace("general", "skew-symmetric") + "3 3 1\n2 2 0\n", "AL432", 3),
        (HEAD + "3 3 999999999999999\n1 1 1\n", "AL433", None),
        (HEAD + "999999999999999 3 1\n1 1 1\n", "AL433", None),
        (HEAD + "3 3 " + "9" * 5000 + "\n1 1 1\n", "AL433", 2),
        ("%%MatrixMarket matrix array real general\n99999999 99999999\n1\n", "AL433", None),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, code: str, line: int | None) -> None:
    plain = failure(tmp_path, text)
    assert plain.rule.code == code
    assert line is None or plain.line == line
    packed = failure(tmp_path, gzip.compress(text.encode()))
    assert (packed.rule.code, packed.message, packed.line) == (code, plain.message, plain.line)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    for text, line in (
        (HEAD.encode() + b"% caf\xe9\n1 1 0\n", 2),
        (HEAD.encode() + b"1 1 1\n\n1 1 \xff\n", 4),
        (b"\xff\xfe%\0%\0", 1),
    ):
        found = failure(tmp_path, text)
        assert (found.rule.code, found.line) == ("AL423", line)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read_text(tmp_path, b"\xef\xbb\xbf" + GENERAL.encode()).nz == 3


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = (MATRICES / "bcsstk16.mtx.gz").read_bytes()
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0xFF
    wrong_sum = bytearray(gzip.compress(GENERAL.encode()))
    wrong_sum[-6] ^= 1
    for data in (packed[: len(packed) // 2], packed[:5], bytes(wrong_sum), packed + b"rubbish"):
        assert failure(tmp_path, data).rule.code == "AL422"
    # Damage may decompress to text that is wrong before the check sum is reached.
    possible = {"AL422", "AL423", "AL427", "AL428", "AL429", "AL432"}
    assert failure(tmp_path, bytes(flipped)).rule.code in possible
    assert failure(tmp_path, "hello", "a.mtx.gz").rule.code == "AL422"
    assert failure(tmp_path, "", "a.mtx.gz").rule.code == "AL421"


def test_paths_that_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "folder.mtx").mkdir()
    for path in (
        tmp_path / "missing.mtx",
        tmp_path / "folder.mtx",
        tmp_path / ("x" * 300),
        tmp_path / "a\0b",
        Path("/dev/zero"),
        Path("/dev/null"),
    ):
        with pytest.raises(ArchlineError) as problem:
            read_matrix(path)
        assert problem.value.diagnostics[0].rule.code == "AL420"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    path.write_text(GENERAL)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ArchlineError) as problem:
        read_matrix(path)
    assert problem.value.diagnostics[0].rule.code == "AL420"
    assert "Permission denied" in problem.value.diagnostics[0].message


@long
def test_an_error_far_into_a_large_file_has_its_line(tmp_path: Path) -> None:
    count = 600_000
    lines = [f"{k % 1000 + 1} {k // 1000 + 1} {k}" for k in range(count)]
    lines[567_890] = "1001 1 1"
    found = failure(tmp_path, HEAD + f"1000 600 {count}\n" + "\n".join(lines))
    assert (found.rule.code, found.line) == ("AL428", 567_890 + 3)


def test_progress_counts_up_to_what_is_announced(tmp_path: Path) -> None:
    count = 600_000
    path = tmp_path / "a.mtx"
    path.write_text(
        HEAD + f"1000 600 {count}\n" + "".join(f"{k % 1000 + 1} {k // 1000 + 1} {k}\n" for k in range(count))
    )
    calls: list[tuple[int, int]] = []
    matrix = read_matrix(path, lambda done, total: calls.append((done, total)))
    assert matrix.nz == count
    assert matrix.values.sum() == count * (count - 1) // 2
    assert len(calls) > 1
    assert calls == sorted(calls)
    assert calls[-1] == (count, count)


def test_memory_is_asked_for_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sparse_matrix.available_memory() > 0
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    assert sparse_matrix.available_memory() > 0


@pytest.mark.parametrize("piece", [1, 2, 7, 16, 40, 1000])
def test_pieces_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(matrix_market, "_PIECE", piece)
    entries = [f"{k % 7 + 1} {k // 7 + 1} {k - 20}" for k in range(49)]
    text = HEAD + "% c\n7 7 49\n" + "\n".join(entries)
    for end in ("", "\n"):
        matrix = read_text(tmp_path, text + end)
        np.testing.assert_array_equal(dense(matrix), np.arange(49.0).reshape(7, 7).T - 20)
    for wrong in (0, 20, 48):
        broken = "\n".join([*entries[:wrong], "1 1 x", *entries[wrong + 1 :]])
        assert failure(tmp_path, HEAD + "% c\n7 7 49\n" + broken).line == wrong + 4
        missing = failure(tmp_path, HEAD + "% c\n7 7 49\n" + "\n".join(entries[:wrong]))
        assert (missing.rule.code, missing.line) == ("AL430", wrong + 3)
        assert f"after {wrong} of the 49 entries" in missing.message
    many = failure(tmp_path, HEAD + "7 7 48\n" + "\n".join(entries))
    assert (many.rule.code, many.line) == ("AL431", 51)


def test_blank_pieces_are_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_market, "_PIECE", 16)
    assert read_text(tmp_path, HEAD + "1 1 1\n" + "\n" * 15 + "1 1 1\n").nz == 1
    assert read_text(tmp_path, HEAD + "1 1 1\n1 1 1\n" + "\n" * 10).nz == 1
    assert failure(tmp_path, HEAD + "1 1 1\n" + "\n" * 17 + "1 1 1\n").rule.code == "AL427"


def test_the_longest_line_and_the_longest_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 64 * 1024
    assert read_text(tmp_path, HEAD + "%" * (longest - 1) + "\n1 1 0\n").n == 1
    found = failure(tmp_path, HEAD + "%" * longest + "\n1 1 0\n")
    assert (found.rule.code, found.line) == ("AL427", 2)
    monkeypatch.setattr(matrix_market, "MAX_HEADER", 100)
    assert read_text(tmp_path, HEAD + 2 * ("%" * 49 + "\n") + "1 1 0\n").n == 1
    found = failure(tmp_path, HEAD + "%" * 49 + "\n" + "%" * 50 + "\n1 1 0\n")
    assert (found.rule.code, found.line) == ("AL426", 3)


@pytest.mark.parametrize(
    ("banner", "sizes", "stored"),
    [
        ("coordinate real general", (30, 20, 5), 5),
        ("coordinate real symmetric", (30, 30, 5), 10),
        ("array real general", (30, 20), 600),
    ],
)
def test_a_file_is_refused_by_what_its_entries_would_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, banner: str, sizes: tuple[int, ...], stored: int
) -> None:
    text = f"%%MatrixMarket matrix {banner}\n{' '.join(map(str, sizes))}\n"
    needed = 96 * stored + 16 * (sizes[0] + sizes[1])
    monkeypatch.setattr(sparse_matrix, "available_memory", lambda: needed)
    assert failure(tmp_path, text).rule.code == "AL430"
    monkeypatch.setattr(sparse_matrix, "available_memory", lambda: needed - 1)
    found = failure(tmp_path, text)
    assert found.rule.code == "AL433"
    assert f"{sizes[0]} x {sizes[1]} with {stored} entries" in found.message


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("3 3 " + "9" * 19, "with 9999999999999999999 entries", None),
        ("3 3 " + "9" * 20, "the number of entries has 20 digits", None),
        ("3 3 -1", "-1 entries are announced; there must be at least 0", None),
        ("0 3 1", "0 rows are announced; there must be at least 1", None),
        ("3 3 1\n1 1 " + "z" * 40, f"the value `{'z' * 40}` is", None),
        ("3 3 1\n1 1 " + "z" * 41, f"the value `{'z' * 40}...` is", None),
        ("3 3 1\n1 1 \0", "the value `?` is", None),
        ("3 3 1\n1 1 1D3", "is not a number", "exponents are written with e"),
        ("3 3 1\n1 1 1z3", "is not a number", None),
        ("3 3 1\n1 1", "2 words where an entry has: row, column, value", None),
        ("3 3 1\n4 1 1", "the row 4 is not in 1 to 3", None),
        ("3 3 1\n1 4 1", "the column 4 is not in 1 to 3", None),
        ("3 3 1\n1 0 1", "the column 0 is not in 1 to 3", "indices count from 1"),
        ("3 3 1\n1x 1 1", "the row `1x` is not an integer", None),
        ("3 3", "the size line is not 3 integers: rows, columns, entries", None),
    ],
)
def test_messages_name_what_stands_there(tmp_path: Path, text: str, words: str, hint: str | None) -> None:
    found = failure(tmp_path, HEAD + text + "\n")
    assert words in found.message
    assert found.hint == hint


def test_a_wrong_triangle_is_told_in_numbers_from_one(tmp_path: Path) -> None:
    for banner, entry, words in (
        ("symmetric", "2 3 1", "entry (2, 3) is above the diagonal of a symmetric matrix"),
        ("skew-symmetric", "2 2 1", "entry (2, 2) is on the diagonal of a skew-symmetric matrix"),
        ("skew-symmetric", "1 2 1", "entry (1, 2) is above the diagonal"),
    ):
        found = failure(tmp_path, HEAD.replace("general", banner) + f"3 3 1\n{entry}\n")
        assert words in found.message
    assert read_text(tmp_path, HEAD.replace("general", "symmetric") + "3 3 2\n3 1 1\n2 2 1\n").nz == 3


def test_banners_hint_at_what_was_meant(tmp_path: Path) -> None:
    for banner, hint in (
        ("%%MatrixMarket matrix coordinat real general", "did you mean `coordinate`?"),
        ("%%MatrixMarket matrix coordinate quux general", "it must be one of `real`, `integer`, `pattern`, `complex`"),
        (
            "%%MatrixMarket vector coordinate real general",
            "it must be like `%%MatrixMarket matrix coordinate real general`",
        ),
        (
            "%%MatrixMarket matrix coordinate real general more",
            "it must be like `%%MatrixMarket matrix coordinate real general`",
        ),
    ):
        assert hint in str(failure(tmp_path, banner + "\n1 1 0\n").hint)


def test_digits_of_integers_have_a_limit(tmp_path: Path) -> None:
    integers = HEAD.replace("real", "integer")
    assert read_text(tmp_path, integers + "1 1 1\n1 1 " + "9" * 15 + "\n").values.tolist() == [999999999999999.0]
    assert read_text(tmp_path, HEAD + "1 1 1\n+1 01 +1.5E+2\n").values.tolist() == [150.0]


def test_available_memory_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def meminfo(text: str) -> None:
        monkeypatch.setattr("builtins.open", lambda *_, **__: io.StringIO(text))

    meminfo("MemTotal: 9 kB\nMemAvailable:    1234 kB\nMemFree: 5 kB\n")
    assert sparse_matrix.available_memory() == 1234 * 1024
    for text in ("MemTotal: 9 kB\n", "MemAvailable: x kB\n"):
        meminfo(text)
        monkeypatch.setattr(sparse_matrix.os, "sysconf", {"SC_PHYS_PAGES": 7, "SC_PAGE_SIZE": 4096}.__getitem__)
        assert sparse_matrix.available_memory() == 7 * 4096
    monkeypatch.delattr(sparse_matrix.os, "sysconf")
    assert sparse_matrix.available_memory() == 4 * 2**30
