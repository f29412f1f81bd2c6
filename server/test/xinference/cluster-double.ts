// Stands for the programs of Xinference: `supervisor -H ADDRESS --port PORT` or `worker -e URL -H ADDRESS`.
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { listen } from '../support/listen.ts'
import { startXinferenceSimulator } from './simulator/simulator.ts'

const joinPath = '/double/join'
const beatMs = 300
/** A supervisor misses a worker after so long. */
const lossMs = 2_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string', short: 'H', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    'supervisor-port': { type: 'string' },
    endpoint: { type: 'string', short: 'e', default: '' },
    'worker-port': { type: 'string', default: '0' },
  },
})
if (positionals[0] === 'supervisor') await runSupervisor()
else await runWorker()

async function runSupervisor(): Promise<void> {
  const beats = new Map<string, number>()
  const simulator = await startXinferenceSimulator({
    user: { username: 'berth', password: process.env['BERTH_SERVER_KEY'] ?? '' },
    workers: [],
    address: { host: values.host, port: Number(values.port) },
  })
  simulator.intercept = ({ path }) => {
    const [, ip, port] = new RegExp(`^${joinPath}/([\\d.]+)/(\\d+)$`).exec(path) ?? []
    if (ip === undefined) return undefined
    beats.set(ip, Date.now())
    if (!simulator.workers.some((worker) => worker.ip === ip)) {
      const memoryBytes = (16 - simulator.workers.length) * 2 ** 30
      simulator.workers.push({ ip, port: Number(port), gpus: [], memoryBytes })
    }
    return { status: 200 }
  }
  process.on('SIGTERM', () => void simulator.close().finally(() => process.exit(0)))
  for (;;) {
    await sleep(beatMs)
    for (const { ip } of simulator.workers) {
      if (Date.now() - (beats.get(ip) ?? 0) > lossMs) simulator.loseWorker(ip)
    }
  }
}

async function runWorker(): Promise<void> {
  const port = await listen(
    createServer((socket) => socket.on('error', () => {}).end()),
    Number(values['worker-port']),
    values.host,
  )
  process.on('SIGTERM', () => process.exit(0))
  for (;;) {
    await fetch(`${values.endpoint}${joinPath}/${values.host}/${port}`).catch(() => null)
    await sleep(beatMs)
  }
}
