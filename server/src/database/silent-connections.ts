import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type pg from 'pg'

/** What the driver doesn't declare: the connection with its socket, and that no query runs. */
interface ClientInternals {
  connection: EventEmitter & { stream: Socket }
  readyForQuery: boolean
}

/**
 * Ends a connection whose query gets no response for so long: PostgreSQL or its machine is lost. The query
 * fails, and the pool opens another connection; `query_timeout` would keep the silent one in the pool.
 */
export function endIfSilent(client: pg.ClientBase, milliseconds: number): void {
  const internals = internalsOf(client)
  internals.connection.stream.setTimeout(milliseconds, () => {
    if (!internals.readyForQuery) endConnection(client)
  })
}

/** Ends a connection whose other side may be silent; `end` would wait for it. */
export function endConnection(client: pg.ClientBase): void {
  internalsOf(client).connection.stream.destroy(new Error('the database did not respond in time'))
}

/** Calls `listener` with the SQLSTATE of each error that the server reports on a connection. */
export function onServerError(client: pg.ClientBase, listener: (code: string | undefined) => void): void {
  internalsOf(client).connection.on('errorMessage', ({ code }: { code?: string }) => listener(code))
}

function internalsOf(client: pg.ClientBase): ClientInternals {
  return client as unknown as ClientInternals
}
