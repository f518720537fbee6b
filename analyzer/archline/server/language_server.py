"""The language server returns an answer to each request of an editor."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lsprotocol import types as t
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from archline import __version__
from archline.api.texts import format_source
from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, locate_documentation
from archline.language.edits import select_edits
from archline.language.incremental import use_load_cache
from archline.language.source import replace_files
from archline.report.findings import CheckFinding
from archline.resources import find_resource
from archline.server.completion import list_completions
from archline.server.derivation import Answer, Question
from archline.server.documents import Analysis, Documents
from archline.server.edits import fix_text, propose_ensures
from archline.server.names import format_signature, list_callees, list_declarations
from archline.server.worker import CostWorker

DELAY = 0.05
"""The seconds between a change and the check of the text, in which further changes are awaited."""
MAX_SHOWN = 80
"""The maximum length of a cost above an algorithm."""
FIX_ALL = f"{t.CodeActionKind.SourceFixAll.value}.archline"
_SEVERITIES = {
    "error": t.DiagnosticSeverity.Error,
    "warning": t.DiagnosticSeverity.Warning,
    "note": t.DiagnosticSeverity.Information,
}
_OUTCOMES = {"holds": ("holds", "hold"), "fails": ("fails", "fail"), "unknown": ("is not decided", "are not decided")}
Handler = Callable[..., Any]
HANDLERS: dict[str, tuple[Handler, Any]] = {}


def handle_request(method: str, options: Any = None) -> Callable[[Handler], Handler]:
    """Make a coroutine the handler of a method for open documents."""

    def add_handler(handler: Handler) -> Handler:
        HANDLERS[method] = handler, options
        return handler

    return add_handler


class ArchlineServer(LanguageServer):
    """A language server with its open documents, and the process that derives costs."""

    def __init__(self) -> None:
        super().__init__("archline", __version__, text_document_sync_kind=t.TextDocumentSyncKind.Full)
        self.documents = Documents()
        self.worker = CostWorker()
        self.shows_hints = True
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._claims: dict[str, asyncio.Task[None]] = {}
        handlers: dict[str, Handler] = {
            t.INITIALIZE: self._start_worker,
            t.SHUTDOWN: lambda _: self.worker.stop_process(),
            t.TEXT_DOCUMENT_DID_CLOSE: self._close_document,
        }
        read = (t.TEXT_DOCUMENT_DID_OPEN, t.TEXT_DOCUMENT_DID_CHANGE, t.TEXT_DOCUMENT_DID_SAVE)
        for method, handler in {**handlers, **dict.fromkeys(read, self._read_document)}.items():
            # pygls gives functions attributes, which methods cannot have.
            self.feature(method)(functools.partial(handler))
        for method, (handler, options) in HANDLERS.items():
            self.feature(method, options)(functools.partial(self._handle_safely, method, handler))

    async def _handle_safely(self, method: str, handler: Handler, params: Any) -> Any:
        """Answer a request about an open document; log an internal error and answer nothing."""
        try:
            # A lens has the URI in its data.
            uri = params.data[0] if method == t.CODE_LENS_RESOLVE else params.text_document.uri
            analysis = self.documents.find_analysis(uri)
            return None if analysis is None else await handler(self, analysis, params)
        except Exception as problem:
            self.log_defect(method, problem)
            return None

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log an error outside of the answer to a request."""
        self.log_defect("the server", error)

    def log_defect(self, subject: str, problem: object) -> None:
        """Send the description of an internal error to the log of the editor."""
        text = f"{type(problem).__name__} {' '.join(str(problem).split())[:200]}"
        self.window_log_message(t.LogMessageParams(t.MessageType.Error, f"AL999: defect in {subject}: {text}"))

    def _start_worker(self, params: t.InitializeParams) -> None:
        """Read the option `inlayHints`, and start the process that derives costs before the first question."""
        options = params.initialization_options
        self.shows_hints = not (isinstance(options, dict) and options.get("inlayHints") is False)
        asyncio.get_running_loop().run_in_executor(None, self.worker.start_process)

    def _read_document(self, params: Any) -> None:
        document = self.workspace.get_text_document(params.text_document.uri)
        path = str(Path(to_fs_path(document.uri) or document.uri))
        text = path, document.source, document.version or 0, self.workspace.position_codec
        self._schedule_checks(self.documents.set_text(document.uri, *text))

    def _close_document(self, params: t.DidCloseTextDocumentParams) -> None:
        self._schedule_checks(self.documents.remove_text(params.text_document.uri))
        self.text_document_publish_diagnostics(t.PublishDiagnosticsParams(params.text_document.uri, []))

    def _schedule_checks(self, uris: Iterable[str]) -> None:
        """Check documents soon; a check that is already scheduled is put off."""
        for uri in uris:
            if uri in self._checks:
                self._checks[uri].cancel()
            self._checks[uri] = asyncio.ensure_future(self._check_document(uri))

    async def _check_document(self, uri: str) -> None:
        """Send the findings in a document, and cancel questions about an earlier text of it."""
        await asyncio.sleep(DELAY)
        try:
            analysis = self.documents.find_analysis(uri)
            if analysis is not None:
                self._publish_findings(analysis)
                self.worker.cancel_stale(analysis.path, set(analysis.keys.values()))
                if uri not in self._claims or self._claims[uri].done():
                    self._claims[uri] = asyncio.ensure_future(self._check_claims(uri))
        except Exception as problem:
            self.log_defect("diagnostics", problem)

    async def _check_claims(self, uri: str) -> None:
        """Check the claims of each algorithm of a document, across edits, and send the findings."""
        asked: set[int] = set()
        while (analysis := self.documents.find_analysis(uri)) is not None:
            node = next((node for node in analysis.algorithms if analysis.keys[node.name] not in asked), None)
            if node is None:
                return
            asked.add(analysis.keys[node.name])
            answer = await self.derive_costs(analysis, node, "claims")
            latest = self.documents.find_analysis(uri)
            if answer.findings and latest is not None:
                self._publish_findings(latest)

    def _publish_findings(self, analysis: Analysis) -> None:
        """Send the findings in a document, also those about claims that have been checked."""
        answers = [(node, self.worker.get_answer("claims", analysis.keys[node.name])) for node in analysis.algorithms]
        shown = [
            *(convert_diagnostic(analysis, diagnostic) for diagnostic in analysis.diagnostics),
            *(convert_finding(analysis, node, item) for node, answer in answers if answer for item in answer.findings),
        ]
        self.text_document_publish_diagnostics(t.PublishDiagnosticsParams(analysis.uri, shown, analysis.version))

    async def derive_costs(self, analysis: Analysis, node: s.Algorithm, subject: str = "costs") -> Answer:
        """Ask the worker about an algorithm of a document; after an internal error the answer is empty."""
        overlay = tuple((str(path), text) for path, text in analysis.overlay.items())
        about = (analysis.path, analysis.text, overlay, analysis.version, node.name, subject)
        answer = await self.worker.find_answer(Question(*about, analysis.keys[node.name]))
        if answer.defect:
            self.log_defect(f"the costs of {node.name}", answer.defect)
        return answer


