"""The handlers of the language server protocol: each turns a request about an open document into an answer."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lsprotocol import types as t
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from archline import __version__
from archline.api.texts import format_source
from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, describe_defect
from archline.language.edits import select_edits
from archline.language.source import replace_files
from archline.resources import find_resource
from archline.server.completion import list_completions
from archline.server.derivation import Answer, Question
from archline.server.documents import Analysis, Documents, make_algorithm_key
from archline.server.edits import fix_text, propose_ensures
from archline.server.names import (
    WORD,
    find_definition,
    format_signature,
    is_renamable,
    list_declarations,
    list_occurrences,
)
from archline.server.worker import CostWorker

DELAY = 0.05
"""The seconds between a change and the check of the text, in which further changes are awaited."""
_SEVERITIES = {
    "error": t.DiagnosticSeverity.Error,
    "warning": t.DiagnosticSeverity.Warning,
    "note": t.DiagnosticSeverity.Information,
}
_FIX_ALL = "source.fixAll.archline"
Handler = Callable[..., Any]
HANDLERS: list[tuple[str, Handler, Any]] = []


def handle_request(method: str, options: Any = None) -> Callable[[Handler], Handler]:
    """Register a coroutine as the handler of a method; an internal error is logged, and the answer is empty."""

    def register(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def handle_safely(server: ArchlineServer, params: Any) -> Any:
            try:
                return await handler(server, params)
            except Exception as problem:
                server.log_defect(f"{method}: {type(problem).__name__}: {' '.join(str(problem).split())[:200]}")
                return None

        HANDLERS.append((method, handle_safely, options))
        return handler

    return register


class ArchlineServer(LanguageServer):
    """A language server with its open documents, and the process that derives costs."""

    def __init__(self) -> None:
        super().__init__("archline", __version__, text_document_sync_kind=t.TextDocumentSyncKind.Full)
        self.documents = Documents()
        self.worker = CostWorker()
        self.shows_hints = True
        self._checks: dict[str, asyncio.Task[None]] = {}
        for method, handler, options in HANDLERS:
            self.feature(method, options)(functools.partial(handler, self))

    def log_defect(self, message: str) -> None:
        """Send the description of an internal error to the log of the editor."""
        self.window_log_message(t.LogMessageParams(t.MessageType.Error, f"AL999: defect in archline: {message}"))

    def convert_span(self, lines: list[str], span: Span) -> t.Range:
        """Return the range of the client for a span in a text of some lines."""
        start = t.Position(span.line - 1, span.column - 1)
        end = t.Position(span.end_line - 1, max(span.end_column - 1, 0))
        return self.workspace.position_codec.range_to_client_units(lines, t.Range(start, end))

    def locate_span(self, span: Span) -> t.Location:
        """Return the place of a span in its file."""
        uri = from_fs_path(str(Path(span.source.path).absolute()))
        return t.Location(uri or "", self.convert_span(span.source.written_lines, span))

    def read_word(self, params: Any) -> tuple[Analysis | None, int, str]:
        """Return the analysis of the document at a position, the line, from 1, and the word there or an empty text."""
        analysis = self.documents.analyse(params.text_document.uri)
        if analysis is None:
            return None, 0, ""
        position = self.workspace.position_codec.position_from_client_units(analysis.lines, params.position)
        words = WORD.finditer(analysis.lines[position.line])
        word = next((word[0] for word in words if word.start() <= position.character <= word.end()), "")
        return analysis, position.line + 1, word

    def schedule_checks(self, uris: Iterable[str]) -> None:
        """Check documents soon; a check that is already scheduled is put off."""
        for uri in uris:
            if uri in self._checks:
                self._checks[uri].cancel()
            self._checks[uri] = asyncio.ensure_future(self._check_document(uri))

    async def _check_document(self, uri: str) -> None:
        await asyncio.sleep(DELAY)
        try:
            analysis = self.documents.analyse(uri)
            if analysis is None:
                return
            if analysis.module is not None:
                nodes = analysis.module.algorithms.values()
                keys = {make_algorithm_key(analysis.module, node) for node in nodes}
                self.worker.discard_stale(analysis.path, keys)
            found = [self.convert_diagnostic(analysis, diagnostic) for diagnostic in analysis.diagnostics]
            self.text_document_publish_diagnostics(t.PublishDiagnosticsParams(uri, found, analysis.version))
        except Exception as problem:
            self.log_defect(describe_defect(problem))

    def convert_diagnostic(self, analysis: Analysis, diagnostic: Diagnostic) -> t.Diagnostic:
        """Return a finding as the client shows it; one in another file is shown at the `use` of that file."""
        span, line = diagnostic.span, (diagnostic.line or 1) - 1
        related = [
            t.DiagnosticRelatedInformation(self.locate_span(place.span), place.message) for place in diagnostic.related
        ]
        if span is not None and span.source.path == analysis.path:
            place = self.convert_span(analysis.lines, span)
        else:
            if span is not None:
                related.append(t.DiagnosticRelatedInformation(self.locate_span(span), diagnostic.message))
                stem = Path(span.source.path).stem
                uses = (n for n, text in enumerate(analysis.lines) if text.startswith("use ") and stem in text)
                line = next(uses, 0)
            end = len(analysis.lines[line]) if line < len(analysis.lines) else 0
            place = t.Range(t.Position(line, 0), t.Position(line, end))
        page = find_resource("grammar").parent / diagnostic.url.partition("#")[0]
        href = f"{page.as_uri()}#{diagnostic.code.lower()}"
        return t.Diagnostic(
            place,
            diagnostic.message + (f"\nhint: {diagnostic.hint}" if diagnostic.hint else ""),
            _SEVERITIES[diagnostic.severity],
            diagnostic.code,
            t.CodeDescription(href) if page.is_file() else None,
            "archline",
            related_information=related or None,
        )

    async def derive_costs(self, analysis: Analysis, node: s.Algorithm, subject: str = "costs") -> Answer | None:
        """Ask the worker about an algorithm of a document without errors; None if there is no answer any more."""
        assert analysis.module is not None
        key = make_algorithm_key(analysis.module, node)
        overlay = tuple((str(path), text) for path, text in analysis.overlay.items())
        question = Question(analysis.path, analysis.text, overlay, analysis.version, node.name, subject, key)
        answer = await self.worker.find_answer(question)
        if answer is not None and answer.defect:
            self.log_defect(answer.defect)
        return answer

    def make_edit(self, analysis: Analysis, text: str) -> list[t.TextEdit]:
        """Return the edit that replaces the text of a document; none if it is the same."""
        end = t.Position(len(analysis.lines), 0)
        return [] if text == analysis.text else [t.TextEdit(t.Range(t.Position(0, 0), end), text)]


@handle_request(t.INITIALIZED)
async def start_worker(server: ArchlineServer, params: Any) -> None:
    """Start the process that derives costs before the first question."""
    await asyncio.get_running_loop().run_in_executor(None, server.worker.start_process)


@handle_request(t.INITIALIZE)
async def read_options(server: ArchlineServer, params: t.InitializeParams) -> None:
    """Read the initialization options: `inlayHints`, true by default."""
    options = params.initialization_options
    server.shows_hints = not (isinstance(options, dict) and options.get("inlayHints") is False)


@handle_request(t.SHUTDOWN)
async def stop_worker(server: ArchlineServer, params: Any) -> None:
    """Stop the process that derives costs."""
    server.worker.stop_process()


@handle_request(t.TEXT_DOCUMENT_DID_OPEN)
@handle_request(t.TEXT_DOCUMENT_DID_CHANGE)
@handle_request(t.TEXT_DOCUMENT_DID_SAVE)
async def read_document(server: ArchlineServer, params: Any) -> None:
    """Take over the text of an opened, changed or saved document, and check it and its users."""
    document = server.workspace.get_text_document(params.text_document.uri)
    path = to_fs_path(document.uri) or document.uri
    uris = server.documents.set_text(document.uri, path, document.source, document.version or 0)
    server.schedule_checks(uris)


@handle_request(t.TEXT_DOCUMENT_DID_CLOSE)
async def close_document(server: ArchlineServer, params: t.DidCloseTextDocumentParams) -> None:
    """Remove the findings of a closed document, and check the documents that use its file."""
    uri = params.text_document.uri
    server.schedule_checks(server.documents.remove_text(uri))
    server.text_document_publish_diagnostics(t.PublishDiagnosticsParams(uri, []))


@handle_request(t.TEXT_DOCUMENT_HOVER)
async def describe_position(server: ArchlineServer, params: t.HoverParams) -> t.Hover | None:
    """Describe the name under the cursor, and what the statement of its line costs in one call."""
    analysis, line, word = server.read_word(params)
    if analysis is None or analysis.latest is None:
        return None
    module = analysis.latest
    parts: list[str] = []
    algorithm = analysis.find_algorithm(line)
    local = list_declarations(module, algorithm).get(word) if algorithm is not None else None
    callee = module.visible.get(word) or module.externs.get(word)
    if local is not None:
        parts.append(f"{local.kind}\n```archline\n{local.text}\n```")
    elif callee is not None:
        parts.append(f"```archline\n{format_signature(callee)}\n```")
        parts += [callee.doc] if isinstance(callee, s.Algorithm) and callee.doc else []
    if analysis.module is not None and algorithm is not None and word == algorithm.name:
        answer = await server.derive_costs(analysis, algorithm)
        parts.append("" if answer is None else answer.problem or format_costs(answer))
    elif analysis.module is not None and algorithm is not None and line > algorithm.head.end_line:
        answer = await server.derive_costs(analysis, algorithm)
        amounts = {} if answer is None else answer.lines.get(line - algorithm.span.line, {})
        parts += ["in one call: " + ", ".join(f"{metric} `{text}`" for metric, text in amounts.items())] * bool(amounts)
    value = "\n\n".join(filter(None, parts))
    return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, value)) if value else None


def format_costs(answer: Answer) -> str:
    """Return the costs of an algorithm as a Markdown table, with their growth."""
    rows = [f"| {metric} | `{cost.text}` | {cost.growth or ''} |" for metric, cost in answer.costs.items()]
    return "\n".join(("| cost | in one call | growth |", "|---|---|---|", *rows))


@handle_request(t.TEXT_DOCUMENT_CODE_LENS, t.CodeLensOptions(resolve_provider=True))
async def list_lenses(server: ArchlineServer, params: t.CodeLensParams) -> list[t.CodeLens]:
    """List a lens for each cost of each algorithm, and one for its claims; their texts are derived when shown."""
    uri = params.text_document.uri
    analysis = server.documents.analyse(uri)
    lenses: list[t.CodeLens] = []
    for node in () if analysis is None else analysis.algorithms:
        place = server.convert_span(node.span.source.written_lines, node.name_span)
        subjects = [
            "flops",
            "work",
            "span",
            *(["words", "messages"] if node.grid else []),
            *["claims"][: len(node.ensures)],
        ]
        lenses += [t.CodeLens(place, data=[uri, node.name, subject]) for subject in subjects]
    return lenses


@handle_request(t.CODE_LENS_RESOLVE)
async def describe_lens(server: ArchlineServer, lens: t.CodeLens) -> t.CodeLens:
    """Write the text of a lens: a cost with its growth, or how many claims hold and fail."""
    assert lens.data is not None
    uri, name, subject = lens.data
    analysis, title = server.documents.analyse(uri), ""
    node = None if analysis is None or analysis.module is None else analysis.module.algorithms.get(name)
    if analysis is not None and node is not None:
        answer = await server.derive_costs(analysis, node, "claims" if subject == "claims" else "costs")
        if answer is not None and subject == "claims":
            counts = {"holds": "hold", "fails": "fail", "unknown": "undecided"}
            listed = {counts.get(outcome, outcome): number for outcome, number in answer.outcomes.items()}
            title = "claims: " + ", ".join(f"{number} {word}" for word, number in listed.items()) if listed else ""
        elif answer is not None and subject in answer.costs:
            cost = answer.costs[subject]
            title = f"{subject} {cost.text}" + (f" is {cost.growth}" if cost.growth else "")
    lens.command = t.Command(title, "")
    return lens


@handle_request(t.TEXT_DOCUMENT_INLAY_HINT)
async def list_hints(server: ArchlineServer, params: t.InlayHintParams) -> list[t.InlayHint]:
    """Show the work of each line at its end."""
    analysis = server.documents.analyse(params.text_document.uri)
    hints: list[t.InlayHint] = []
    if analysis is None or not server.shows_hints:
        return hints
    for node in analysis.algorithms:
        first = node.span.line - 1
        if node.span.end_line <= params.range.start.line or first > params.range.end.line:
            continue
        answer = await server.derive_costs(analysis, node)
        for offset, amounts in {} if answer is None else answer.lines.items():
            if "work" in amounts and params.range.start.line <= first + offset <= params.range.end.line:
                ends = t.Position(first + offset, len(analysis.lines[first + offset]))
                at = server.workspace.position_codec.position_to_client_units(analysis.lines, ends)
                hints.append(t.InlayHint(at, f"work {amounts['work']}", padding_left=True))
    return hints


@handle_request(t.TEXT_DOCUMENT_COMPLETION, t.CompletionOptions(trigger_characters=["."]))
async def complete_text(server: ArchlineServer, params: t.CompletionParams) -> list[t.CompletionItem]:
    """List what can stand at the cursor."""
    analysis, line, _ = server.read_word(params)
    if analysis is None:
        return []
    position = server.workspace.position_codec.position_from_client_units(analysis.lines, params.position)
    return list_completions(analysis, line, analysis.lines[line - 1][: position.character])


@handle_request(t.TEXT_DOCUMENT_DEFINITION)
async def locate_definition(server: ArchlineServer, params: t.DefinitionParams) -> t.Location | None:
    """Return the place where the name under the cursor is defined."""
    analysis, line, word = server.read_word(params)
    span = None if analysis is None else find_definition(analysis, word, line)
    return None if span is None else server.locate_span(span)


@handle_request(t.TEXT_DOCUMENT_REFERENCES)
async def list_references(server: ArchlineServer, params: t.ReferenceParams) -> list[t.Location]:
    """List the places of the local name under the cursor."""
    analysis, line, word = server.read_word(params)
    return [] if analysis is None else [server.locate_span(span) for span in list_occurrences(analysis, word, line)]


@handle_request(t.TEXT_DOCUMENT_RENAME)
async def rename_local(server: ArchlineServer, params: t.RenameParams) -> t.WorkspaceEdit | None:
    """Rename a local name in its algorithm, unless the new name means something there."""
    analysis, line, word = server.read_word(params)
    if analysis is None or not is_renamable(analysis, word, params.new_name, line):
        return None
    places = [server.convert_span(analysis.lines, span) for span in list_occurrences(analysis, word, line)]
    return t.WorkspaceEdit({params.text_document.uri: [t.TextEdit(place, params.new_name) for place in places]})


@handle_request(t.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def list_symbols(server: ArchlineServer, params: t.DocumentSymbolParams) -> list[t.DocumentSymbol]:
    """List the algorithms of a document with the names that they declare."""
    analysis = server.documents.analyse(params.text_document.uri)
    symbols: list[t.DocumentSymbol] = []
    if analysis is None or analysis.module is None:
        return symbols
    for node in analysis.algorithms:
        names = list_declarations(analysis.module, node).items()
        inside = [
            t.DocumentSymbol(name, t.SymbolKind.Variable, place, place, declaration.text)
            for name, declaration in names
            for place in [server.convert_span(analysis.lines, declaration.span)]
        ]
        extent, at = (server.convert_span(analysis.lines, span) for span in (node.span, node.name_span))
        signature = format_signature(node).removeprefix(node.name)
        symbols.append(t.DocumentSymbol(node.name, t.SymbolKind.Function, extent, at, signature, children=inside))
    return symbols


@handle_request(t.TEXT_DOCUMENT_FORMATTING)
async def format_document(server: ArchlineServer, params: t.DocumentFormattingParams) -> list[t.TextEdit]:
    """Rewrite a document in canonical form, as `archline fmt` does; one with errors of syntax is left unchanged."""
    analysis = server.documents.analyse(params.text_document.uri)
    if analysis is None or (analysis.module is None and any(d.code < "AL2" for d in analysis.diagnostics)):
        return []
    with replace_files({str(path): text.encode() for path, text in analysis.overlay.items()}):
        return server.make_edit(analysis, format_source(Source(analysis.path, "\n".join(analysis.lines))))


@handle_request(
    t.TEXT_DOCUMENT_CODE_ACTION,
    t.CodeActionOptions([t.CodeActionKind.QuickFix, _FIX_ALL, t.CodeActionKind.RefactorRewrite]),
)
async def list_actions(server: ArchlineServer, params: t.CodeActionParams) -> list[t.CodeAction]:
    """List the fixes of findings in a range, all safe fixes of the document, and the claims that could be added."""
    analysis, uri = server.documents.analyse(params.text_document.uri), params.text_document.uri
    if analysis is None:
        return []
    actions: list[t.CodeAction] = []
    for finding in analysis.diagnostics:
        shown = server.convert_diagnostic(analysis, finding)
        edits = select_edits(edit for edit in finding.edits if edit.span.source.path == analysis.path)
        if (
            edits
            and shown.range.start.line <= params.range.end.line
            and params.range.start.line <= shown.range.end.line
        ):
            changes = [t.TextEdit(server.convert_span(analysis.lines, edit.span), edit.text) for edit in edits]
            actions.append(
                t.CodeAction(
                    str(finding.hint),
                    t.CodeActionKind.QuickFix,
                    [shown],
                    finding.safe,
                    edit=t.WorkspaceEdit({uri: changes}),
                )
            )
    whole = server.make_edit(analysis, fix_text(analysis)) if analysis.diagnostics else []
    if whole:
        actions.append(t.CodeAction("make all safe fixes", _FIX_ALL, edit=t.WorkspaceEdit({uri: whole})))
    algorithm = analysis.find_algorithm(params.range.start.line + 1)
    if analysis.module is not None and algorithm is not None:
        answer = await server.derive_costs(analysis, algorithm)
        line, text = propose_ensures(algorithm, answer) if answer is not None else (0, "")
        at = t.Range(t.Position(line, 0), t.Position(line, 0))
        edit = t.WorkspaceEdit({uri: [t.TextEdit(at, text)]})
        actions += [
            t.CodeAction("add the derived costs as `ensures`", t.CodeActionKind.RefactorRewrite, edit=edit)
        ] * bool(text)
    return actions
