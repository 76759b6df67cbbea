"""The design that Strata started from, as a careful Python programmer would build it: an HTTP route
that turns a POST of NDJSON into one Parquet file before it answers 200. An ASGI application without a
framework, for uvicorn; each worker process has one in-memory DuckDB, a cursor of it per thread.

PEER_FOLDER names the folder the streams are in. PEER_THREADS: how many threads of a process land
batches. PEER_WRITER: how rows become a Parquet file, `copy` (an Arrow table, DuckDB's COPY) or
`pyarrow` (its own writer).
"""

import asyncio
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import orjson
import pyarrow
import pyarrow.parquet

FOLDER = os.environ["PEER_FOLDER"]
WRITER = os.environ.get("PEER_WRITER", "copy")
POOL = ThreadPoolExecutor(int(os.environ.get("PEER_THREADS", "4")))
DATABASE = duckdb.connect()
LOCAL = threading.local()
BODY_BYTES_MAX = 4 * 1024 * 1024


class BadBatch(Exception):
    pass


def cell(value):
    """A cell's text; nothing for null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return orjson.dumps(value).decode()
    return str(value)


def table_of(body):
    """The rows as an Arrow table in which every column is text."""
    columns = {}
    count = 0
    for line in body.split(b"\n"):
        if not line:
            continue
        record = orjson.loads(line)
        if not isinstance(record, dict):
            raise BadBatch("a line is no object")
        for name, value in record.items():
            texts = columns.get(name)
            if texts is None:
                texts = columns[name] = []
            if len(texts) < count:
                texts.extend([None] * (count - len(texts)))
            texts.append(cell(value))
        count += 1
    if count == 0:
        raise BadBatch("no record")
    for texts in columns.values():
        texts.extend([None] * (count - len(texts)))
    text = pyarrow.string()
    return pyarrow.table({name: pyarrow.array(texts, text) for name, texts in columns.items()})


def write_parquet(table, path):
    if WRITER == "pyarrow":
        pyarrow.parquet.write_table(table, path, compression="zstd", compression_level=1)
        return
    cursor = getattr(LOCAL, "cursor", None)
    if cursor is None:
        cursor = LOCAL.cursor = DATABASE.cursor()
    cursor.register("batch", table)
    cursor.execute(
        f"COPY (SELECT * FROM batch) TO '{path}' "
        "(FORMAT PARQUET, COMPRESSION zstd, COMPRESSION_LEVEL 1)"
    )
    cursor.unregister("batch")


def sync(path, flags=os.O_RDONLY):
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def land(stream, batch_id, body):
    """Stage, fsync, claim, fsync, rename, fsync: as many syncs as Strata's, in the same order."""
    folder = os.path.join(FOLDER, stream)
    data = os.path.join(folder, "data")
    staging = os.path.join(folder, "_tmp")
    landed = os.path.join(data, batch_id + ".parquet")
    if os.path.exists(landed):
        return 200, {"batch_id": batch_id, "replayed": True}
    os.makedirs(data, exist_ok=True)
    os.makedirs(staging, exist_ok=True)
    try:
        table = table_of(body)
    except (BadBatch, orjson.JSONDecodeError) as reason:
        return 400, {"detail": str(reason)}
    staged = os.path.join(staging, batch_id + ".parquet")
    write_parquet(table, staged)
    sync(staged)
    shard = os.path.join(folder, "ids", hashlib.sha256(batch_id.encode()).hexdigest()[:2])
    os.makedirs(shard, exist_ok=True)
    os.link(staged, os.path.join(shard, batch_id))
    sync(shard, os.O_RDONLY | os.O_DIRECTORY)
    os.rename(staged, landed)
    sync(data, os.O_RDONLY | os.O_DIRECTORY)
    return 200, {"batch_id": batch_id, "rows": table.num_rows, "replayed": False}


async def read_body(receive):
    pieces = []
    size = 0
    while True:
        message = await receive()
        piece = message.get("body", b"")
        size += len(piece)
        if size > BODY_BYTES_MAX:
            return None
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


async def answer(scope, receive):
    if scope["method"] == "GET":
        return 200, {}
    batch_id = dict(scope["headers"]).get(b"idempotency-key", b"").decode()
    if not batch_id or "/" in batch_id or batch_id.startswith("."):
        return 400, {"detail": "no id"}
    body = await read_body(receive)
    if body is None:
        return 413, {"detail": "too large"}
    stream = scope["path"].rsplit("/", 1)[-1]
    return await asyncio.get_running_loop().run_in_executor(POOL, land, stream, batch_id, body)


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    status, members = await answer(scope, receive)
    content = orjson.dumps(members)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
