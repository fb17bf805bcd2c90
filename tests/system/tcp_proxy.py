"""A way to a real server on which things go wrong: answers come late, in halves, as nonsense or not at all."""

import asyncio
import contextlib
import socket
import struct
import threading

from harness import DEADLINE


class Proxy:
    """Passes bytes to 127.0.0.1:`target` and back. Any thread may change what happens on the way:

    delay     seconds for which answers are held up
    half      of the next bytes of an answer half passes, and then nothing more on that connection
    nonsense  a function that gives bytes without end, which are sent instead of asking the server; None: the server
    """

    def __init__(self, target):
        self.target = target
        self.delay, self.half, self.nonsense = 0.0, False, None
        self.accepted = self.broken = 0  # connections; those of which half an answer came
        self.sent = 0  # bytes of nonsense
        self._open = set()
        self._loop = asyncio.new_event_loop()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def reset(self):
        """Ends all connections by RST, whatever is under way on them."""
        self._do(self._reset)

    def stop(self):
        self._do(self._reset)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE)

    def _do(self, what):
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (what(), done.set()))
        assert done.wait(DEADLINE)

    def _reset(self):
        for writer in list(self._open):
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._listener))
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader, writer):
        self.accepted += 1
        self._open.add(writer)
        try:
            with contextlib.suppress(OSError):
                if self.nonsense is not None:
                    await self._talk(writer, self.nonsense)
                else:
                    await self._pass(reader, writer)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _talk(self, writer, nonsense):
        for data in nonsense():
            writer.write(data)
            await writer.drain()
            self.sent += len(data)
            await asyncio.sleep(0)

    async def _pass(self, reader, writer):
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        self._open.add(to_server)
        ways = [asyncio.ensure_future(self._questions(reader, to_server)),
                asyncio.ensure_future(self._answers(from_server, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._open.discard(to_server)
            to_server.close()

    @staticmethod
    async def _questions(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def _answers(self, reader, writer):
        """Each piece is due `delay` after it came, however many come meanwhile."""
        held = asyncio.Queue()

        async def let_go():
            while True:
                due, data = await held.get()
                await asyncio.sleep(due - self._loop.time())
                writer.write(data)
                await writer.drain()

        going = asyncio.ensure_future(let_go())
        try:
            while data := await reader.read(65536):
                if self.half:
                    held.put_nowait((self._loop.time() + self.delay, data[:len(data) // 2]))
                    self.broken += 1
                    await asyncio.Event().wait()  # silence
                held.put_nowait((self._loop.time() + self.delay, data))
        finally:
            going.cancel()
