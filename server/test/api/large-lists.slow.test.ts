import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createCast } from '../support/organizations.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const deployments = '/api/v1/model-deployments'
const people = '/v1/organization/people'

let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
let pool: pg.Pool
/**
 * 10,000 deployments of 1,000 people in an organization, a third of them shared, all with usage. Another
 * organization has 30,000.
 */
beforeAll(async () => {
  server = await startTestServer({ runtime: createScriptedRuntime('http://127.0.0.1:1'), worker: false })
  cast = await createCast(server)
  expect((await cast.member.post(deployments, { model_name: 'berth-tiny' })).status).toBe(201)
  pool = new pg.Pool({ connectionString: server.application.config.databaseUrl! })
  await pool.query(`
    WITH added AS (
      INSERT INTO users (email, name, current_organization_id)
      SELECT 'person' || n || '@many.example', 'Person ' || n, organization_id
      FROM deployments, generate_series(1, 1000) AS n RETURNING id, current_organization_id
    )
    INSERT INTO memberships (user_id, organization_id, role) SELECT id, current_organization_id, 'member' FROM added`)
  await pool.query(`
    INSERT INTO deployments (id, user_id, organization_id, shared_with, alias, model_name, model_format,
      model_size_in_billions, quantization, inference_model_uid, variant, desired_state, status, created_at,
      updated_at, status_changed_at)
    SELECT made.id, users.id, organization_id, CASE WHEN n % 3 = 0 THEN '"organization"'::jsonb END, 'svc-' || n, model_name,
      model_format, model_size_in_billions, quantization, 'dep-' || made.id, variant, 'ended', 'failed',
      now() - n * interval '1 minute', now(), now()
    FROM deployments, generate_series(1, 10000) AS n,
      LATERAL (SELECT gen_random_uuid() AS id, n AS made_for) AS made,
      LATERAL (SELECT id FROM users WHERE email = 'person' || (made_for % 1000 + 1) || '@many.example') AS users`)
  await pool.query(
    `
    INSERT INTO deployments (id, user_id, organization_id, model_name, model_format, model_size_in_billions, quantization,
      inference_model_uid, variant, desired_state, status, created_at, updated_at, status_changed_at)
    SELECT made.id, owner.id, current_organization_id, model_name, model_format, model_size_in_billions, quantization,
      'dep-' || made.id, variant, 'ended', 'failed', now(), now(), now()
    FROM (SELECT * FROM deployments WHERE alias IS NULL) AS model, generate_series(1, 30000) AS n,
      LATERAL (SELECT gen_random_uuid() AS id, n AS made_for) AS made,
      (SELECT id, current_organization_id FROM users WHERE email = $1) AS owner`,
    [cast.stranger.email],
  )
  await pool.query(`
    INSERT INTO token_usage (deployment_id, organization_id, user_id, model_name, hour, requests, input_tokens, output_tokens)
    SELECT id, organization_id, user_id, model_name, date_trunc('hour', now(), 'UTC') - n * interval '1 hour',
      substr(alias, 5)::int, 1, 1
    FROM deployments, generate_series(0, 9) AS n WHERE alias IS NOT NULL`)
  await pool.query(`
    INSERT INTO usage_buckets (organization_id, deployment_id, meter, hour, dimensions, quantity, price_key, service_key,
      display_name, unit_amount, currency, sealed_at)
    SELECT organization_id, id, 'gpu_instance_seconds', date_trunc('hour', now(), 'UTC') - n * interval '1 hour', '{}',
      substr(alias, 5)::int, 'key', 'compute', 'CPU', 0.001, 'usd', now()
    FROM deployments, generate_series(0, 9) AS n WHERE alias IS NOT NULL`)
  await pool.query('ANALYZE')
})
afterAll(async () => {
  await pool.end()
  await server.close()
})

interface Statement {
  text: string
  values: unknown[]
}

