"""The process that derives costs is started before it is needed, and killed when its question is no longer asked."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections import Counter
from collections.abc import Collection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from archline.server.derivation import Answer, Question, answer_questions

MAX_ANSWERS = 1000
Key = tuple[str, int]
"""The subject of a question and its key."""


class CostWorker:
    """A process that answers questions one at a time, and the answers that it gave."""

    def __init__(self) -> None:
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._context.set_forkserver_preload(["archline.server.preload"])
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        # The process is started from threads, as that takes as long as to load its modules.
        self._starting = threading.Lock()
        self._turn = asyncio.Lock()
        self._answers: dict[Key, Answer] = {}
        self._tasks: dict[Key, asyncio.Task[Answer]] = {}
        self._askers: Counter[Key] = Counter()

    def start_process(self) -> Connection:
        """Start the process unless it runs, and return the connection to it."""
        with self._starting:
            if self._connection is None or self._process is None or not self._process.is_alive():
                connection, other_end = self._context.Pipe()
                process = self._context.Process(target=answer_questions, args=(other_end,), daemon=True)  # type: ignore[attr-defined]
                process.start()
                other_end.close()
                self._process, self._connection = process, connection
            return self._connection

    def stop_process(self) -> None:
        """Kill the process, and with it the derivation that it makes."""
        if self._process is not None:
            self._process.kill()
        self._process = self._connection = None

    async def find_answer(self, question: Question) -> Answer:
        """Return the answer to a question, which is empty if it became stale.

        When no request waits for it any more, it is cancelled.
        """
        key = question.subject, question.key
        if key in self._answers:
            return self._answers[key]
        task = self._tasks.get(key)
        if task is None or task.done():
            task = self._tasks[key] = asyncio.create_task(self._ask_process(question), name=question.path)
        self._askers[key] += 1
        try:
            await asyncio.wait([task])
        finally:
            self._askers[key] -= 1
            if not self._askers[key]:
                del self._askers[key]
                del self._tasks[key]
                task.cancel()
        return Answer() if task.cancelled() else task.result()

    def get_answer(self, subject: str, key: int) -> Answer | None:
        """Return the answer to a question if it is known."""
        return self._answers.get((subject, key))

    def cancel_stale(self, path: str, keys: Collection[int]) -> None:
        """Cancel the questions about a file whose key is not among those of its present text."""
        for (_, key), task in self._tasks.items():
            if task.get_name() == path and key not in keys:
                task.cancel()

    async def _ask_process(self, question: Question) -> Answer:
        async with self._turn:
            loop = asyncio.get_running_loop()
            connection = await loop.run_in_executor(None, self.start_process)
            try:
                connection.send(question)
                answer: Answer = await loop.run_in_executor(None, connection.recv)
            except BaseException:
                # A derivation cannot be interrupted, and its answer would be taken for that of the next question.
                self.stop_process()
                loop.run_in_executor(None, self.start_process)
                raise
        while len(self._answers) >= MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
        if not answer.defect:
            self._answers[question.subject, question.key] = answer
        return answer
