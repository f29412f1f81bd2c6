import type { ColumnType, Kysely, Transaction } from 'kysely'

/**
 * Every table by its name. Each feature adds the tables it owns in its `tables.ts`; pg-boss keeps its own in
 * the schema `pgboss`.
 */
export interface Tables {}

/** A pool of connections or a transaction: the first parameter of every store function. */
export type Database = Kysely<Tables>
export type DatabaseTransaction = Transaction<Tables>

/** A timestamp that the database sets when an insert leaves it out. */
export type DefaultedTimestamp = ColumnType<Date, Date | undefined, Date>