/** The statements of a request about these tables, apart from those that find its session. */
async function watch<Result>(
  tables: RegExp,
  run: () => Promise<Result>,
): Promise<{ result: Result; statements: Statement[] }> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const result = await run()
    const statements = query.mock.calls.flatMap(([text, values]: unknown[]) =>
      typeof text === 'string' && Array.isArray(values) && tables.test(text) && !text.includes('sessions')
        ? [{ text, values }]
        : [],
    )
    return { result, statements }
  } finally {
    query.mockRestore()
  }
}

/** The tables that a statement reads row by row. */
async function findScanned({ text, values }: Statement): Promise<string[]> {
  const { rows } = await pool.query(`EXPLAIN (FORMAT JSON) ${text}`, values)
  const plan = JSON.stringify(rows[0]['QUERY PLAN'])
  return [...plan.matchAll(/"Node Type":"Seq Scan"[^{}]*?"Relation Name":"(\w+)"/g)].map((match) => match[1]!)
}

test.each([
  'q=svc-4321',
  'scope=callable&q=svc-432',
  'scope=callable&active=true&counts=true',
  'scope=organization&q=svc-4321&counts=true',
  'scope=organization&q=person77@many.example',
  'scope=organization&status=failed&sort=name&counts=true',
  'scope=organization&sort=-requests',
  'scope=organization&sort=-cost',
])('of 10,000 deployments, a page of %s takes two statements with an index', async (query) => {
  const { result, statements } = await watch(/from "deployments"|deployment_counts/, () =>
    cast.admin.get(`${deployments}?limit=50&${query}`),
  )
  expect(result.status).toBe(200)
  expect(result.body.items.length).toBeLessThanOrEqual(50)
  // Owners, instances and loads of the page's rows are read by their keys.
  expect(statements.length).toBeLessThanOrEqual(2)
  for (const statement of statements)
    expect(await findScanned(statement), statement.text).not.toContain('deployments')
})

test('a search among 10,000 finds the one, for its owner’s colleagues if it is shared', async () => {
  const find = async (client: typeof cast.admin, query: string) => {
    const { body } = await client.get(`${deployments}?${query}&limit=50`)
    return body.items.map(({ alias }: { alias: string }) => alias)
  }
  expect(await find(cast.admin, 'scope=organization&q=svc-4321')).toEqual(['svc-4321'])
  expect(await find(cast.member, 'scope=callable&q=SVC-4321')).toEqual(
    ['svc-4321'].filter(() => 4321 % 3 === 0),
  )
  expect(await find(cast.member, 'scope=callable&q=SVC-4320')).toEqual(['svc-4320'])
  expect((await find(cast.admin, 'scope=organization&sort=-cost'))[0]).toBe('svc-10000')
  expect((await find(cast.admin, 'scope=organization&sort=-requests'))[0]).toBe('svc-10000')
})

test('the use of 100 of 10,000 deployments takes three statements with an index', async () => {
  const { body } = await cast.admin.get(`${deployments}?scope=organization&limit=100`)
  const ids = body.items.map(({ id }: { id: string }) => id)
  const { result, statements } = await watch(/deployments|usage|minutes/, () =>
    cast.admin.get(`${deployments}/summary?ids=${ids.join()}`),
  )
  expect(result.body.items).toHaveLength(100)
  expect(statements.map(({ text }) => text)).toHaveLength(3)
  const large = ['deployments', 'token_usage', 'usage_buckets']
  for (const statement of statements) {
    for (const table of await findScanned(statement)) expect(large, statement.text).not.toContain(table)
  }
})

test.each([
  'q=person777',
  'q=many.example&role=member&sort=-last_active_at',
  'kind=member&offset=500',
  'sort=kind&offset=500',
])('of 1,000 people, a page of %s takes two statements with an index', async (query) => {
  const { result, statements } = await watch(/FROM memberships/, () =>
    cast.admin.get(`${people}?limit=50&${query}`),
  )
  expect(result.status).toBe(200)
  expect(result.body.items.length).toBeGreaterThan(0)
  expect(result.body.items.length).toBeLessThanOrEqual(50)
  expect(statements.map(({ text }) => text)).toHaveLength(2)
})
