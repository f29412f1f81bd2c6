import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const featuresFolder = join(import.meta.dirname, '../features')

/** Tables that a feature reads although another feature owns them. ARCHITECTURE.md explains each. */
const sharedReads: Readonly<Record<string, readonly string[]>> = {
  audit: ['memberships'],
  billing: ['deployments', 'instances', 'usage_buckets', 'users'],
  deployments: ['users'],
  installation: ['deployments'],
  invitations: ['mails', 'memberships', 'organizations', 'users'],
  members: [
    'audit_log',
    'deployments',
    'identities',
    'invitations',
    'memberships',
    'organizations',
    'passkeys',
    'recovery_codes',
    'sessions',
    'token_usage',
    'totp_factors',
    'users',
  ],
  metering: ['deployments', 'instances', 'users'],
  operators: [
    'audit_log',
    'billing_accounts',
    'billing_events',
    'deployments',
    'mails',
    'memberships',
    'organizations',
    'secret_key_fingerprints',
    'usage_anomalies',
    'usage_reports',
    'users',
  ],
  organizations: ['invitations', 'users'],
  'own-models': ['deployments'],
  placement: ['deployments', 'instances'],
  sessions: ['memberships', 'organizations', 'passkeys', 'totp_factors', 'users'],
  'sign-in': ['users'],
  sso: ['users'],
  statistics: ['deployments', 'users'],
}

/** The owner of each table: the feature whose `tables.ts` declares it. */
const owners = new Map(
  globSync('**/tables.ts', { cwd: featuresFolder }).flatMap((file) => {
    const declared = /interface Tables \{(?<rows>[^}]*)\}/.exec(read(file))?.groups?.rows ?? ''
    return [...declared.matchAll(/(\w+):/g)].map(([, table]) => [table!, featureOf(file)] as const)
  }),
)

const reads = [/(?:selectFrom|[jJ]oin)\(\s*'(\w+)/g, /\b(?:FROM|JOIN)\s+(?:ONLY\s+)?(\w+)/g]
const writes = [
  /(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*'(\w+)/g,
  /deleteOlder\(\w+, '(\w+)/g,
  /\b(?:INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\s+(\w+)/g,
]

test('every table of the schema has an owner', () => {
  const migrations = join(import.meta.dirname, '../../migrations')
  const created = globSync('*.sql', { cwd: migrations }).flatMap((file) =>
    [...readFileSync(join(migrations, file), 'utf8').matchAll(/CREATE TABLE (\w+)/g)].map(
      ([, table]) => table!,
    ),
  )
  expect(created.toSorted()).toEqual([...owners.keys()].toSorted())
})

test('no feature writes a table of another feature', () => {
  expect(listForeignTables(writes)).toEqual({})
})

test('features read tables of other features only where the list allows it', () => {
  expect(listForeignTables(reads)).toEqual(sharedReads)
})

/** The tables of other features that the statements of each feature name. */
function listForeignTables(patterns: readonly RegExp[]): Record<string, string[]> {
  const found: Record<string, Set<string>> = {}
  for (const file of globSync('**/*.ts', { cwd: featuresFolder })) {
    if (file.endsWith('.test.ts')) continue
    const source = read(file)
    const feature = featureOf(file)
    const tables = patterns.flatMap((pattern) => [...source.matchAll(pattern)].map(([, table]) => table!))
    for (const table of tables) {
      const owner = owners.get(table)
      if (owner !== undefined && owner !== feature) (found[feature] ??= new Set()).add(table)
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([feature, tables]) => [feature, [...tables].toSorted()]),
  )
}

function featureOf(file: string): string {
  return file.split('/')[0]!
}

function read(file: string): string {
  return readFileSync(join(featuresFolder, file), 'utf8')
}
