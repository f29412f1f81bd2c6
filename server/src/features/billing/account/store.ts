import { sql } from 'kysely'
import type { NotNull, Selectable, Updateable } from 'kysely'
import type { Config } from '../../../config/config.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import type { BillingAccountsTable } from './tables.ts'

export type BillingAccount = Selectable<BillingAccountsTable>
export type AccountChanges = Omit<
  Updateable<BillingAccountsTable>,
  'id' | 'organization_id' | 'lease_number' | 'leased_until' | 'updated_at'
>

/** The right to call the processor for an account. `number` is a fencing token: old ones can't write. */
export interface AccountLease {
  accountId: number
  number: number
}

/** Returns an organization's billing account; creates it on first use. */
export async function ensureAccount(
  db: Database,
  { billing }: Pick<Config, 'billing'>,
  organizationId: number,
  at: Date,
): Promise<BillingAccount> {
  const existing = await findAccountOf(db, organizationId)
  if (existing !== undefined) return existing
  await db
    .insertInto('billing_accounts')
    .values({
      organization_id: organizationId,
      currency: billing.currency,
      max_active_resources: billing.trialMaxActive,
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) => conflict.column('organization_id').doNothing())
    .execute()
  return getAccountOf(db, organizationId)
}

function findAccountOf(db: Database, organizationId: number): Promise<BillingAccount | undefined> {
  return selectAccounts(db).where('organization_id', '=', organizationId).executeTakeFirst()
}

export function getAccountOf(db: Database, organizationId: number): Promise<BillingAccount> {
  return selectAccounts(db).where('organization_id', '=', organizationId).executeTakeFirstOrThrow()
}

export function listAccountsOf(db: Database, organizationIds: readonly number[]): Promise<BillingAccount[]> {
  return selectAccounts(db)
    .where(sql<boolean>`organization_id = ANY(${organizationIds})`)
    .execute()
}

/** Locks an account's row until the transaction ends. */
export function lockAccount(transaction: DatabaseTransaction, id: number): Promise<BillingAccount> {
  return selectAccounts(transaction).where('id', '=', id).forUpdate().executeTakeFirstOrThrow()
}

export function findAccountByCustomer(db: Database, customerId: string): Promise<BillingAccount | undefined> {
  return selectAccounts(db).where('processor_customer_id', '=', customerId).executeTakeFirst()
}

/** Postpaid accounts with a customer at the processor. */
export function listPostpaidAccounts(db: Database): Promise<BillingAccount[]> {
  return selectAccounts(db)
    .where('billing_mode', '=', 'postpaid')
    .where('processor_customer_id', 'is not', null)
    .orderBy('id')
    .execute()
}

function selectAccounts(db: Database) {
  return db.selectFrom('billing_accounts').selectAll()
}

/** Replaces the customer id `before` and returns the stored one: a concurrent change wins. */
export async function setCustomer(
  db: Database,
  id: number,
  before: string | null,
  customerId: string,
  at: Date,
): Promise<string> {
  await db
    .updateTable('billing_accounts')
    .set({ processor_customer_id: customerId, updated_at: at })
    .where('id', '=', id)
    .where('processor_customer_id', 'is not distinct from', before)
    .execute()
  const { processor_customer_id: kept } = await selectAccounts(db)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return kept ?? customerId
}

/** Acquires the lease of an account for `seconds`; undefined when another process holds it. */
export function acquireLease(db: Database, id: number, seconds: number): Promise<BillingAccount | undefined> {
  return db
    .updateTable('billing_accounts')
    .set({
      lease_number: sql`lease_number + 1`,
      leased_until: sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`,
    })
    .where('id', '=', id)
    .where((where) =>
      where.or([where('leased_until', 'is', null), where('leased_until', '<', sql<Date>`clock_timestamp()`)]),
    )
    .returningAll()
    .executeTakeFirst()
}

export async function releaseLease(db: Database, lease: AccountLease): Promise<void> {
  await db
    .updateTable('billing_accounts')
    .set({ leased_until: null })
    .where('id', '=', lease.accountId)
    .where('lease_number', '=', lease.number)
    .execute()
}

/** Locks the account's row until the transaction ends; undefined when the lease is lost. */
export function lockLeasedAccount(
  transaction: DatabaseTransaction,
  lease: AccountLease,
): Promise<BillingAccount | undefined> {
  return selectAccounts(transaction)
    .where('id', '=', lease.accountId)
    .where('lease_number', '=', lease.number)
    .forUpdate()
    .executeTakeFirst()
}

/** Updates an account whose row is locked. */
export function updateAccount(
  transaction: DatabaseTransaction,
  id: number,
  changes: AccountChanges,
  at: Date,
): Promise<BillingAccount> {
  return transaction
    .updateTable('billing_accounts')
    .set({ ...changes, updated_at: at })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The current time by the database's clock. */
export async function readDatabaseClock(db: Database): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`SELECT clock_timestamp() AS at`.execute(db)
  return rows[0]!.at
}

/** The deployments of an organization that are neither failed nor terminated. */
export interface ActiveDeployments {
  count: number
  running: number
  /** The most instances that they may have, which count against the organization's limit */
  instances: number
}

/** Counts the active deployments of an organization. */
export async function countActive(db: Database, organizationId: number): Promise<ActiveDeployments> {
  return db
    .selectFrom('deployments')
    .select((select) => [
      select.fn.countAll<number>().as('count'),
      sql<number>`count(*) FILTER (WHERE status = 'running')`.as('running'),
      sql<number>`coalesce(sum(max_instances), 0)::integer`.as('instances'),
    ])
    .where('organization_id', '=', organizationId)
    .where('status', 'not in', ['failed', 'terminated'])
    .executeTakeFirstOrThrow()
}

/** The distinct instance types and regions of instances that are not released. */
export function listPlacedInstances(db: Database): Promise<{ instance_type: string; region: string }[]> {
  return db
    .selectFrom('instances')
    .select(['instance_type', 'region'])
    .distinct()
    .where('status', '<>', 'released')
    .where('instance_type', 'is not', null)
    .where('region', 'is not', null)
    .$narrowType<{ instance_type: NotNull; region: NotNull }>()
    .execute()
}
