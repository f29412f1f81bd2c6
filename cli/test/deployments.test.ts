import { readdir } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { waitForStatus } from '../../server/test/support/deployments.ts'
import { makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { chunk, startServerWithEngine, streamed } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { startRelay } from './support/relay.ts'
import type { Relay } from './support/relay.ts'
import { openTerminal } from './support/terminal.ts'

let served: ServerWithEngine
let relay: Relay
let client: Client
let shell: Shell

beforeAll(async () => {
  served = await startServerWithEngine()
  relay = await startRelay(served.server.url)
  client = await registerClient(served.server.url)
  shell = await openShell({ BERTH_URL: relay.url }, client)
})

afterAll(async () => {
  await shell.close()
  await relay.stop()
  await served.close()
})

async function deployed(...options: string[]): Promise<string> {
  return (await shell.json(['deploy', 'berth-tiny', ...options])).id
}

test('models searches the catalog; plan shows the instance', async () => {
  const [model] = await shell.json(['models', 'berth tiny', '--type', 'LLM'])
  expect(model).toMatchObject({ model_name: 'berth-tiny', model_type: 'LLM' })
  expect((await shell.berth(['models'])).stdout).toMatch(/^MODEL +TYPE[^]+\nberth-tiny-embedding +embedding/)
  expect(await shell.json(['plan', 'berth-tiny'])).toMatchObject({ feasible: true, quantization: 'Q8_0' })
  expect((await shell.berth(['plan', 'berth-tiny'])).stdout).toMatch(/^Variant +\S+B ggufv2 /)
})

test('models NAME lists the variants of a model; refusals name commands, not routes', async () => {
  expect((await shell.berth(['models', 'berth-tiny'])).stdout).toMatch(
    /\nSIZE +FORMAT +QUANTIZATIONS\n0\.002B \(default\) +ggufv2 +Q8_0\n$/,
  )
  for (const command of ['plan', 'deploy']) {
    const unknown = await shell.berth([command, 'nothing'])
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('`berth models`') })
    expect(unknown.stderr).not.toMatch(/(GET|POST) \//)
    const variant = await shell.berth([command, 'berth-tiny', '--size', '7B'])
    expect(variant).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('It offers 0.002B ggufv2 (Q8_0).'),
    })
  }
})

test('deploy --wait shows progress on stderr, and prints the id when the model serves', async () => {
  const { code, stdout, stderr } = await shell.berth([
    'deploy',
    'berth-tiny',
    '--wait',
    '--alias',
    'assistant',
    '--alias-order',
    '2',
  ])
  expect(code, stderr).toBe(0)
  const id = stdout.trim()
  const { body } = await client.get(`/api/v1/model-deployments/${id}`)
  expect(body).toMatchObject({ status: 'running', alias: 'assistant', alias_order: 2 })
  expect((await shell.berth(['show', id])).stdout).toContain('2 of its alias')
  expect(stderr).toContain('berth-tiny is running')
  for (const name of [id, id.slice(0, 30), 'assistant', 'berth-tiny']) {
    expect(await shell.json(['show', name])).toMatchObject({ id })
  }
  expect((await shell.berth(['ls'])).stdout).toContain(id)
  served.runtime.logLines.push({ at: new Date(), line: 'loading \u001B[2Jweights' })
  expect((await shell.berth(['logs', id])).stdout).toBe('loading weights\n')
  const [{ id: instance }] = body.instances
  expect((await shell.berth(['logs', id, '--instance', instance])).stdout).toBe('loading weights\n')
  expect(await shell.berth(['logs', id, '--instance', id])).toMatchObject({ code: 1 })
  expect((await shell.json(['events', id])).at(-1)).toMatchObject({ status: 'running' })
  expect((await shell.berth(['rm', 'assistant'])).code).toBe(0)
  await waitForStatus(client, id, 'terminated')
  expect(await shell.json(['ls'])).toEqual([])
  // An ended deployment is found where no other has the name.
  expect(await shell.json(['show', 'berth-tiny'])).toMatchObject({ id, status: 'terminated' })
})

test('a name that several deployments have, or none, changes nothing', async () => {
  const ids = [await deployed(), await deployed()]
  const several = await shell.berth(['rm', ids[0]!, 'berth-tiny'])
  expect(several).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^2 deployments match berth-tiny: .+Use an id\./),
  })
  expect(await shell.berth(['show', 'nothing'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('berth ls'),
  })
  expect(await shell.json(['ls'])).toHaveLength(2)
  expect(await shell.json(['ls', ids[0]!.slice(0, 30)])).toMatchObject([{ id: ids[0] }])
  expect(await shell.berth(['ls', 'nothing'])).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('No deployment matches nothing.'),
  })
  expect(await shell.berth(['rm', ...ids])).toMatchObject({ code: 0 })
  await Promise.all(ids.map((id) => waitForStatus(client, id, 'terminated')))
})

