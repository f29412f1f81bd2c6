import type { ColumnType, Kysely, Transaction } from 'kysely'

/** Every table by its name. Each feature adds its own in `tables.ts`; pg-boss has the schema `pgboss`. */
export interface Tables {}

/** A pool of connections or a transaction: the first parameter of every store function. */
export type Database = Kysely<Tables>
export type DatabaseTransaction = Transaction<Tables>

/** A timestamp that the database sets when an insert leaves it out. */
export type DefaultedTimestamp = ColumnType<Date, Date | undefined, Date>
