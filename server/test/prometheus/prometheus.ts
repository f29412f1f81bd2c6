import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../../src/base/free-port.ts'
import { waitUntil } from '../support/process.ts'

/** True if this machine has the programs of Prometheus. */
export function hasPrometheus(): boolean {
  try {
    for (const program of ['prometheus', 'promtool'])
      execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts a Prometheus that scrapes a host of each namespace every second. Returns its address. */
export async function startPrometheus(
  targets: Readonly<Record<string, string>>,
  rules: string,
  cleanup: AsyncDisposableStack,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-prometheus-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const static_configs = Object.entries(targets).map(([namespace, host]) => ({
    targets: [host],
    labels: { namespace },
  }))
  const job = { job_name: 'berth', static_configs }
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [job],
  }
  const file = join(folder, 'prometheus.json')
  await writeFile(file, JSON.stringify(config))
  const address = `127.0.0.1:${await findFreePort()}`
  const options = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}`,
    `--web.listen-address=${address}`,
  ]
  const child = spawn('prometheus', options, { stdio: 'ignore' })
  const exited = new Promise((ended) => child.once('exit', ended))
  cleanup.defer(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = `http://${address}`
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true
  await waitUntil(isReady, 60_000, 'Prometheus')
  return url
}