test('events -f goes on after the server restarts, repeats nothing, and ends with the deployment', async () => {
  const id = await deployed()
  const { output, result } = shell.start(['events', '-f', id])
  await vi.waitFor(() => expect(output.stdout).toContain('running'), { timeout: 30_000 })
  await relay.stop()
  await vi.waitFor(() => expect(output.stderr).toContain('Waiting for it'), { timeout: 10_000 })
  await relay.start()
  expect((await shell.berth(['rm', id])).code).toBe(0)
  const { code, stdout } = await result
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines.at(-1)).toContain('terminated')
  expect(new Set(lines).size).toBe(lines.length)
})

test('deploy --wait draws one line on a terminal; Ctrl-C ends the wait with 130, not the deployment', async () => {
  const terminal = openTerminal(shell, ['deploy', 'berth-tiny', '--wait'])
  await terminal.see('Waiting for deployment')
  terminal.type('\u0003')
  const code = await terminal.exited
  const [{ id }] = await shell.json(['ls'])
  // The deployment may have been quicker.
  if (!terminal.output().includes('is running')) expect(code).toBe(130)
  await waitForStatus(client, id, 'running')
  await shell.berth(['rm', id])
  await waitForStatus(client, id, 'terminated')
})

test('sleep --wait and wake --wait; the states say that sleep is free, and requests wake', async () => {
  const id = await deployed()
  await waitForStatus(client, id, 'running')
  const asleep = await shell.berth(['sleep', 'berth-tiny', '--wait'])
  expect(asleep).toMatchObject({ code: 0, stderr: expect.stringContaining('berth-tiny sleeps.') })
  expect(await shell.json(['show', id])).toMatchObject({ status: 'sleeping', instances: [] })
  expect((await shell.berth(['show', id])).stdout).toMatch(/Status +sleeping: it costs nothing/)
  expect((await shell.berth(['ls'])).stdout).toContain('sleeping')
  const awake = await shell.berth(['wake', id.slice(0, 30), '--wait'])
  expect(awake).toMatchObject({ code: 0, stderr: expect.stringContaining('berth-tiny is running.') })
  const { stdout: history } = await shell.berth(['events', id])
  expect(history).toMatch(
    / {2}sleep {9}Put to sleep by .+\n.+ {2}sleeping .+ was released\. Finishing requests took /,
  )
  expect(history).toMatch(/ {2}wake {10}Woken by .+ after less than a minute\.\n/)
  expect(history).toMatch(/ {2}running {7}The model is awake and ready for requests\. Provisioning took /)
  expect(await shell.json(['sleep', id])).toMatchObject({ id, status: 'running' })
  await waitForStatus(client, id, 'sleeping')

  served.runtime.answer({ provision: () => ({ outcome: 'refused', code: 'no_capacity', message: 'Full.' }) })
  const refused = await shell.berth(['wake', id, '--wait'])
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Deployment ${id} sleeps. Full.`),
  })
  served.runtime.reset()
  expect((await shell.berth(['rm', id])).code).toBe(0)
  await waitForStatus(client, id, 'terminated')
  expect(await shell.berth(['wake', id])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('terminated'),
  })
})

test('sleep --wait ends when a request wakes the deployment', async () => {
  const id = await deployed()
  await waitForStatus(client, id, 'running')
  // An answer in flight keeps the deployment awake until it is woken, however long that takes.
  let end = () => {}
  served.engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Once'))
    end = () => response.end(streamed(' upon a time.'))
  })
  const answer = shell.start(['chat', id, 'Tell a story.'])
  await vi.waitFor(async () => expect((await shell.json(['show', id])).instances[0].in_flight).toBe(1), {
    timeout: 30_000,
  })
  const { output, result } = shell.start(['sleep', id, '--wait'])
  await vi.waitFor(() => expect(output.stderr).toContain('being finished'), { timeout: 30_000 })
  expect((await shell.berth(['wake', id])).code).toBe(0)
  expect(await result).toMatchObject({ code: 1, stderr: expect.stringContaining('does not sleep') })
  end()
  expect(await answer.result).toMatchObject({ code: 0, stdout: 'Once upon a time.\n' })
  expect((await shell.berth(['rm', id])).code).toBe(0)
  await waitForStatus(client, id, 'terminated')
})

test('scale changes the policy; deploy --idle-minutes sets it at once', async () => {
  const id = await deployed('--idle-minutes', '30', '--max-instances', '2')
  expect(await shell.json(['show', id])).toMatchObject({ policy: { idle_minutes: 30, max_instances: 2 } })
  expect((await shell.berth(['show', id])).stdout).toMatch(
    /Policy +1 to 2 instances, sleeps after 30 minutes without requests/,
  )
  const scaled = await shell.berth(['scale', id, '--min', '2', '--max', '3', '--idle-minutes', 'never'])
  expect(scaled).toMatchObject({
    code: 0,
    stderr: 'berth-tiny: 2 to 3 instances, never sleeps by itself.\n',
  })
  expect(await shell.json(['scale', id, '--min', '1', '--concurrency', '8'])).toMatchObject({
    policy: { min_instances: 1, max_instances: 3, idle_minutes: null, target_concurrency: 8 },
  })
  expect(await shell.berth(['scale', id, '--min', '4'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('max_instances'),
  })
  const hours = ['--schedule', 'weekdays 08:00-18:00 Europe/Berlin 2']
  const scheduled = await shell.berth(['scale', id, ...hours, '--schedule', '*/5 8 1 * * UTC 3', '--yields'])
  expect(scheduled).toMatchObject({
    code: 0,
    stderr:
      'berth-tiny: 1 to 3 instances, never sleeps by itself, yields its hardware.\n' +
      'Keep 2 awake on weekdays from 08:00 to 18:00 (Europe/Berlin)\n' +
      'Keep 3 awake at */5 8 1 * * (UTC)\n',
  })
  expect(await shell.json(['show', id])).toMatchObject({
    policy: {
      yields: true,
      schedules: [
        { cron: '0 8 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 2 },
        { cron: '0 18 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 0 },
        { cron: '*/5 8 1 * *', time_zone: 'UTC', min_instances: 3 },
      ],
    },
  })
  expect((await shell.berth(['show', id])).stdout).toMatch(
    /Schedules +Keep 2 awake on weekdays .+; Keep 3 awake at \*\/5 8 1/,
  )
  expect(await shell.berth(['scale', id, '--schedule', '0 8 * * * Mars/Olympus 1'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('IANA time zone'),
  })
  expect(await shell.json(['scale', id, '--schedule', 'none', '--no-yields'])).toMatchObject({
    policy: { yields: false, schedules: [] },
  })
  const separated = await shell.berth(['scale', id, '--cache-scope', 'member'])
  expect(separated.stderr).toContain('a prompt cache for each member')
  expect(await shell.json(['scale', id, '--cache-scope', 'organization'])).toMatchObject({
    policy: { cache_scope: 'organization' },
  })
  for (const wrong of [
    [],
    ['--min', 'two'],
    ['--idle-minutes', 'soon'],
    ['--schedule', 'sometimes'],
    ['--schedule', 'weekdays 8:00-18:00 UTC 1'],
    ['--schedule', 'weekdays 08:00-18:00 UTC 0'],
    ['--schedule', 'none', ...hours],
  ]) {
    expect(await shell.berth(['scale', id, ...wrong])).toMatchObject({ code: 2 })
  }
  expect((await shell.berth(['rm', id])).code).toBe(0)
  await waitForStatus(client, id, 'terminated')
})

test('on a terminal, ls shows beginnings of ids that name one deployment each', async () => {
  const ids = [await deployed('--alias', 'one'), await deployed('--alias', 'two')]
  const terminal = openTerminal(shell, ['ls'], 80)
  expect(await terminal.exited).toBe(0)
  const lines = terminal.output().split('\r\n')
  for (const [id, alias] of [
    [ids[0]!, 'one'],
    [ids[1]!, 'two'],
  ] as const) {
    const [beginning = ''] = lines.find((line) => line.includes(alias))!.split(' ')
    expect(id.startsWith(beginning)).toBe(true)
    expect(await shell.json(['show', beginning])).toMatchObject({ id })
  }
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(await shell.berth(['rm', ...ids])).toMatchObject({ code: 0 })
  await Promise.all(ids.map((id) => waitForStatus(client, id, 'terminated')))
})

test('deploy --wait says how to use a model that does not chat, and why another failed', async () => {
  const embedding = await shell.berth(['deploy', 'berth-tiny-embedding', '--wait'])
  expect(embedding).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Try `berth embed berth-tiny-embedding TEXT`.'),
  })
  const failure = { code: 'out_of_memory' as const, message: 'The engine needs 12 GiB.' }
  served.runtime.answer({
    ensureEngine: () => ({ phase: 'failed', stage: 'model_launch', ...failure }) as never,
  })
  const failed = await shell.berth(['deploy', 'berth-tiny', '--wait'])
  served.runtime.reset()
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/12 GiB\. `berth logs/) })
  await shell.berth(['rm', 'berth-tiny-embedding'])
  await waitForStatus(client, embedding.stdout.trim(), 'terminated')
})

