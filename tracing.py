"""Optional traces by OpenTelemetry: spans of requests, turns, requests to models and SQL statements.

Nothing of OpenTelemetry is imported before `begin`; until then spans do nothing. Spans hold routes, statuses, ids and
statements without their values, but neither texts of people nor who they are.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as OpenTelemetrySpan
    from opentelemetry.trace import SpanKind, Tracer

About = Mapping[str, str | int]
"""What is told of a span beside its name."""
SERVICE = "anaphora"
"""What the traces' resource is called unless OTEL_SERVICE_NAME says otherwise."""
_LONGEST_STATEMENT = 2_000
_SECONDS_TO_END = 2.0
log = logging.getLogger("anaphora.traces")
began_by: ContextVar[str | None] = ContextVar("began_by", default=None)
"""The id of the present request, or of the one that began the present turn, for what is logged of it."""


class Span(Protocol):
    """A timed operation."""

    def set_attribute(self, key: str, value: str | int) -> None:
        """Add an attribute."""

    def end(self) -> None:
        """End the span."""


class _NoSpan:
    """The span used while tracing is off."""

    def set_attribute(self, key: str, value: str | int) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Does nothing."""


class _FirstComplaint(logging.Filter):
    """Passes on the first line that the exporter logs of a collector that takes no spans, until it takes some again.

    The exporter itself logs a line for each of its attempts, every second or two.
    """

    def __init__(self) -> None:
        super().__init__()
        self._has_complained = False

    def filter(self, _record: logging.LogRecord) -> bool:
        """Whether the line is logged."""
        is_first, self._has_complained = not self._has_complained, True
        return is_first

    def taken(self) -> None:
        """The collector has taken spans."""
        if self._has_complained:
            self._has_complained = False
            log.info("the collector of OTEL_EXPORTER_OTLP_ENDPOINT takes traces again")


_NO_SPAN: Span = _NoSpan()
_NOTHING: AbstractContextManager[Span] = nullcontext(_NO_SPAN)
_provider: TracerProvider | None = None
tracer: Tracer | None = None
"""Makes spans; None while no traces are asked for. `statements` looks at it, since each statement pays for a call."""


def begin(endpoint: str | None) -> None:
    """Send the spans of this process to the collector at `endpoint`, by OTLP over HTTP; None turns tracing off.

    OpenTelemetry's own packages read its other variables, such as OTEL_EXPORTER_OTLP_HEADERS. Raises
    ModuleNotFoundError if they are not installed.
    """
    global _provider, tracer
    if endpoint is None:
        return
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource({"service.name": SERVICE}).merge(OTELResourceDetector().detect())
    _provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    _provider.add_span_processor(BatchSpanProcessor(_exporter(f"{endpoint}/v1/traces")))
    tracer = _provider.get_tracer(SERVICE)


def _exporter(address: str) -> SpanExporter:
    """Sends spans to `address`, and logs once that they are not taken, and once that they are again."""
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    complaint = _FirstComplaint()
    logger = logging.getLogger(trace_exporter.__name__)
    for former in [each for each in logger.filters if isinstance(each, _FirstComplaint)]:
        logger.removeFilter(former)
    logger.addFilter(complaint)

    class Exporter(trace_exporter.OTLPSpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = super().export(spans)
            if result is SpanExportResult.SUCCESS:
                complaint.taken()
            return result

    return Exporter(address)


def end() -> None:
    """Flush the remaining spans, for two seconds at most: an unreachable collector must not delay the shutdown."""
    global _provider, tracer
    provider, _provider, tracer = _provider, None, None
    if provider is not None:
        ending = threading.Thread(target=provider.shutdown, name="last-spans", daemon=True)
        ending.start()
        ending.join(_SECONDS_TO_END)


def is_on() -> bool:
    """Whether tracing is on."""
    return tracer is not None


def span(name: str, about: About | None = None) -> AbstractContextManager[Span]:
    """A span of the block; a child of the present span, and the parent of those that begin within it."""
    return _NOTHING if tracer is None else _current(tracer, name, about)


def request_span(name: str, about: About, *, traceparent: str | None) -> AbstractContextManager[Span]:
    """A span of an HTTP request. traceparent: the header by which a proxy names its own span."""
    return _NOTHING if tracer is None else _answering(tracer, name, about, traceparent)


def call_span(name: str, about: About | None = None) -> AbstractContextManager[Span]:
    """A span of a request to another service, also within a generator, whose context may change between steps."""
    return _NOTHING if tracer is None else _timed(tracer.start_span(name, kind=_client(), attributes=about))


def statement_span(sql: str, *, system: str) -> Span:
    """A span of an SQL statement; the caller ends it. Only statements of requests and turns have spans."""
    if tracer is None:
        return _NO_SPAN
    from opentelemetry.trace import get_current_span

    if not get_current_span().is_recording():
        return _NO_SPAN
    about: About = {"db.system.name": system, "db.query.text": sql[:_LONGEST_STATEMENT]}
    return tracer.start_span(sql.split(maxsplit=1)[0].upper(), kind=_client(), attributes=about)


@contextmanager
def of_request(request_id: str) -> Iterator[None]:
    """Within the block, what is logged, here and by threads that work for it, has this id."""
    token = began_by.set(request_id)
    try:
        yield
    finally:
        began_by.reset(token)


def context_of(request_id: str | None) -> Context:
    """A copy of the present context for the turn that this request began; None: for work of no request."""
    context = copy_context()
    context.run(began_by.set, request_id)
    return context


@contextmanager
def _current(tracer: Tracer, name: str, about: About | None, **more: Any) -> Iterator[Span]:
    from opentelemetry.trace import use_span

    begun = tracer.start_span(name, attributes=about, **more)
    with _timed(begun), use_span(begun, record_exception=False, set_status_on_exception=False):
        yield begun


@contextmanager
def _answering(tracer: Tracer, name: str, about: About, traceparent: str | None) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    parent = TraceContextTextMapPropagator().extract({} if traceparent is None else {"traceparent": traceparent})
    with _current(tracer, name, about, context=parent, kind=SpanKind.SERVER) as begun:
        yield begun


@contextmanager
def _timed(begun: OpenTelemetrySpan) -> Iterator[Span]:
    """End the span with the block. Only the type of an error is recorded: its message may quote a person."""
    from opentelemetry.trace import StatusCode

    try:
        yield begun
    except Exception as error:
        begun.set_status(StatusCode.ERROR, type(error).__name__)
        raise
    finally:
        begun.end()


def _client() -> SpanKind:
    from opentelemetry.trace import SpanKind

    return SpanKind.CLIENT
