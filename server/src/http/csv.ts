import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** True if the client requests CSV. */
export function wantsCsv(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').split(',').some((type) => type.trim().startsWith('text/csv'))
}

/** Streams items as CSV (RFC 4180). Escapes values that a spreadsheet would read as a formula. */
export function sendCsv<Item>(
  reply: FastifyReply,
  name: string,
  columns: readonly string[],
  items: AsyncIterable<Item> | Iterable<Item>,
  toRow: (item: Item) => Record<string, string | number | null>,
): FastifyReply {
  const rows = stringify({
    header: true,
    columns: [...columns],
    escape_formulas: true,
    record_delimiter: 'windows',
  })
  const read = Readable.from(items).map(toRow)
  read.on('error', (error) => rows.destroy(error))
  reply.raw.once('close', () => read.destroy())
  return reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}"`)
    .type('text/csv; charset=utf-8')
    .send(read.pipe(rows))
}
