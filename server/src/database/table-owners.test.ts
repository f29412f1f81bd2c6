import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const featuresFolder = join(import.meta.dirname, '../features')

/** What a feature reads of tables that another feature owns, mostly in a join, and why. */
const sharedReads: Readonly<Record<string, { tables: readonly string[]; why: string }>> = {
  audit: {
    tables: ['memberships'],
    why: 'the organizations whose admins see what a person does to their account',
  },
  billing: {
    tables: ['deployments', 'instances', 'teams', 'usage_buckets', 'users'],
    why: 'active deployments, instance types in use, usage that was not reported yet, names of teams and members',
  },
  deployments: { tables: ['users'], why: 'names and emails of owners' },
  domains: {
    tables: ['organizations', 'users'],
    why: 'the name and status of the organization of a domain, proven addresses',
  },
  endpoints: {
    tables: ['deployments'],
    why: 'whether a deployment uses an endpoint, names that are aliases',
  },
  installation: {
    tables: ['deployments'],
    why: 'whether an engine still uses a key derived from the old one',
  },
  invitations: {
    tables: ['mails', 'memberships', 'organizations', 'users'],
    why: 'the delivery of the email, whether the inviter may still invite, names',
  },
  'own-account': {
    tables: [
      'audit_log',
      'deployments',
      'identities',
      'invitations',
      'memberships',
      'organizations',
      'passkeys',
      'recovery_codes',
      'request_log',
      'sessions',
      'token_usage',
      'totp_factors',
      'users',
    ],
    why: "the export of a person's data",
  },
  members: {
    tables: ['invitations', 'memberships', 'passkeys', 'totp_factors', 'users'],
    why: 'the list of people: members, programs and whom an invitation awaits, and second factors',
  },
  metering: {
    tables: ['deployments', 'instances', 'organizations', 'teams', 'users'],
    why: 'owners of usage, names of teams, checks of spans against instances, requests of those who were erased',
  },
  operators: {
    tables: [
      'audit_log',
      'billing_accounts',
      'billing_events',
      'deployments',
      'instances',
      'mails',
      'memberships',
      'organizations',
      'secret_key_fingerprints',
      'usage_anomalies',
      'usage_buckets',
      'usage_reports',
      'users',
    ],
    why: 'what operators see and search for, `doctor`, gauges',
  },
  organizations: {
    tables: ['invitations', 'users'],
    why: 'names and emails of members, whether others may join',
  },
  'own-models': {
    tables: ['deployments'],
    why: 'whether a deployment uses a model, the file that an engine may download',
  },
  placement: { tables: ['deployments', 'instances'], why: 'how long the last starts of a variant took' },
  sessions: {
    tables: ['budgets', 'memberships', 'organizations', 'passkeys', 'team_members', 'totp_factors', 'users'],
    why: 'the viewer: organizations, roles, teams, and where a second factor is missing or a budget is exhausted',
  },
  'sign-in': { tables: ['users'], why: 'the account of an emailed link' },
  sso: { tables: ['users'], why: 'the account that is linked to an identity' },
  statistics: { tables: ['deployments', 'users'], why: 'deployments that are unknown, names of callers' },
  teams: { tables: ['memberships', 'users'], why: 'names and emails of members' },
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
  const allowed = Object.entries(sharedReads).map(([feature, { tables }]) => [feature, tables])
  expect(listForeignTables(reads)).toEqual(Object.fromEntries(allowed))
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