def convert_diagnostic(analysis: Analysis, diagnostic: Diagnostic) -> t.Diagnostic:
    """Return a finding as the client shows it; one in another file is shown at the `use` of that file."""
    related = [
        t.DiagnosticRelatedInformation(analysis.locate_span(item.span), item.message) for item in diagnostic.related
    ]
    span, line = diagnostic.span, (diagnostic.line or 1) - 1
    place = t.Range(t.Position(line, 0), t.Position(line + 1, 0))
    if span is not None:
        location = analysis.locate_span(span)
        if location.uri == analysis.uri:
            place = location.range
        else:
            related.append(t.DiagnosticRelatedInformation(location, diagnostic.message))
            uses = [text.startswith("use ") and Path(span.source.path).stem in text for text in analysis.lines]
            line = uses.index(True) if True in uses else 0
            place = t.Range(t.Position(line, 0), t.Position(line + 1, 0))
    message = diagnostic.message + (f"\nhint: {diagnostic.hint}" if diagnostic.hint else "")
    return _make_diagnostic(place, message, diagnostic.severity, diagnostic.code, related)


def convert_finding(analysis: Analysis, node: s.Algorithm, finding: CheckFinding) -> t.Diagnostic:
    """Return a finding about an algorithm as the client shows it; its lines are counted from the header."""
    place, source = finding.place, node.span.source
    line, end_line = (node.span.line + number for number in (place.line, place.end_line))
    span = Span(source, line, place.column, end_line, place.end_column) if place.column else node.name_span
    return _make_diagnostic(analysis.locate_span(span).range, finding.message, finding.severity, finding.code)


