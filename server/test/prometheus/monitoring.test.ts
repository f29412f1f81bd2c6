import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { hasPrometheus, startPrometheus } from './prometheus.ts'

const deployFolder = resolve(import.meta.dirname, '../../../deploy')
const alertsFile = join(deployFolder, 'prometheus/alerts.yaml')
const alertTestsFile = join(deployFolder, 'prometheus/alerts.test.yaml')
const rules: { alert: string; expr: string; labels: { severity: string } }[] = parse(
  readFileSync(alertsFile, 'utf8'),
).groups.flatMap((group: any) => group.rules)
const dashboards = readdirSync(join(deployFolder, 'grafana')).map((file) => ({
  file,
  ...JSON.parse(readFileSync(join(deployFolder, 'grafana', file), 'utf8')),
}))
const queries: { title: string; expr: string }[] = dashboards.flatMap(({ file, panels }) =>
  panels.flatMap(({ title, targets }: any) =>
    targets.map(({ expr }: any) => ({ title: `${file}: ${title}`, expr })),
  ),
)

let server: TestServer
let client: Client
let deploymentId: string
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
  deploymentId = (await deploy(client)).id
  await simulateGpus()
})
afterAll(() => server?.close())

const gibibyte = 2 ** 30

/** Gives the host two GPUs: the deployment uses 5 GiB of the first, and others 2 GiB of each. */
async function simulateGpus(): Promise<void> {
  const { db, runtimes } = server.application
  const { id: engineId } = await db
    .selectFrom('instances')
    .select('id')
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  const gpu = { name: 'NVIDIA L4', totalBytes: 24 * gibibyte, othersBytes: 2 * gibibyte }
  runtimes.hostEngines!.measureGpus = async () => [
    { ...gpu, id: 'GPU-5c2d8f1a', utilization: 0.75, engines: [{ engineId, usedBytes: 5 * gibibyte }] },
    { ...gpu, id: 'GPU-90cc3e07', utilization: null, engines: [] },
  ]
}

const readMetrics = async () => (await createClient(server.url).get<string>('/metrics')).body

/** Sends a chat, and another one whose caller leaves. */
async function chat(): Promise<void> {
  const send = (init: { stream: boolean; signal?: AbortSignal }) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie: client.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({
        model: deploymentId,
        messages: [{ role: 'user', content: 'Hi' }],
        max_tokens: init.stream ? 512 : 8,
        stream: init.stream,
      }),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    })
  expect((await send({ stream: false })).status).toBe(200)
  const leave = new AbortController()
  const { body } = await send({ stream: true, signal: leave.signal })
  await body!.getReader().read()
  leave.abort()
}

/** The metrics that an expression names, without the suffixes of histograms */
function listNames(expression: string): string[] {
  return [...expression.matchAll(/\b(?:berth|nodejs|process)_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  )
}

test('every metric that alerts and dashboards name exists, and they name each of Berth’s', async () => {
  const existing = [...(await readMetrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  const named = [...rules, ...queries].flatMap(({ expr }) => listNames(expr))
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter((name) => !existing.includes(name))).toEqual([])
  const own = existing.filter((name) => name.startsWith('berth_'))
  expect(own.filter((name) => !named.includes(name))).toEqual([])
})

test('`/metrics` has deployments, instances and their price, and GPUs by deployment', async () => {
  // Gauges are absent where the database is slow.
  await vi.waitFor(
    async () => {
      const metrics = await readMetrics()
      expect(metrics).toMatch(/^berth_deployments\{status="running"\} 1$/m)
      expect(metrics).toMatch(/^berth_instances\{status="running",instance_type="local-cpu"\} 1$/m)
      expect(metrics).toMatch(/^berth_instances_price_per_hour\{instance_type="local-cpu"\} 0\.\d+$/m)
      const holder = `deployment="${deploymentId}",model="berth-tiny"`
      const nobody = 'deployment="",model=""'
      const expected = {
        memory_bytes: [
          `gpu="GPU-5c2d8f1a",name="NVIDIA L4"} ${24 * gibibyte}`,
          `gpu="GPU-90cc3e07",name="NVIDIA L4"} ${24 * gibibyte}`,
        ],
        memory_used_bytes: [
          `gpu="GPU-5c2d8f1a",${nobody}} ${2 * gibibyte}`,
          `gpu="GPU-90cc3e07",${nobody}} ${2 * gibibyte}`,
          `gpu="GPU-5c2d8f1a",${holder}} ${5 * gibibyte}`,
        ],
        utilization_ratio: [`gpu="GPU-5c2d8f1a",${holder}} 0.75`],
      }
      for (const [name, lines] of Object.entries(expected)) {
        const found = metrics.split('\n').filter((line) => line.startsWith(`berth_gpu_${name}{`))
        expect(found).toEqual(lines.map((line) => `berth_gpu_${name}{${line}`))
      }
    },
    { timeout: 30_000 },
  )
})

test('every alert has a test in which it fires, and one in which all is well', () => {
  const { tests } = parse(readFileSync(alertTestsFile, 'utf8'))
  const cases: { alertname: string; exp_alerts: unknown[] }[] = tests.flatMap(
    ({ alert_rule_test }: any) => alert_rule_test,
  )
  for (const { alert, labels } of rules) {
    const counts = cases.filter(({ alertname }) => alertname === alert).map((each) => each.exp_alerts.length)
    expect({ alert, counts: counts.toSorted((one, other) => one - other) }).toEqual({ alert, counts: [0, 1] })
    expect(['critical', 'warning']).toContain(labels.severity)
  }
})

describe.skipIf(!hasPrometheus())('with Prometheus, which this machine needs to have', () => {
  test('promtool: the rules are valid, and fire as their tests say', async () => {
    const run = promisify(execFile)
    await run('promtool', ['check', 'rules', alertsFile])
    const { stdout } = await run('promtool', ['test', 'rules', alertTestsFile])
    expect(stdout).toContain('SUCCESS')
  })

  test('every query of the dashboards returns data, and no alert fires', async () => {
    await using cleanup = new AsyncDisposableStack()
    const url = await startPrometheus({ berth: new URL(server.url).host }, alertsFile, cleanup)
    const ask = async (path: string) => (await (await fetch(`${url}/api/v1/${path}`)).json()) as any
    const count = async (expression: string) => {
      const { status, data, error } = await ask(`query?query=${encodeURIComponent(expression)}`)
      expect(`${status} ${error ?? ''}`, expression).toBe('success ')
      return data.result.length as number
    }
    for (const { title, expr } of queries) {
      const query = expr.replaceAll('$__rate_interval', '1m').replaceAll('$model', '.*')
      await expect
        .poll(
          async () => {
            await chat()
            return await count(query)
          },
          { message: `${title}: ${query}` },
        )
        .toBeGreaterThan(0)
    }
    const readRules = async (): Promise<{ name: string; health: string; state: string }[]> =>
      (await ask('rules')).data.groups.flatMap((group: any) => group.rules)
    await expect
      .poll(async () => (await readRules()).map(({ name, health }) => `${name} ${health}`).toSorted())
      .toEqual(rules.map(({ alert }) => `${alert} ok`).toSorted())
    expect((await readRules()).filter(({ state }) => state === 'firing')).toEqual([])
  })
})