test('--instance-type asks for one instance type, also if a cheaper one fits', async () => {
  served.runtime.answer({ listOffers: () => [makeOffer('small'), makeOffer('large')] })
  onTestFinished(() => served.runtime.reset())
  const plan = (name: string) => shell.json(['plan', 'berth-tiny', '--instance-type', name])
  expect(await plan('large')).toMatchObject({ feasible: true, instance_type: 'large' })
  expect(await plan('small')).toMatchObject({ feasible: true, instance_type: 'small' })
  expect(await plan('absent')).toMatchObject({ feasible: false, instance_type: null })
  const id = await deployed('--instance-type', 'large')
  await waitForStatus(client, id, 'running')
  expect((await client.get(`/api/v1/model-deployments/${id}`)).body).toMatchObject({
    requested_instance_type: 'large',
    selected_instance_type: 'large',
  })
  await client.delete(`/api/v1/model-deployments/${id}`)
  await waitForStatus(client, id, 'terminated')
})

test('engine shows the engine; options that it does not take, or that are none, are refused', async () => {
  const refused = await shell.berth(['deploy', 'berth-tiny', '--engine-option', 'threads=2'])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('takes no options') })
  const malformed = await shell.berth(['plan', 'berth-tiny', '--engine-option', '=2'])
  expect(malformed).toMatchObject({ code: 2, stderr: expect.stringContaining('name=value') })
  const id = await deployed('--wait')
  expect(await shell.json(['engine', id])).toMatchObject({ engine_options: {} })
  expect((await shell.berth(['engine', id])).stdout).toMatch(/^Engine +\S+[^]*\nOptions +none\n$/)
  expect(await shell.berth(['engine', id, 'threads=2'])).toMatchObject({ code: 1 })
  expect((await shell.json(['engine', id, 'none'])).engine_options).toEqual({})
  expect((await shell.berth(['rm', id])).code).toBe(0)
  await waitForStatus(client, id, 'terminated')
})

