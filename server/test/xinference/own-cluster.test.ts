import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import getPort, { portNumbers } from 'get-port'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { adminSettings, runAdmin } from '../support/admin.ts'
import { registerClient } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import type { Account } from '../support/organizations.ts'
import { addPasskey } from '../support/passkeys.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const double = resolve(import.meta.dirname, 'cluster-double.ts')
const version = '4.1.0'
const address = '127.0.0.1'
const waiting = { timeout: 60_000, interval: 100 }

let server: TestServer
let operator: Account
let port: number
let other: TestServer
beforeAll(async () => {
  ;[server, other] = await Promise.all([startTestServer(), startTestServer()])
  await Promise.all([install(server), install(other)])
  operator = await registerClient(server.url)
  await run('operator', 'grant', operator.email)
  await addPasskey(operator, server.application.config.publicUrl.origin)
  port = await getPort({ host: address, port: portNumbers(20_000, 30_000) })
})
afterAll(async () => {
  await run('cluster', 'stop', '--force')
  await Promise.all([server.close(), other.close()])
})

const run = (...args: string[]) => runAdmin(adminSettings(server), args)
const start = () => run('cluster', 'start', '--address', address, '--port', String(port))

/** Makes the double an installation of `engines install`. */
async function install({ dataDirectory }: TestServer): Promise<void> {
  const folder = join(dataDirectory, `engines/xinference-${version}`)
  await mkdir(join(folder, 'bin'), { recursive: true })
  for (const [name, text] of [
    ['bin/python', `#!/bin/sh\nshift\nexec '${process.execPath}' '${double}' supervisor "$@"\n`],
    ['bin/xinference-worker', `#!/bin/sh\nexec '${process.execPath}' '${double}' worker "$@"\n`],
    ['berth-installation.json', '{}'],
  ] as const) {
    await writeFile(join(folder, name), text)
    await chmod(join(folder, name), 0o755)
  }
}

async function listMachines(): Promise<
  { address: string; state: string; instances: any[]; version: string }[]
> {
  return (await operator.get('/v1/installation/machines')).body.machines
}

async function waitForMachine(ip: string, state: string): Promise<number> {
  const since = performance.now()
  const isThere = async () =>
    expect(await listMachines()).toContainEqual(expect.objectContaining({ address: ip, state }))
  await vi.waitFor(isThere, waiting)
  return performance.now() - since
}

/** Starts the program of the printed command at another address of this host. */
function joinFrom(ip: string): ChildProcess {
  const worker = spawn(process.execPath, [double, 'worker', '-e', `http://${address}:${port}`, '-H', ip], {
    stdio: 'ignore',
  })
  onTestFinished(() => void worker.kill('SIGKILL'))
  return worker
}

async function readPid(name: string): Promise<number> {
  const text = await readFile(join(server.dataDirectory, `cluster/${name}/engine.json`), 'utf8')
  return (JSON.parse(text) as { pid: number }).pid
}

test('cluster start joins the running server, and prints how others join', async () => {
  expect((await run('cluster', 'status')).stdout).toBe('There is no cluster.\n')
  const { code, stdout, stderr } = await start()
  expect([code, stderr]).toEqual([0, ''])
  const join = `pipx run --spec 'xinference[llama-cpp]==${version}' xinference-worker -e http://${address}:${port} -H <address>`
  expect(stdout).toContain(join)
  expect(stdout).toContain(`the key protects port ${port} only`)
  expect(stdout).toContain('WireGuard or Tailscale')
  await waitForMachine(address, 'present')
  expect((await operator.get('/v1/installation/machines')).body).toMatchObject({
    runtimes: ['local', 'xinference'],
    machines: [{ address, runtime: 'xinference', version, cpu_count: 8, gpus: [], instances: [] }],
  })
  // Once more: the same cluster.
  expect(await start()).toMatchObject({ code: 0, stdout: expect.stringContaining(join) })
  expect(await run('cluster', 'start', '--port', String(port + 10))).toMatchObject({
    code: 1,
    stderr: `This installation's cluster runs at http://${address}:${port}. Run \`cluster stop\` first.\n`,
  })
  expect(await run('engines', 'remove', `xinference-${version}`)).toMatchObject({
    code: 1,
    stderr: `xinference-${version} runs this installation's cluster. Run \`cluster stop\` first.\n`,
  })
  expect((await run('cluster', 'status')).stdout).toContain(
    'Supervisor: running. Worker of this machine: running.',
  )
})

test('another installation is refused, and strangers have no key', async () => {
  const args = ['cluster', 'start', '--address', address, '--port', String(port)]
  expect(await runAdmin(adminSettings(other), args)).toMatchObject({
    code: 1,
    stderr: `Another installation runs the supervisor at http://${address}:${port}. A supervisor serves one installation of Berth. Stop the other one, or choose another port with --port.\n`,
  })
  expect((await runAdmin(adminSettings(other), ['cluster', 'status'])).stdout).toBe('There is no cluster.\n')
  expect((await fetch(`http://${address}:${port}/v1/models`)).status).toBe(401)
})

test('the programs survive the server, are found again, and come back after a loss', async () => {
  const before = await Promise.all(['supervisor', 'worker'].map(readPid))
  await server.restart({})
  await waitForMachine(address, 'present')
  expect(await Promise.all(['supervisor', 'worker'].map(readPid))).toEqual(before)
  for (const name of ['supervisor', 'worker']) {
    const pid = await readPid(name)
    process.kill(-pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await readPid(name)).not.toBe(pid), waiting)
  }
  await waitForMachine(address, 'present')
})

test('a machine joins and leaves: the page tells it within 5 s, and its deployment moves', async () => {
  const second = joinFrom('127.0.0.2')
  await waitForMachine('127.0.0.2', 'present')
  const wish = { model_name: 'berth-tiny', instance_type: 'xinference-cpu' }
  const created = await operator.post('/api/v1/model-deployments', wish)
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const { id } = created.body
  await waitForStatus(operator, id, 'running', waiting.timeout)
  const answer = await operator.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 4,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const place = async () => (await listMachines()).find(({ instances }) => instances.length > 0)?.address
  // The smallest machine with room
  await vi.waitFor(async () => expect(await place()).toBe('127.0.0.2'), waiting)
  expect(await run('cluster', 'stop')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('An instance has'),
  })
  second.kill('SIGKILL')
  expect(await waitForMachine('127.0.0.2', 'left')).toBeLessThan(5_000)
  await vi.waitFor(async () => expect(await place()).toBe(address), waiting)
  await operator.delete(`/api/v1/model-deployments/${id}`)
  await waitForStatus(operator, id, 'terminated', waiting.timeout)
})

test('cluster stop ends the programs, and the runtime rests', async () => {
  const pids = await Promise.all(['supervisor', 'worker'].map(readPid))
  expect(await run('cluster', 'stop')).toMatchObject({ code: 0, stdout: 'Stopped.\n' })
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  await vi.waitFor(async () => {
    const { body } = await operator.get('/v1/installation/machines')
    expect(body).toMatchObject({ runtimes: ['local'], machines: [] })
  }, waiting)
  expect((await run('cluster', 'stop')).stdout).toBe('There is no cluster.\n')
})

test.each([
  ['8.8.8.8', '8.8.8.8 is no IPv4 address of this machine.'],
  ['fd00::1', 'fd00::1 is no IPv4 address of this machine.'],
  ['nonsense', 'nonsense is no IPv4 address of this machine.'],
])('cluster start --address %s is refused', async (given, reason) => {
  const refused = await run('cluster', 'start', '--address', given)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) })
})
