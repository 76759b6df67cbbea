"""read.py READER FOLDER: a landed stream's rows, read in place by a program that knows nothing of
Strata (docs/SCALE.md), as one JSON list a line: the values of the columns in the order of the line
before them, which names them."""
import json
import sys


def polars(folder):
    import polars
    # The anchor names every column there is.
    schema = polars.read_parquet_schema(f'{folder}/.schema.parquet')
    rows = polars.scan_parquet(f'{folder}/**/*.parquet', schema=schema, missing_columns='insert')
    rows = rows.collect()
    return rows.columns, rows.rows()


def clickhouse(folder):
    import chdb
    answer = chdb.query(f"""
        SELECT * FROM file('{folder}/**.parquet', Parquet)
        SETTINGS schema_inference_mode = 'union', input_format_parquet_allow_missing_columns = 1
        """, 'JSONCompact')
    parsed = json.loads(str(answer))
    return [column['name'] for column in parsed['meta']], parsed['data']


def spark(folder):
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master('local[1]')
               .config('spark.ui.enabled', 'false')
               .config('spark.driver.bindAddress', '127.0.0.1')
               .config('spark.driver.host', '127.0.0.1')
               .config('spark.driver.memory', '512m').getOrCreate())
    rows = (session.read.option('mergeSchema', 'true').option('recursiveFileLookup', 'true')
            .parquet(folder))
    return rows.columns, [list(row) for row in rows.collect()]


columns, rows = {'polars': polars, 'clickhouse': clickhouse, 'spark': spark}[sys.argv[1]](
    sys.argv[2])
for line in [columns, *rows]:
    print(json.dumps(line))