/** An address that leads to the server, and that keeps the answers to creations of deployments. */
async function startSilentProxy() {
  const sent: string[] = []
  const { port } = new URL(served.server.url)
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path = '', headers } = incoming
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      const isCreation = method === 'POST' && path === '/api/v1/model-deployments'
      if (isCreation) sent.push(String(headers['idempotency-key']))
      // The first answer never arrives.
      if (isCreation && sent.length === 1) return answer.resume()
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { sent, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
}

test('deploy that is killed before its answer, and repeated, creates one deployment', async () => {
  const proxy = await startSilentProxy()
  const person = await registerClient(served.server.url)
  const own = await openShell({ BERTH_URL: proxy.url }, person)
  onTestFinished(() => own.close())
  const countDeployments = async () => (await person.get('/api/v1/model-deployments')).body.items.length
  const killed = own.start(['deploy', 'berth-tiny'])
  await vi.waitUntil(() => proxy.sent.length === 1, 30_000)
  // A command beside it means another deployment.
  await own.json(['deploy', 'berth-tiny'])
  killed.child.kill('SIGKILL')
  await killed.result
  expect(await countDeployments()).toBe(2)
  const repeated = await own.json(['deploy', 'berth-tiny'])
  expect(await countDeployments()).toBe(2)
  const [first, beside, second] = proxy.sent
  expect(second).toBe(first)
  expect(beside).not.toBe(first)
  // An answered command is done: the next one creates another deployment.
  const next = await own.json(['deploy', 'berth-tiny'])
  expect(next.id).not.toBe(repeated.id)
  expect(await countDeployments()).toBe(3)
  expect(await readdir(join(own.configDirectory, 'unanswered'))).toEqual([])
})

test('deploy that is killed before its answer ends with a deployment that runs, though somebody removed the first one', async () => {
  const proxy = await startSilentProxy()
  const person = await registerClient(served.server.url)
  const own = await openShell({ BERTH_URL: proxy.url }, person)
  onTestFinished(() => own.close())
  const killed = own.start(['deploy', 'berth-tiny', '--wait'])
  await vi.waitUntil(() => proxy.sent.length === 1, 30_000)
  killed.child.kill('SIGKILL')
  await killed.result
  const [removed] = (await person.get('/api/v1/model-deployments')).body.items
  await person.delete(`/api/v1/model-deployments/${removed.id}`)
  const repeated = await own.json(['deploy', 'berth-tiny', '--wait'])
  expect(repeated.status).toBe('running')
  const { items } = (await person.get('/api/v1/model-deployments?status=running')).body
  expect(items).toMatchObject([{ id: repeated.id }])
  const [first, second, third] = proxy.sent
  expect([second === first, third === first]).toEqual([true, false])
  expect(await readdir(join(own.configDirectory, 'unanswered'))).toEqual([])
})
