import { execFileSync, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { runningAsRoot } from '../../../src/base/account.ts'
import { adminSettings, runAdmin } from '../../support/admin.ts'
import { registerClient } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import type { Account } from '../../support/organizations.ts'
import { addPasskey } from '../../support/passkeys.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { copyWeights, describeChatModel, killTree } from './cluster.ts'

const version = process.env['TEST_XINFERENCE_VERSION'] ?? ''
const programs = process.env['TEST_XINFERENCE'] ?? ''
const [first, second] = ['10.77.0.1', '10.77.0.2']
const namespace = 'berth-second'
const port = 29_997
const waiting = { timeout: 400_000, interval: 500 }

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] })

/** Connects this host with a network namespace, in which the second machine's program runs. */
function openNamespace(): boolean {
  if (!runningAsRoot()) return false
  try {
    closeNamespace()
    ip('netns', 'add', namespace)
    ip('link', 'add', 'berth0', 'type', 'veth', 'peer', 'name', 'berth1', 'netns', namespace)
    ip('addr', 'add', `${first}/24`, 'dev', 'berth0')
    ip('link', 'set', 'berth0', 'up')
    ip('-n', namespace, 'addr', 'add', `${second}/24`, 'dev', 'berth1')
    for (const device of ['lo', 'berth1']) ip('-n', namespace, 'link', 'set', device, 'up')
    return true
  } catch {
    return false
  }
}

function closeNamespace(): void {
  for (const args of [
    ['link', 'del', 'berth0'],
    ['netns', 'del', namespace],
  ]) {
    try {
      ip(...args)
    } catch {
      // There is none.
    }
  }
}

// The commands print the tried version, which others don't join.
describe.skipIf(!version.startsWith('4.') || !openNamespace())('a cluster of two machines', () => {
  let server: TestServer
  let operator: Account
  let folder: string
  let worker: ReturnType<typeof spawn>
  const ids: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-cluster-'))
    await copyWeights(folder)
    server = await startTestServer()
    const engines = join(server.dataDirectory, 'engines')
    await mkdir(engines, { recursive: true })
    await writeFile(join(programs, 'berth-installation.json'), '{}')
    await symlink(programs, join(engines, `xinference-${version}`))
    operator = await registerClient(server.url)
    await run('operator', 'grant', operator.email)
    await addPasskey(operator, server.application.config.publicUrl.origin)
  })
  afterAll(async () => {
    if (worker !== undefined) killTree(worker.pid!)
    console.log((await run('cluster', 'stop', '--force')).stdout)
    await server?.close()
    closeNamespace()
    await rm(folder, { recursive: true, force: true })
  })

  const run = (...args: string[]) => runAdmin(adminSettings(server), args)
  const findMachines = async () =>
    (await operator.get('/v1/installation/machines')).body.machines as {
      address: string
      state: string
      instances: { deployment_id: string }[]
    }[]
  const findMachine = async (address: string) =>
    (await findMachines()).find((each) => each.address === address)
  const deployOnce = async () => {
    const wish = { model_name: 'berth-tiny', instance_type: 'xinference-cpu' }
    // Berth reads the cluster's list of models once a minute.
    const created = await vi.waitFor(async () => {
      const answer = await operator.post('/api/v1/model-deployments', wish)
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      return answer.body.id as string
    }, waiting)
    await waitForStatus(operator, created, 'running', waiting.timeout)
    return created
  }

  test('cluster start here, the printed command there: both are machines with a model', async () => {
    const started = await run('cluster', 'start', '--address', first, '--port', String(port))
    expect(started, started.stderr).toMatchObject({ code: 0 })
    console.log(started.stdout)
    await vi.waitFor(
      async () => expect(await findMachine(first)).toMatchObject({ state: 'present', version }),
      waiting,
    )
    const origin = `http://${first}:${port}`
    const runtime = server.application.runtimes.find('xinference')!
    const response = await fetch(`${origin}/v1/model_registrations/LLM`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: (await runtime.authorizeEngine!(origin))!,
      },
      body: JSON.stringify({ model: JSON.stringify(describeChatModel(folder)), persist: true }),
    })
    expect(response.status, await response.text()).toBe(200)

    ids.push(await deployOnce())

    const printed = /xinference-worker .*$/m.exec(started.stdout)![0].replace('<address>', second)
    const [program = '', ...args] = printed.split(' ')
    const environment = { PATH: process.env['PATH'], HOME: folder, XINFERENCE_HOME: join(folder, 'home') }
    // A worker that joins later doesn't get the models that were registered before.
    const home = join(server.dataDirectory, 'cluster/home/model')
    await cp(home, join(folder, 'home/model'), { recursive: true })
    // With half of the memory, so that it is the smallest machine with room.
    const small = join(folder, 'meminfo')
    const figures = await readFile('/proc/meminfo', 'utf8')
    const halve = (_: string, name: string, size: string) => `${name}${Math.floor(Number(size) / 2)}`
    await writeFile(small, figures.replaceAll(/^(Mem\w+: +)(\d+)/gm, halve))
    const command = 'mount --bind "$0" /proc/meminfo && exec "$@"'
    const inNamespace = ['netns', 'exec', namespace, 'sh', '-c', command, small]
    worker = spawn('ip', [...inNamespace, join(programs, 'bin', program), ...args], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environment, HF_HUB_OFFLINE: '1' },
    })
    const log = createWriteStream(join(folder, 'worker.log'))
    worker.stdout!.pipe(log)
    worker.stderr!.pipe(log)
    await vi.waitFor(
      async () => expect(await findMachine(second)).toMatchObject({ state: 'present', version }),
      waiting,
    )
    ids.push(await deployOnce())
    for (const [index, address] of [first, second].entries()) {
      await vi.waitFor(
        async () =>
          expect((await findMachine(address))!.instances).toMatchObject([{ deployment_id: ids[index] }]),
        waiting,
      )
    }
  })

  test('the second machine dies in a stream: an error, the page within 5 s, and its model moves', async () => {
    const model = ids[1]!
    const before = (await operator.get(`/api/v1/model-deployments/${model}/usage`)).body
    const stream = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: operator.cookie() },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 1500,
        ignore_eos: true,
        stream: true,
      }),
    })
    expect(stream.status).toBe(200)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    const diedAt = performance.now()
    killTree(worker.pid!)
    await vi.waitFor(async () => expect(await findMachine(second)).toMatchObject({ state: 'left' }), {
      timeout: 30_000,
      interval: 100,
    })
    const missedAfter = performance.now() - diedAt
    console.log(`the page missed the machine after ${Math.round(missedAfter)} ms`)
    expect(missedAfter).toBeLessThan(5_000)
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    console.log(`the stream ended after ${Math.round(performance.now() - diedAt)} ms with`, text.slice(-300))
    expect(text).toContain('"error"')
    expect(text).not.toContain('data: [DONE]')
    const sent = text.split('\n').filter((line) => line.includes('"delta"')).length
    const usage = (await operator.get(`/api/v1/model-deployments/${model}/usage`)).body
    expect(usage.output_tokens - before.output_tokens).toBeLessThanOrEqual(sent)

    await vi.waitFor(async () => {
      const machine = await findMachine(first)
      expect(machine!.instances.map((each) => each.deployment_id).toSorted()).toEqual(ids.toSorted())
    }, waiting)
    console.log(
      `all deployments were on the first machine after ${Math.round(performance.now() - diedAt)} ms`,
    )
    await vi.waitFor(async () => {
      const answer = await operator.post('/v1/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 4,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }, waiting)
    console.log(`the model answered again after ${Math.round(performance.now() - diedAt)} ms`)
  })
})
