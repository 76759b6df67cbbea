// What a program of somebody else's reads: DuckDB's own client over a knowledgebase's file.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { batchesOf } from '../e2e/checker.mjs';
import { GenerationWatch, makeOld } from '../e2e/generations.mjs';
import { repository } from '../e2e/harness.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

/// The view of a stream, as SQL names it.
export const viewOf = (stream) => `raw_extracted.stream_${stream}`;

/// `read` over `file` as it opens it.
export async function fromOutside(file, read) {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return await read(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/// The rows of a stream, as checker.mjs has them.
export async function readOutside(connection, stream) {
  const reader = await connection.runAndReadAll(
      `SELECT * EXCLUDE (filename) FROM ${viewOf(stream)}`);
  return batchesOf(reader.columnNames(), reader.getRows());
}

async function viewsIn(connection) {
  const reader = await connection.runAndReadAll(
      "SELECT view_name FROM duckdb_views() WHERE schema_name = 'raw_extracted'");
  return reader.getRows().map(([name]) => `raw_extracted.${name}`).toSorted();
}

/// Also opens each generation once. `collected`: from then on it may be collected.
export class OpenedGenerations extends GenerationWatch {
  views = new Map();  // by number

  constructor(kbFolder, { collected }) {
    super(kbFolder);
    this.collected = collected;
  }

  async open() {
    this.look();
    for (const number of this.numbers.filter((one) => !this.views.has(one))) {
      const file = join(this.folder, `${`${number}`.padStart(6, '0')}.duckdb`);
      this.views.set(number, await fromOutside(file, viewsIn));
      if (this.collected) makeOld(file);
    }
  }
}
