import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { managedSelector } from '../../src/adapters/model-runtime/kubernetes/names.ts'
import { createTestDatabase } from '../support/database.ts'
import { listen } from '../support/listen.ts'
import { readManifests } from '../support/manifests.ts'
import { spawnServer } from '../support/process.ts'

const run = promisify(execFile)
const chart = resolve(import.meta.dirname, '../../../deploy/helm/berth')

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-chart-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('the migration of the chart needs no right in the cluster', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const settings = readManifests().find(({ kind }) => kind === 'ConfigMap').data
  const server = spawnServer({
    ...settings,
    ROLE: 'migrate',
    DATA_DIR: await makeFolder(),
    DATABASE_URL: database.url,
    SECRET_KEY: 'x'.repeat(32),
    // A cluster without a token for this pod, and out of reach
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: '1',
  })
  expect(await server.exited, server.output()).toBe(0)
  expect(server.output()).toContain('database migrated')
})

/** Runs the program of the clean-up against a cluster that answers `statuses`. Returns the requests. */
async function runCleanUp(statuses: number[]): Promise<string[]> {
  const folder = await makeFolder()
  await writeFile(join(folder, 'token'), 'a-token')
  await writeFile(join(folder, 'namespace'), 'models')
  const requests: string[] = []
  const server = createServer(({ method, url, headers }, response) => {
    requests.push(`${method} ${decodeURIComponent(url ?? '')} ${headers.authorization}`)
    response.writeHead(statuses[requests.length - 1] ?? 500).end('{}')
  })
  onTestFinished(() => void server.close())
  const port = await listen(server)
  const program = (await readFile(join(chart, 'files/clean-up.mjs'), 'utf8'))
    .replace('/var/run/secrets/kubernetes.io/serviceaccount', folder)
    .replace('https://', 'http://')
  await run(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) },
  })
  return requests
}

test('the clean-up deletes the workloads of engines, also in a cluster without LeaderWorkerSet', async () => {
  const options = `?labelSelector=${managedSelector}&propagationPolicy=Background Bearer a-token`
  expect(await runCleanUp([200, 404])).toEqual([
    `DELETE /apis/apps/v1/namespaces/models/deployments${options}`,
    `DELETE /apis/leaderworkerset.x-k8s.io/v1/namespaces/models/leaderworkersets${options}`,
  ])
})

test('the clean-up fails, and is tried again, if the cluster refuses it', async () => {
  await expect(runCleanUp([403])).rejects.toThrow('/apis/apps/v1/namespaces/models/deployments')
})