def _make_diagnostic(
    place: t.Range, message: str, severity: str, code: str, related: list[t.DiagnosticRelatedInformation] | None = None
) -> t.Diagnostic:
    page = find_resource("grammar").parent / locate_documentation(code).partition("#")[0]
    link = t.CodeDescription(f"{page.as_uri()}#{code.lower()}") if page.is_file() else None
    shown = _SEVERITIES[severity]
    return t.Diagnostic(place, message, shown, code, link, "archline", related_information=related or None)


@handle_request(t.TEXT_DOCUMENT_HOVER)
async def describe_position(server: ArchlineServer, analysis: Analysis, params: t.HoverParams) -> t.Hover | None:
    """Describe the name under the cursor, and what the statement of its line costs in one call."""
    line, _, word = analysis.read_word(params.position)
    if analysis.latest is None:
        return None
    parts: list[str] = []
    node = analysis.find_algorithm(line)
    local, callee = list_declarations(analysis.latest, node).get(word), list_callees(analysis.latest).get(word)
    if local is not None:
        parts.append(f"{local.kind}\n```archline\n{local.text}\n```")
    elif callee is not None:
        parts += [f"```archline\n{format_signature(callee)}\n```", getattr(callee, "doc", None) or ""]
    if analysis.module is not None and node is not None and (word == node.name or line > node.head.end_line):
        answer = await server.derive_costs(analysis, node, "costs" if word == node.name else "lines")
        if word == node.name:
            parts.append(answer.problem or format_costs(answer))
        elif line - node.span.line in answer.lines:
            amounts = answer.lines[line - node.span.line].items()
            parts.append("in one call: " + ", ".join(f"{metric} `{text}`" for metric, text in amounts))
    value = "\n\n".join(filter(None, parts))
    return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, value)) if value else None


def format_costs(answer: Answer) -> str:
    """Return the costs of an algorithm as a Markdown table, with their growth."""
    rows = [f"| {metric} | `{cost.text}` | {cost.growth or ''} |" for metric, cost in answer.costs.items()]
    return "\n".join(("| cost | in one call | growth |", "|---|---|---|", *rows)) if rows else ""


@handle_request(t.TEXT_DOCUMENT_CODE_LENS, t.CodeLensOptions(resolve_provider=True))
async def list_lenses(server: ArchlineServer, analysis: Analysis, params: t.CodeLensParams) -> list[t.CodeLens]:
    """List a lens for each cost of each algorithm, and one for its claims; their texts are derived when shown."""
    return [
        t.CodeLens(analysis.locate_span(node.name_span).range, data=[analysis.uri, node.name, subject])
        for node in analysis.algorithms
        for subject in ("flops", "work", "span", *["words", "messages"] * bool(node.grid), "claims")
        if subject != "claims" or node.ensures
    ]


@handle_request(t.CODE_LENS_RESOLVE)
async def describe_lens(server: ArchlineServer, analysis: Analysis, lens: t.CodeLens) -> t.CodeLens:
    """Write the text of a lens: a cost with its growth, or how many claims hold and fail."""
    _, name, subject = lens.data or ("", "", "")
    node, title = next((node for node in analysis.algorithms if node.name == name), None), ""
    if node is not None:
        answer = await server.derive_costs(analysis, node, "claims" if subject == "claims" else "costs")
        counts = (f"{number} {_OUTCOMES[outcome][number > 1]}" for outcome, number in answer.outcomes.items())
        title = "claims: " + ", ".join(counts) if answer.outcomes else answer.problem
        if subject in answer.costs:
            cost = answer.costs[subject]
            growth = f" is {cost.growth}" if cost.growth else ""
            # Above an algorithm is one line; the cursor on its name shows all.
            text = cost.text if len(cost.text) <= MAX_SHOWN else "" if growth else f"{cost.text[:MAX_SHOWN]} ..."
            title = f"{subject} {text}{growth}".replace("  ", " ")
    lens.command = t.Command(title, "")
    return lens


@handle_request(t.TEXT_DOCUMENT_INLAY_HINT)
async def list_hints(server: ArchlineServer, analysis: Analysis, params: t.InlayHintParams) -> list[t.InlayHint]:
    """Show the work of each line at its end."""
    hints: list[t.InlayHint] = []
    first, last = params.range.start.line, params.range.end.line
    for node in analysis.algorithms if server.shows_hints else ():
        if node.span.line - 1 <= last and node.span.end_line > first:
            answer = await server.derive_costs(analysis, node, "lines")
            for line, amounts in answer.lines.items():
                number = node.span.line - 1 + line
                end = t.Position(number, analysis.codec.client_num_units(analysis.lines[number]))
                if "work" in amounts and first <= number <= last:
                    hints.append(t.InlayHint(end, f"work {amounts['work']}", padding_left=True))
    return hints


