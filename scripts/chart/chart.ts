// Renders the chart as the kustomize base and updates its schema; with --check, fails where these differ.
// Then checks the chart with `helm lint`, and what it renders with kubeconform. Needs Go and Python.
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chartFolder, describeRendering, renderedFile, schemaFile, updateSchema } from './describe-chart.ts'
import { findProgram, findSchemas, schemaVersion } from './programs.ts'

const run = promisify(execFile)
/** A value of each switch of the chart */
const everything = `
  ingress.enabled=true ingress.className=nginx ingress.tlsSecret=berth-tls
  monitoring.serviceMonitor=true monitoring.prometheusRule=true monitoring.dashboards=true
  monitoring.labels.release=prometheus modelsClaim=berth-models image.pullSecrets={registry}
  postgresql.enabled=true postgresql.storageClass=fast api.nodeSelector.pool=cpu`
  .trim()
  .split(/\s+/)
  .flatMap((value) => ['--set', value])

// First, because it needs no other program
await keep(schemaFile, updateSchema(await readFile(schemaFile, 'utf8')))
const [helm, kubeconform, schemas] = await Promise.all([
  findProgram('helm'),
  findProgram('kubeconform'),
  findSchemas(),
])
if (helm === null || kubeconform === null)
  throw new Error('Helm and kubeconform are built with Go. Install it.')

const rendered = await render('--no-hooks')
await keep(renderedFile, `${describeRendering()}\n${rendered.trim()}\n`)
for (const values of [[], everything]) {
  const { stdout } = await run(helm, ['lint', '--strict', chartFolder, ...values])
  if (values.length > 0) console.log(stdout.trim())
  await validate(await render(...values))
}

// What the schema must refuse: a secret, an unknown setting, a number that may be rounded, an unknown value
for (const value of ['SECRET_KEY=x', 'PUBLIK_URL=x', 'DATABASE_POOL_SIZE=5'].map(
  (each) => `settings.${each}`,
)) {
  await refuse(value)
}
await refuse('worker.replica=3')

async function refuse(value: string): Promise<void> {
  const outcome = await render('--set', value).catch((error: Error) => error.message)
  if (!outcome.includes("values don't meet the specifications")) throw new Error(`The chart takes ${value}.`)
}

async function render(...options: string[]): Promise<string> {
  const args = ['template', 'berth', chartFolder, '--namespace', 'berth', ...options]
  return (await run(helm!, args, { maxBuffer: 2 ** 24 })).stdout
}

async function validate(objects: string): Promise<void> {
  const location = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json')
  const args = ['-strict', '-summary', '-kubernetes-version', schemaVersion, '-schema-location', location]
  // The schemas of the Prometheus operator are its own.
  const child = run(kubeconform!, [...args, '-skip', 'ServiceMonitor,PrometheusRule'])
  child.child.stdin?.end(objects)
  console.log((await child).stdout.trim())
}

async function keep(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return
  if (process.argv.includes('--check')) throw new Error(`${path} is outdated: run \`npm run chart\`.`)
  await writeFile(path, text)
  console.log(`wrote ${path}`)
}