@handle_request(t.TEXT_DOCUMENT_COMPLETION, t.CompletionOptions(trigger_characters=["."]))
async def complete_text(_: ArchlineServer, analysis: Analysis, params: t.CompletionParams) -> list[t.CompletionItem]:
    """List what can stand at the cursor."""
    line, before, _word = analysis.read_word(params.position)
    return list_completions(analysis, line, before)


@handle_request(t.TEXT_DOCUMENT_DEFINITION)
async def find_definition(_: ArchlineServer, analysis: Analysis, params: t.DefinitionParams) -> t.Location | None:
    """Return the place where the name under the cursor is defined."""
    line, _before, word = analysis.read_word(params.position)
    if analysis.latest is None:
        return None
    local = list_declarations(analysis.latest, analysis.find_algorithm(line)).get(word)
    node = local or list_callees(analysis.latest).get(word)
    return None if node is None else analysis.locate_span(getattr(node, "name_span", node.span.head))


@handle_request(t.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def list_symbols(_: ArchlineServer, analysis: Analysis, params: Any) -> list[t.DocumentSymbol]:
    """List the algorithms of a document with the names that they declare."""
    symbols: list[t.DocumentSymbol] = []
    for node in analysis.algorithms:
        assert analysis.module is not None
        inside = [
            t.DocumentSymbol(name, t.SymbolKind.Variable, place, place, declaration.text)
            for name, declaration in list_declarations(analysis.module, node).items()
            for place in [analysis.locate_span(declaration.span).range]
        ]
        extent, at = (analysis.locate_span(span).range for span in (node.span, node.name_span))
        header = format_signature(node).removeprefix(node.name)
        symbols.append(t.DocumentSymbol(node.name, t.SymbolKind.Function, extent, at, header, children=inside))
    return symbols


@handle_request(t.TEXT_DOCUMENT_FORMATTING)
async def format_document(_: ArchlineServer, analysis: Analysis, params: Any) -> list[t.TextEdit]:
    """Rewrite a document in canonical form, as `archline fmt` does; one with errors of syntax is left unchanged."""
    try:
        with replace_files({str(path): text.encode() for path, text in analysis.overlay.items()}):
            return make_edit(analysis, format_source(Source(analysis.path, "\n".join(analysis.lines))))
    except ArchlineError:
        return []


def make_edit(analysis: Analysis, text: str) -> list[t.TextEdit]:
    """Return the edit that replaces the text of a document; none if it is equal."""
    whole = t.Range(t.Position(0, 0), t.Position(len(analysis.lines), 0))
    return [] if text == analysis.text else [t.TextEdit(whole, text)]


@handle_request(
    t.TEXT_DOCUMENT_CODE_ACTION,
    t.CodeActionOptions([t.CodeActionKind.QuickFix, FIX_ALL, t.CodeActionKind.RefactorRewrite]),
)
async def list_actions(server: ArchlineServer, analysis: Analysis, params: t.CodeActionParams) -> list[t.CodeAction]:
    """List the fixes of findings in a range, all safe fixes of the document, and the claims that could be added."""
    actions: list[t.CodeAction] = []

    def add_action(title: str, kind: str, edits: list[t.TextEdit], safe: bool | None = None) -> None:
        if edits:
            actions.append(t.CodeAction(title, kind, is_preferred=safe, edit=t.WorkspaceEdit({analysis.uri: edits})))

    first, last = params.range.start.line, params.range.end.line
    for finding in analysis.diagnostics:
        shown = convert_diagnostic(analysis, finding)
        if shown.range.start.line <= last and first <= shown.range.end.line:
            edits = select_edits(edit for edit in finding.edits if edit.span.source.path == analysis.path)
            changes = [t.TextEdit(analysis.locate_span(edit.span).range, edit.text) for edit in edits]
            add_action(str(finding.hint), t.CodeActionKind.QuickFix, changes, finding.safe)
    if analysis.diagnostics:
        with use_load_cache(server.documents.cache):
            add_action("make all safe fixes", FIX_ALL, make_edit(analysis, fix_text(analysis)))
    node = None if analysis.module is None else analysis.find_algorithm(first + 1)
    if node is not None:
        line, text = propose_ensures(node, await server.derive_costs(analysis, node))
        at = t.Range(t.Position(line, 0), t.Position(line, 0))
        title = "add the derived costs as `ensures`"
        add_action(title, t.CodeActionKind.RefactorRewrite, [t.TextEdit(at, text)] if text else [])
    return actions
